"""`orch demo --stop` leaves nothing: no daemon, no instance, no file."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.commands import root
from orchestrator.cli.demo_daemon import daemon_pids
from orchestrator.cli.demo_end import chosen, end_demo
from orchestrator.cli.demo_places import Demo, all_demos, new_demo
from orchestrator.cli.failures import Failure
from orchestrator.cli.local import living_instances, terminate_instances
from orchestrator.model import exits
from orchestrator.model.launch import BootRecipe, LaunchOrder, Tags
from orchestrator.model.pools import Pool
from providers.local import open_provider
from providers.local.processes import marked


def order() -> LaunchOrder:
    pool = {"provider": "local", "region": "local", "zone": "local-a"}
    return LaunchOrder(
        token="t",
        pool=Pool.model_validate({**pool, "instance_type": "local.gpu-1", "market": "spot"}),
        bid_usd_per_hour=None,
        tags=Tags(installation="ours", job="j", stage="train", attempt=1, rank=0, intent="n"),
        recipe=BootRecipe(
            intent="n", control_url="unix:///nowhere", object_store_url="file:///none", bootstrap_token="s"
        ),
    )


def launch(demo: Demo) -> str:
    settings = {"state_dir": demo.cloud, "agent_command": ["/bin/sleep", "600"]}
    return open_provider(settings).launch(order()).instance


def left_behind(env: dict[str, str]) -> Demo:
    """A demo whose watcher is gone."""
    with new_demo(env) as demo:
        demo.state.mkdir(parents=True, exist_ok=True)
    return demo


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path)}


def stand_in_daemon(demo: Demo, deaf: str = "") -> "subprocess.Popen[str]":
    program = f"import signal, sys; {deaf} print('up', flush=True); signal.pause()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "daemon", "--state", str(demo.state)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.fixture
def demo(env: dict[str, str]) -> Iterator[Demo]:
    demo = left_behind(env)
    yield demo
    terminate_instances(demo.cloud)


def test_ending_a_demo_ends_its_daemon_and_every_instance_and_removes_its_files(
    demo: Demo, env: dict[str, str]
) -> None:
    daemon, instance = stand_in_daemon(demo), launch(demo)
    assert end_demo(demo, living_instances, terminate_instances) == 1
    assert daemon.wait(timeout=10) == -signal.SIGTERM
    assert marked(instance) == []
    assert not demo.home.exists()
    assert not demo.state.exists()
    assert all_demos(env) == []


def test_a_daemon_that_will_not_hear_is_killed(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.cli.demo_end._LEAVES_WITHIN_S", 0.3)
    daemon = stand_in_daemon(demo, deaf="signal.signal(signal.SIGTERM, signal.SIG_IGN);")
    assert end_demo(demo, living_instances, terminate_instances) == 0
    assert daemon.wait(timeout=10) == -signal.SIGKILL


def test_a_demo_that_never_got_as_far_as_a_cloud_can_be_ended(demo: Demo, env: dict[str, str]) -> None:
    assert end_demo(demo, living_instances, terminate_instances) == 0
    assert all_demos(env) == []


def test_instances_that_will_not_end_keep_the_demo_and_say_so(
    demo: Demo, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.cli.demo_end._GONE_WITHIN_S", 0.2)
    with pytest.raises(Failure, match="will not end"):
        end_demo(demo, lambda _cloud: ["i-1"], lambda _cloud: None)
    assert all_demos(env) == [demo]


def test_only_demos_that_nobody_watches_are_ended_unless_one_is_named(env: dict[str, str]) -> None:
    old = left_behind(env)
    with new_demo(env) as watched:
        assert chosen(env, None) == [old]
        assert chosen(env, str(watched.socket)) == [watched]


def test_a_socket_of_no_demo_is_refused_in_words(env: dict[str, str]) -> None:
    with pytest.raises(Failure, match="no demo has the socket /x") as refused:
        chosen(env, "/x")
    assert refused.value.code == exits.NOT_FOUND


def test_the_daemon_of_another_demo_is_not_this_ones(env: dict[str, str]) -> None:
    one, other = left_behind(env), left_behind(env)
    daemon = stand_in_daemon(one)
    try:
        assert daemon_pids(one) == [daemon.pid]
        assert daemon_pids(other) == []
    finally:
        daemon.kill()
        daemon.wait()


def test_stop_says_what_it_ended_and_a_second_stop_that_nothing_is_up(env: dict[str, str]) -> None:
    demo = left_behind(env)
    first, second = (CliRunner().invoke(root, ["demo", "--stop"], env=env) for _ in range(2))
    assert first.output == f"Ended {demo.home}: 0 instances still lived, none does now; its files are removed.\n"
    assert second.output == "No demo is up.\n"


def test_stop_spares_a_demo_that_is_being_watched(env: dict[str, str]) -> None:
    with new_demo(env) as watched:
        told = CliRunner().invoke(root, ["demo", "--stop"], env=env).output
    assert f"{watched.home} is still being watched" in told
    assert watched.home.exists()

"""Instances of the local cloud are real processes: how they live, and that nothing survives their end."""

import errno
import hashlib
import itertools
import json
import os
import random
import signal
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from providers.base import ProviderError
from providers.local import advise, ledger, reclaim, withdraw
from providers.local.record import InstanceDirectory

DAEMONS = """
import os, sys, time
# Two children that hide as well as they can: own session, no parent.
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        open(os.path.join(os.environ["ORCH_WORK"], f"hidden-{os.getpid()}"), "w").close()
        time.sleep(600)
time.sleep(600)
"""

CRASHER = """
import os, sys, time
with open(os.path.join(os.environ["ORCH_WORK"], "starts"), "a") as file:
    file.write(f"{time.monotonic()}\\n")
sys.exit(7)
"""


def script(text: str) -> tuple[str, ...]:
    """An agent's stand-in: a Python text to run."""
    return (sys.executable, "-c", text)


SHOW_ENVIRONMENT = """
import json, os, pathlib, time
text = json.dumps({"environ": dict(os.environ), "cwd": os.getcwd()})
draft = pathlib.Path(os.environ["ORCH_WORK"]) / "draft"
draft.write_text(text)
draft.rename(draft.with_name("shown"))
time.sleep(600)
"""


def metadata(cloud: Any, instance: str, path: str) -> httpx.Response:
    """What the instance would be told, asked in AWS's dialect."""
    running = json.loads((cloud.running(instance).path / "running.json").read_text())
    with httpx.Client(base_url=running["metadata_url"], trust_env=False) as http:
        token = http.put("/latest/api/token", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"}).text
        return http.get(path, headers={"X-aws-ec2-metadata-token": token})


def dead(process: psutil.Process) -> bool:
    """Gone, or a zombie that somebody has yet to collect."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def hidden(cloud: Any, instance: str) -> bool:
    return len(list(cloud.home(instance).work.glob("hidden-*"))) == 2


@pytest.fixture
def daemons(cloud: Any) -> str:
    """An instance whose agent has hidden two daemons."""
    instance: str = cloud.provider(agent_command=script(DAEMONS)).launch(cloud.order()).instance
    cloud.wait_for(lambda: hidden(cloud, instance), "the daemons have hidden")
    assert len(cloud.living(instance)) == 3
    return instance


# ---------------------------------------------------------------- nothing survives


def test_terminate_ends_daemons_with_sessions_of_their_own(cloud: Any, daemons: str) -> None:
    cloud.provider().terminate([daemons])
    state = cloud.ended(daemons)
    assert cloud.living(daemons) == []
    assert (state.reason, state.reclaimed) == ("terminated by user", False)


def test_a_reclaim_ends_daemons_with_sessions_of_their_own(cloud: Any, daemons: str) -> None:
    reclaim(cloud.state_dir, daemons, 0.1, announced=False)
    assert cloud.ended(daemons).reclaimed
    assert cloud.living(daemons) == []


def test_a_daemon_without_the_marker_dies_with_its_instance(cloud: Any) -> None:
    # The subshell is gone at once: the daemon has neither marker nor parent, only init that adopts it.
    hide = '(env -i setsid /bin/sleep 601 & echo $! > "$ORCH_WORK/pid"); exec sleep 600'
    agent = ("/bin/sh", "-c", hide)
    instance = cloud.provider(agent_command=agent).launch(cloud.order()).instance
    written = cloud.home(instance).work / "pid"
    cloud.wait_for(lambda: written.exists() and written.read_text().strip(), "the daemon is started")
    daemon = psutil.Process(int(written.read_text()))
    cloud.wait_for(lambda: daemon.name() == "sleep", "the daemon has dropped its environment")
    cloud.provider().terminate([instance])
    cloud.ended(instance)
    cloud.wait_for(lambda: dead(daemon), "it is dead", 1.0)


def test_what_a_killed_init_leaves_is_killed_before_it_is_said_to_be_terminated(cloud: Any, daemons: str) -> None:
    os.kill(cloud.init_pid(daemons), signal.SIGKILL)
    state = cloud.ended(daemons)
    assert cloud.living(daemons) == []
    assert (state.reason, state.reclaimed) == ("host died", False)


def test_the_agent_dies_with_its_init(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    cloud.wait_for(lambda: [agent.name() for agent in cloud.living(instance)] == ["sleep"], "the agent lives")
    os.kill(cloud.init_pid(instance), signal.SIGKILL)
    cloud.wait_for(lambda: not cloud.living(instance), "the agent is dead, though nobody looked", 2.0)


@pytest.mark.parametrize("ask", ["describe", "list_owned", "terminate"])
def test_an_instance_whose_init_was_killed_is_found_dead_by_whoever_asks(cloud: Any, ask: str) -> None:
    provider = cloud.provider()
    instance = provider.launch(cloud.order()).instance
    os.kill(cloud.init_pid(instance), signal.SIGKILL)

    def found_dead() -> bool:
        getattr(provider, ask)("ours" if ask == "list_owned" else [instance])
        return cloud.home(instance).ended() is not None

    # The kernel lets go of the lock only when the last thread of init is gone.
    cloud.wait_for(found_dead, "it is found dead", 2.0)


@pytest.mark.parametrize("seed", range(6))
def test_an_init_killed_at_any_moment_leaves_nothing_and_lives_at_most_once(cloud: Any, seed: int) -> None:
    provider = cloud.provider(agent_command=script(DAEMONS))
    instance = provider.launch(cloud.order()).instance
    time.sleep(random.Random(seed).uniform(0.0, 0.2))
    for init in cloud.inits():
        init.kill()
    cloud.wait_for(lambda: not cloud.inits() or len(cloud.inits()) == 1, "at most one init lives")
    provider.describe([instance])
    if cloud.home(instance).ended() is None:
        # It was killed before it had booted; the cloud then boots it after all.
        provider.terminate([instance])
    cloud.ended(instance)
    assert cloud.living(instance) == []
    cloud.wait_for(lambda: not cloud.inits(), "no init lives")


def test_an_agent_that_cannot_be_started_says_why_without_a_traceback(cloud: Any) -> None:
    instance = cloud.provider(agent_command=["/no/such/agent"]).launch(cloud.order()).instance
    log = cloud.home(instance).path / "agent.log"
    cloud.wait_for(lambda: log.exists() and "/no/such/agent" in log.read_text(), "the log names it")
    assert "Traceback" not in log.read_text()


def test_the_end_leaves_logs_and_no_work(cloud: Any, daemons: str) -> None:
    cloud.provider().terminate([daemons])
    cloud.ended(daemons)
    cloud.wait_for(lambda: not cloud.home(daemons).work.exists(), "the disk is gone")
    assert "instance.ending" in (cloud.home(daemons).path / "init.log").read_text()


def test_terminate_needs_no_room_on_the_disk(cloud: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(home: InstanceDirectory, name: str, record: dict[str, Any]) -> None:
        raise OSError(errno.ENOSPC, f"no space left for {home.path / name}: {record}")

    instance = cloud.provider().launch(cloud.order()).instance
    cloud.running(instance)
    monkeypatch.setattr(InstanceDirectory, "write", full)
    cloud.provider().terminate([instance])
    assert cloud.ended(instance).reason == "terminated by user"


# ---------------------------------------------------------------- reclaims


def test_a_reclaim_takes_at_its_deadline_and_shows_until_then(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    cloud.running(instance)
    asked = time.monotonic()
    held = reclaim(cloud.state_dir, instance, 0.8)
    shown = metadata(cloud, instance, "/latest/meta-data/spot/instance-action").json()
    assert shown["action"] == "terminate"
    assert cloud.provider().describe([instance])[0].phase == "running"
    cloud.ended(instance)
    assert 0.8 <= time.monotonic() - asked < 1.5
    assert 0 <= cloud.home(instance).ended().at - held.take_at < 0.5


def test_a_scripted_fate_is_announced_one_window_ahead(cloud: Any) -> None:
    rules = [{"launch": 1, "after_s": 1.0}]
    provider = cloud.provider(notice_window_s=0.5, market={"reclaims": "script", "script": rules})
    first, second = (provider.launch(cloud.order()).instance for _ in range(2))
    assert provider.notices() == []
    cloud.wait_for(provider.notices, "the notice comes")
    (notice,) = provider.notices()
    assert notice.instance == first
    assert 0.3 < notice.left_s <= 0.5
    assert cloud.ended(first).reclaimed
    assert cloud.provider().describe([second])[0].phase != "terminated"


def test_an_unannounced_reclaim_comes_without_a_word(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    cloud.running(instance)
    reclaim(cloud.state_dir, instance, 0.5, announced=False)
    assert cloud.provider().notices() == []
    assert metadata(cloud, instance, "/latest/meta-data/spot/instance-action").status_code == 404
    assert cloud.ended(instance).reclaimed


def test_a_withdrawn_notice_takes_nothing(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    cloud.running(instance)
    reclaim(cloud.state_dir, instance, 0.4)
    withdraw(cloud.state_dir, instance)
    assert metadata(cloud, instance, "/latest/meta-data/spot/instance-action").status_code == 404
    time.sleep(0.6)
    assert cloud.provider().describe([instance])[0].phase == "running"


def test_a_later_reclaim_never_moves_an_announced_one_away(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    first = reclaim(cloud.state_dir, instance, 60.0)
    assert reclaim(cloud.state_dir, instance, 90.0) == first
    assert reclaim(cloud.state_dir, instance, 30.0).take_mono < first.take_mono


def test_b005_an_instance_taken_while_it_boots_is_said_to_be_reclaimed(cloud: Any) -> None:
    rules = [{"launch": 1, "after_s": 0.3}]
    market = {"reclaims": "script", "script": rules}
    provider = cloud.provider(boot_delay_s=30, market=market)
    order = cloud.order()
    instance = provider.launch(order).instance
    assert provider.describe([instance])[0].phase == "pending"
    state = cloud.ended(instance)
    assert (state.reclaimed, state.reason) == (True, "reclaimed")
    assert not cloud.home(instance).has("running.json")
    with pytest.raises(ProviderError) as gone:
        provider.launch(order)
    assert gone.value.outcome == "gone"


def test_b029_advice_ends_nothing_and_clears(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    path = "/latest/meta-data/events/recommendations/rebalance"
    assert metadata(cloud, instance, path).status_code == 404
    advise(cloud.state_dir, instance)
    assert "noticeTime" in metadata(cloud, instance, path).json()
    assert metadata(cloud, instance, "/latest/meta-data/spot/instance-action").status_code == 404
    assert cloud.provider().notices() == []
    withdraw(cloud.state_dir, instance)
    assert metadata(cloud, instance, path).status_code == 404


def test_what_is_gone_cannot_be_reclaimed(cloud: Any) -> None:
    cloud.provider()
    with pytest.raises(ProviderError) as gone:
        reclaim(cloud.state_dir, "i-0123456789ab", 1.0)
    assert gone.value.outcome == "gone"


# ---------------------------------------------------------------- life


def test_a_crashing_agent_is_started_again_ever_more_slowly(cloud: Any) -> None:
    instance = cloud.provider(agent_command=script(CRASHER)).launch(cloud.order()).instance
    starts = cloud.home(instance).work / "starts"
    cloud.wait_for(lambda: starts.exists() and len(starts.read_text().split()) >= 4, "four starts")
    times = [float(line) for line in starts.read_text().split()][:4]
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert pauses[0] >= 0.1
    assert pauses[2] >= 0.4
    assert '"code": 7' in (cloud.home(instance).path / "init.log").read_text()


def test_an_agent_that_is_killed_is_back_at_once(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    cloud.wait_for(lambda: cloud.living(instance), "the agent lives")
    (first,) = cloud.living(instance)
    first.kill()
    cloud.wait_for(lambda: [p for p in cloud.living(instance) if p.pid != first.pid], "another agent lives", 2.0)


def test_phases_pass_from_pending_to_terminated(cloud: Any) -> None:
    provider = cloud.provider(boot_delay_s=0.3)
    instance = provider.launch(cloud.order()).instance
    assert provider.describe([instance])[0].phase == "pending"
    assert cloud.living(instance) == []
    cloud.running(instance)
    assert provider.describe([instance])[0].phase == "running"
    provider.terminate([instance])
    assert provider.describe([instance])[0].phase in ("stopping", "terminated")
    cloud.ended(instance)


def test_an_agent_sees_its_recipe_and_nothing_of_the_callers_secrets(
    cloud: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    provider = cloud.provider(
        agent_command=script(SHOW_ENVIRONMENT), monitor="aliyun", poll_s=0.25, environment={"MY_OWN": "1"}
    )
    order = cloud.order()
    instance = provider.launch(order).instance
    shown = cloud.home(instance).work / "shown"
    cloud.wait_for(shown.exists, "the agent shows its environment")
    seen = json.loads(shown.read_text())
    recipe = json.loads(Path(seen["environ"]["ORCH_RECIPE"]).read_text())
    assert recipe == {**order.recipe.model_dump(), "monitor": "aliyun", "monitor_poll_s": 0.25}
    assert seen["cwd"] == seen["environ"]["ORCH_WORK"] == str(cloud.home(instance).work)
    assert seen["environ"]["ORCH_METADATA_URL"].startswith("http://127.0.0.1:")
    assert seen["environ"]["MY_OWN"] == "1"
    assert "AWS_SECRET_ACCESS_KEY" not in seen["environ"]


def test_init_is_small_and_asleep(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    cloud.running(instance)
    init = psutil.Process(cloud.init_pid(instance))
    time.sleep(0.2)
    before = init.cpu_times()
    time.sleep(1.0)
    after = init.cpu_times()
    assert (after.user + after.system) - (before.user + before.system) <= 0.03
    assert init.memory_info().rss < 40 * 1024 * 1024


def test_the_bootstrap_token_is_readable_by_its_owner_alone(cloud: Any) -> None:
    home = cloud.home(cloud.provider().launch(cloud.order()).instance)
    for name in ("instance.json", "recipe.json"):
        assert (home.path / name).stat().st_mode & 0o077 == 0


def test_the_ledger_bills_what_lived(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    cloud.running(instance)
    cloud.provider().terminate([instance])
    state = cloud.ended(instance)
    (entry,) = ledger(cloud.state_dir)
    assert (entry.launched_at, entry.ended_at) == (state.launched_at, state.ended_at)
    assert entry.billed_s == pytest.approx((state.ended_at - state.launched_at).total_seconds(), abs=1e-5)
    assert 0 < entry.usd_per_hour < entry.on_demand_usd_per_hour
    assert entry.alive_at(entry.launched_at)
    assert not entry.alive_at(entry.ended_at)


def test_the_same_token_with_another_order_is_refused(cloud: Any) -> None:
    order = cloud.order()
    cloud.provider().launch(order)
    with pytest.raises(ProviderError) as mismatch:
        cloud.provider().launch(cloud.order(token=order.token, instance_type="local.cpu-2"))
    assert mismatch.value.code == "IdempotentParameterMismatch"


def test_a_failing_preflight_says_how_to_mend(cloud: Any) -> None:
    provider = cloud.provider(python="/bin/false", agent_command=None)
    bad = [finding for finding in provider.preflight() if not finding.ok]
    assert [finding.subject for finding in bad] == ["agent"]
    assert all(bool(finding.mend) != finding.ok for finding in provider.preflight())


# ---------------------------------------------------------------- bundles


@pytest.fixture
def bundle(cloud: Any, tmp_path: Path) -> Path:
    """A bundle whose agent says where it and its modules come from."""
    package = tmp_path / "made" / "orchestrator" / "agent"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import importlib.util as u, os, pathlib, time\n"
        "found = f'{__file__} {u.find_spec(\"pydantic\")}'\n"
        "pathlib.Path(os.environ['ORCH_WORK'], 'found').write_text(found)\n"
        "time.sleep(600)\n"
    )
    tar = tmp_path / "bundle.tar"
    with tarfile.open(tar, "w") as archive:
        archive.add(tmp_path / "made", arcname=".")
    bundles = cloud.state_dir / "objects" / "bundles"
    bundles.mkdir(parents=True)
    return tar.rename(bundles / f"{hashlib.sha256(tar.read_bytes()).hexdigest()}.tar")


def bundled(cloud: Any, digest: str) -> Any:
    order = cloud.order()
    return order.model_copy(update={"recipe": order.recipe.model_copy(update={"bundle_digest": digest})})


def test_an_agent_from_a_bundle_sees_the_bundle_alone(cloud: Any, bundle: Path) -> None:
    instance = cloud.provider().launch(bundled(cloud, bundle.stem)).instance
    found = cloud.home(instance).work / "found"
    cloud.wait_for(lambda: found.exists() and found.read_text(), "the bundle's agent runs")
    file, pydantic = found.read_text().split(" ", 1)
    assert Path(file).is_relative_to(cloud.home(instance).bundle)
    assert pydantic == "None"


@pytest.mark.parametrize(("damage", "says"), [(b"more", "has digest"), (None, "there is no agent bundle")])
def test_a_damaged_or_missing_bundle_never_runs(cloud: Any, bundle: Path, damage: bytes | None, says: str) -> None:
    if damage is None:
        bundle.unlink()
    else:
        bundle.write_bytes(bundle.read_bytes() + damage)
    instance = cloud.provider().launch(bundled(cloud, bundle.stem)).instance
    log = cloud.home(instance).path / "agent.log"
    cloud.wait_for(lambda: log.exists() and says in log.read_text(), f"the log says: {says}")
    assert not (cloud.home(instance).work / "found").exists()
    assert "Traceback" not in log.read_text()

"""kill -9 of whoever launches, at any moment: one token is one instance, and none is lost."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

LAUNCH = """
import json, sys
from orchestrator.model.launch import LaunchOrder
from providers.local import open_provider
provider = open_provider(json.loads(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
print(provider.launch(LaunchOrder.model_validate_json(sys.argv[2])).instance, flush=True)
"""


def launcher(cloud: Any, order: Any, **settings: Any) -> subprocess.Popen[str]:
    """Another process that is about to launch the order."""
    read = {"state_dir": str(cloud.state_dir), "agent_command": ["/bin/sleep", "600"], **settings}
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, json.dumps(read), order.model_dump_json()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("seed", range(12))
def test_a_launcher_killed_at_any_moment_leaves_one_instance_or_none(cloud: Any, seed: int) -> None:
    order = cloud.order()
    process = launcher(cloud, order)
    go(process)
    time.sleep(random.Random(seed).uniform(0.0, 0.03))
    process.kill()
    process.communicate()
    left = [state.instance for state in cloud.provider().list_owned("ours")]
    again = cloud.provider().launch(order).instance
    assert left in ([], [again])
    assert cloud.launched() == [again]
    cloud.running(again)
    cloud.wait_for(lambda: len(cloud.living(again)) == 1, "one agent lives")
    assert len(cloud.inits()) == 1


def test_an_instance_whose_launcher_died_before_it_booted_boots_when_anybody_looks(cloud: Any) -> None:
    order = cloud.order()
    provider = cloud.provider()
    home = provider._placed(order)  # as far as a launcher came that was killed right here
    assert not home.has("boot.json")
    assert [state.instance for state in cloud.provider().list_owned("ours")] == [home.id]
    cloud.running(home.id)


def test_an_instance_that_never_booted_can_be_terminated(cloud: Any) -> None:
    home = cloud.provider()._placed(cloud.order())
    cloud.provider().terminate([home.id])
    assert home.ended() is not None
    assert not home.has("boot.json")


def test_two_processes_that_launch_one_token_at_once_get_one_instance(cloud: Any) -> None:
    order = cloud.order()
    processes = [launcher(cloud, order) for _ in range(3)]
    for process in processes:
        go(process)
    answers = {process.communicate()[0].strip() for process in processes}
    assert answers == set(cloud.launched())
    assert len(answers) == 1
    cloud.running(answers.pop())
    assert len(cloud.inits()) == 1


def test_a_reclaim_takes_in_time_though_its_launcher_is_dead(cloud: Any) -> None:
    rules = [{"launch": 1, "after_s": 1.2}]
    settings = {"notice_window_s": 1.0, "market": {"reclaims": "script", "script": rules}}
    process = launcher(cloud, cloud.order(), **settings)
    go(process)
    assert process.stdout is not None
    instance = process.stdout.readline().strip()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    home = cloud.running(instance)
    cloud.wait_for(lambda: cloud.living(instance), "the agent outlives its launcher")
    # Only the directory is read here: nobody asks the provider, so nobody but init can act.
    cloud.wait_for(home.ended, "it is taken")
    assert cloud.living(instance) == []
    assert home.ended().reclaimed
    assert 0 <= home.ended().at - home.reclaim().take_at < 0.5


def test_init_is_nobodys_child(cloud: Any) -> None:
    instance = cloud.provider().launch(cloud.order()).instance
    init = psutil.Process(cloud.init_pid(instance))
    assert init.ppid() != os.getpid()
    assert os.getsid(init.pid) not in (os.getsid(0), os.getpid())

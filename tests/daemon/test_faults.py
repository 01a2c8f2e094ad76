"""Everything around a job fails in turn; each time the job ends well, or `orch explain` says why it did not."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.scenes import Orchd, undisturbed

STEPS = 120


@pytest.fixture
def running(orchd: Orchd) -> Orchd:
    """A daemon that could start."""
    orchd.start()
    return orchd


def _at_step(orchd: Orchd, job: str, step: int) -> None:
    orchd.wait_for(lambda: (orchd.json("show", job)["step"] or 0) >= step, f"step {step}")


def _pids(orchd: Orchd, word: str) -> list[int]:
    """Processes of the daemon's cloud whose command line holds this word."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")
            ours = f"{orchd.state}/local".encode() in (entry / "environ").read_bytes()
        except OSError:
            continue
        if ours and any(word.encode() in part for part in line):
            found.append(int(entry.name))
    return found


def test_a_killed_agent_starts_again_ends_its_former_trainer_and_goes_on(running: Orchd) -> None:
    job = running.submit(STEPS)
    _at_step(running, job, 20)
    for pid in _pids(running, "orchestrator.agent"):
        os.kill(pid, signal.SIGKILL)
    running.wait_until(job, "succeeded")
    assert running.weights(job) == undisturbed(STEPS)
    assert [one["found"] for one in running.starts()] == ["alone", "alone"]
    assert running.starts()[1]["step"] >= 10


def test_an_agent_killed_again_and_again_never_lets_two_trainers_live(running: Orchd) -> None:
    job = running.submit(STEPS)
    _at_step(running, job, 10)
    for _ in range(6):
        for pid in _pids(running, "orchestrator.agent"):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.4)
    running.wait_until(job, "succeeded")
    assert running.weights(job) == undisturbed(STEPS)
    assert {one["found"] for one in running.starts()} == {"alone"}


def test_a_killed_trainer_is_started_again_from_its_last_checkpoint_and_explain_says_so(running: Orchd) -> None:
    job = running.submit(STEPS)
    _at_step(running, job, 30)
    for pid in _pids(running, "trainer.py"):
        os.kill(pid, signal.SIGKILL)
    running.wait_until(job, "succeeded")
    assert running.weights(job) == undisturbed(STEPS)
    assert [one["attempt"] for one in running.starts()] == [1, 2]
    assert running.starts()[1]["step"] >= 20
    assert "the trainer was ended by SIGKILL" in running.orch("explain", job).stdout


def test_a_trainer_that_dies_every_time_fails_the_job_with_a_reason(running: Orchd) -> None:
    job = running.submit(more="\n[retry]\nmax_failures = 2\n", python="kill -9 $$ #")
    running.wait_until(job, "failed")
    explained = running.orch("explain", job).stdout
    assert "the trainer was ended by SIGKILL" in explained
    assert "that was failure 2 of 2" in explained
    running.wait_for(lambda: not running.alive(), "no instance is left")


@pytest.fixture
def small_disk(orchd: Orchd) -> Iterator[Orchd]:
    """The instances lie on a file system of 24 MiB: the kernel's own ENOSPC."""
    disk = orchd.state / "local"
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small file system needs root and mount")
    disk.mkdir(parents=True)
    if os.system(f"mount -t tmpfs -o size=24m tmpfs {disk} 2>/dev/null") != 0:
        pytest.skip("this machine mounts no tmpfs")
    try:
        orchd.start()
        yield orchd
    finally:
        orchd.close()
        os.system(f"umount -l {disk}")


def test_a_trainer_that_fills_its_disk_fails_with_the_full_disk_as_the_reason(small_disk: Orchd) -> None:
    fill = "dd if=/dev/zero of=ballast bs=64k 2>/dev/null; false #"
    job = small_disk.submit(more="\n[retry]\nmax_failures = 1\n", python=fill)
    small_disk.wait_until(job, "failed")
    assert "the instance's disk is full" in small_disk.orch("explain", job).stdout
    small_disk.wait_for(lambda: not small_disk.alive(), "no instance is left")


def test_a_job_whose_disk_was_full_once_ends_well_on_the_next_attempt(small_disk: Orchd) -> None:
    """The first attempt fills it at step 20; what was durable by then is not done again."""
    once = small_disk.home / "filled"
    fill = f"(sleep 2; test -e {once} || dd if=/dev/zero of=ballast bs=64k 2>/dev/null; touch {once}) & "
    job = small_disk.submit(STEPS, python=fill + sys.executable)
    small_disk.wait_until(job, "succeeded")
    assert small_disk.weights(job) == undisturbed(STEPS)


def _store_refuses(orchd: Orchd, for_s: float) -> None:
    """As if it were unmounted: no name of it answers."""
    objects = orchd.state / "objects"
    away = objects.rename(objects.with_name("away"))
    time.sleep(for_s)
    away.rename(objects)


def _a_job_outlives_a_refusing_store(orchd: Orchd, for_s: float) -> None:
    job = orchd.submit(STEPS)
    _at_step(orchd, job, 20)
    _store_refuses(orchd, for_s)
    assert orchd.state_of(job) == "running"
    assert "the object store does not answer" in orchd.orch("explain", job).stdout
    orchd.wait_until(job, "succeeded")
    assert orchd.weights(job) == undisturbed(STEPS)
    assert [one["attempt"] for one in orchd.starts()] == [1]


def test_a_store_that_refuses_while_a_job_trains_costs_nothing(running: Orchd) -> None:
    _a_job_outlives_a_refusing_store(running, 3.0)


@pytest.mark.soak
def test_a_store_that_refuses_for_thirty_seconds_costs_nothing(running: Orchd) -> None:
    _a_job_outlives_a_refusing_store(running, 30.0)


def test_a_store_that_refuses_when_the_job_starts_is_waited_for(running: Orchd) -> None:
    objects = running.state / "objects"
    away = objects.rename(objects.with_name("away"))
    job = running.submit(STEPS, pace_s=0.01)
    running.wait_for(lambda: "the object store does not answer" in running.orch("explain", job).stdout, "it is told")
    assert not running.starts()
    away.rename(objects)
    running.wait_until(job, "succeeded")
    assert running.weights(job) == undisturbed(STEPS)


def test_a_notice_while_the_store_refuses_falls_back_on_what_was_durable(orchd: Orchd) -> None:
    """The hand-over cannot be made: steps are done again, and none is lost for good."""
    orchd.configure(script=[{"launch": 1, "after_s": 11.0}])
    orchd.start()
    job = orchd.submit(STEPS, pace_s=0.1)
    orchd.wait_for(lambda: any(orchd.notice_at(one.instance) for one in orchd.ledger()), "it is planned")
    _at_step(orchd, job, 20)
    _store_refuses(orchd, 12.0)
    orchd.wait_until(job, "succeeded")
    assert orchd.weights(job) == undisturbed(STEPS)
    assert {one["found"] for one in orchd.starts()} == {"alone"}

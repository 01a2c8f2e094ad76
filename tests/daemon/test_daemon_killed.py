"""The daemon killed with -9 at random moments of a run that loses three instances."""

import random
import time

import pytest

from tests.daemon.scenes import Orchd, most_alive_at_once, processes_of, undisturbed

STEPS = 420
PACE_S = 0.05
# As in the demo. A notice comes 6 s before the taking, so that each instance trains first.
LOSSES = [
    {"launch": 1, "after_s": 11.0},
    {"launch": 2, "after_s": 12.0},
    {"launch": 3, "after_s": 5.0, "notice": False},
]
RUN_S = 30.0


def _run(orchd: Orchd, kills: int, seed: int) -> None:
    moments = sorted(random.Random(seed).uniform(0.0, RUN_S) for _ in range(kills))
    orchd.configure(script=LOSSES, timings="boot_timeout_s = 30")
    orchd.start()
    began = time.monotonic()
    job = orchd.submit(STEPS, PACE_S)
    for moment in moments:
        time.sleep(max(0.0, began + moment - time.monotonic()))
        orchd.kill()
        orchd.spawn()
    orchd.wait_for(lambda: orchd.orch("ps").returncode == 0, "the last daemon answers")
    orchd.wait_until(job, "succeeded", within_s=120)
    _audit(orchd, job)


def _audit(orchd: Orchd, job: str) -> None:
    assert orchd.weights(job) == undisturbed(STEPS)
    assert [one["found"] for one in orchd.starts()] == ["alone"] * len(orchd.starts())
    assert most_alive_at_once(orchd.ledger()) <= 2
    _two_only_under_notice(orchd)
    attempts = [one["attempt"] for one in orchd.starts()]
    assert len(attempts) > len(LOSSES), "not every instance of the script was lost while it trained"
    assert attempts == sorted(set(attempts)), "an attempt started its trainer twice"
    orchd.wait_for(lambda: not orchd.alive(), "no instance is left")
    orchd.wait_for(lambda: not processes_of(orchd.home), "no process is left", 10)


def _two_only_under_notice(orchd: Orchd) -> None:
    mine = [entry for entry in orchd.ledger() if entry.tags.stage == "train"]
    for young in mine:
        for old in mine:
            if old.launched_at < young.launched_at and old.alive_at(young.launched_at):
                told_at = orchd.notice_at(old.instance)
                under_notice = told_at is not None and told_at <= young.launched_at
                assert under_notice, f"{young.instance} was launched while {old.instance} was under no notice"


def test_a_daemon_killed_four_times_in_a_run_loses_nothing_and_runs_nothing_twice(orchd: Orchd) -> None:
    _run(orchd, kills=4, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 110))
def test_a_daemon_killed_fifty_times_in_ten_runs(orchd: Orchd, seed: int) -> None:
    _run(orchd, kills=5, seed=seed)

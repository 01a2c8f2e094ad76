"""Logs, events, explain, drill, cancel: what a person reads of a job's course."""

import json
from collections.abc import Callable

import pytest

from orchestrator.cli.drill import verdict
from orchestrator.cli.events import history_lines
from orchestrator.model import exits
from tests.cli.conftest import Ending
from tests.cli.standin import JOB, StandIn, attempt, chunk, detail, drill, event, instance, report

Orch = Callable[..., Ending]


# ---------------------------------------------------------------- logs


def test_both_stages_are_shown_each_line_with_its_label(orch: Orch, house: StandIn) -> None:
    """B126 A job with preprocess and train shows the output of both."""
    house.house.chunks = [
        chunk("960 pictures\n", stage="preprocess", stream="shard-00003"),
        chunk("step 1\nstep 2\n"),
        chunk("step 3\n", attempt=2),
    ]
    assert orch("logs", "digits").out.splitlines() == [
        "preprocess/shard-00003 1 | 960 pictures",
        "train 1 | step 1",
        "train 1 | step 2",
        "train 2 | step 3",
    ]


@pytest.mark.parametrize("name", ["digits", JOB])
@pytest.mark.parametrize("command", ["logs", "show", "events", "explain"])
def test_a_job_that_has_ended_is_found_by_name_and_id(orch: Orch, house: StandIn, command: str, name: str) -> None:
    """B134 Logs of a finished job work by name and by id, and so does all else."""
    house.house.detail = detail(state="succeeded", ended_at="2026-12-01T11:00:00+00:00")
    ended = orch(command, name)
    assert (ended.code, ended.out != "") == (exits.OK, True)


def test_one_attempt_or_one_stage_can_be_had_alone(orch: Orch, house: StandIn) -> None:
    house.house.chunks = [chunk("a\n", stage="preprocess", stream="shard-00000"), chunk("b\n"), chunk("c\n", attempt=2)]
    assert orch("logs", "digits", "--attempt", "2").out == "train 2 | c\n"
    assert orch("logs", "digits", "--stage", "preprocess").out == "preprocess/shard-00000 1 | a\n"


def test_a_line_that_a_piece_cuts_is_printed_whole(orch: Orch, house: StandIn) -> None:
    house.house.chunks = [chunk("st"), chunk("x\n", attempt=2), chunk("ep 1\nlast, without an end")]
    assert orch("logs", "digits").out.splitlines() == [
        "train 2 | x",
        "train 1 | step 1",
        "train 1 | last, without an end",
    ]


def test_a_progress_bar_is_shown_as_a_terminal_shows_it_in_the_end(orch: Orch, house: StandIn) -> None:
    house.house.chunks = [chunk("  0%|   |\r 50%|## |\r100%|###|\ndone\r\n")]
    assert orch("logs", "digits").out.splitlines() == ["train 1 | 100%|###|", "train 1 | done"]


def test_a_line_without_end_is_cut_rather_than_kept_for_ever(orch: Orch, house: StandIn) -> None:
    house.house.chunks = [chunk("x" * 60_000), chunk("y" * 60_000), chunk("z\n")]
    assert [len(line) for line in orch("logs", "digits").out.splitlines()] == [120_010, 11]


def test_logs_as_json_are_a_piece_a_line(orch: Orch) -> None:
    assert [json.loads(line)["text"] for line in orch("logs", "digits", "--json").out.splitlines()] == [
        "step 1\nstep 2\n"
    ]


def test_a_follower_stays_with_its_job_when_another_takes_the_name(orch: Orch, house: StandIn) -> None:
    for command in ("logs", "events"):
        house.house.asked.clear()
        orch(command, "digits")
        paths = [path for _, path, _ in house.house.asked]
        assert f"/v1/jobs/{JOB}/{command}" in paths
        assert f"/v1/jobs/digits/{command}" not in paths


# ---------------------------------------------------------------- events and explain


def test_events_are_told_under_their_day(orch: Orch, house: StandIn) -> None:
    house.house.events = [
        event(1, "job.submitted", "Submitted.", "2026-11-30T23:59:59+00:00"),
        event(2, "checkpoint.stale", "Nothing was committed for 10 min.", "2026-12-01T01:00:01+01:00", alarm=True),
    ]
    assert orch("events", "digits").out.splitlines() == [
        "2026-11-30",
        "23:59:59  job.submitted              Submitted.",
        "2026-12-01",
        "00:00:01  checkpoint.stale           ALARM: Nothing was committed for 10 min.",
    ]


def test_explain_tells_decisions_and_changes_and_ends_with_why_it_is_there(orch: Orch, house: StandIn) -> None:
    house.house.events = [
        event(1, "job.submitted", "Job digits is submitted."),
        event(2, "launch.intended", "Asking for a pool."),
        event(3, "launch.intended", "Asking for a pool."),
        event(4, "checkpoint.committed", "Step 50 is committed."),
        event(5, "job.decided", "Waits: no pool has stock."),
    ]
    house.house.detail = detail(reason="Waits: no pool has stock.")
    assert orch("explain", "digits").out.splitlines() == [
        "2026-12-01",
        "10:00:00  Job digits is submitted.",
        "10:00:00  Asking for a pool. (2 times)",
        "10:00:00  Waits: no pool has stock.",
        "",
        "Now running: Waits: no pool has stock.",
    ]


def test_what_two_events_say_alike_is_said_once(house: StandIn) -> None:
    alike = [event(1, "stage.succeeded", "Training finished."), event(2, "job.succeeded", "Training finished.")]
    assert history_lines(alike) == ["2026-12-01", "10:00:00  Training finished."]


def test_explain_tells_alarms_and_what_an_agent_complains_of(orch: Orch, house: StandIn) -> None:
    lives = instance(2, phase="running", report=report(trouble="The disk is full."))
    stage = {"name": "train", "state": "running", "shards": None, "attempts": [attempt(2, lives, outcome=None)]}
    house.house.detail = detail(stages=[stage], alarms=["checkpoint.stale"])
    told = orch("explain", "digits").out
    assert "An alarm is on: checkpoint.stale." in told
    assert "The agent on i-000000000002 says: The disk is full." in told


def test_explain_as_json_has_the_history(orch: Orch) -> None:
    told = json.loads(orch("explain", "digits", "--json").out)
    assert (told["job"], told["state"], len(told["history"])) == (JOB, "running", 1)


def test_events_of_all_jobs_need_no_name(orch: Orch, house: StandIn) -> None:
    assert "job.submitted" in orch("events").out
    assert {path for _, path, _ in house.house.asked} == {"/v1/events"}


# ---------------------------------------------------------------- drill


def test_a_drill_waits_for_its_verdict_and_tells_it(orch: Orch, house: StandIn) -> None:
    ended = orch("drill", "digits", "--window", "10")
    assert ended.code == exits.OK
    assert house.house.posts(f"/v1/jobs/{JOB}/drill") == [{"window_s": 10.0, "announced": True}]
    lines = ended.out.splitlines()
    assert lines[0].startswith("Attempt 2 loses instance i-000000000002 in 10 s.")
    assert lines[-1] == (
        "Attempt 2 was given 10 s; it had committed step 1200; attempt 3 went on from step 1200; "
        "no step is done twice: survived."
    )


def test_a_drill_that_lost_work_exits_as_failed(orch: Orch, house: StandIn) -> None:
    house.house.drills = [drill(window_s=0.0, state="failed", reason="attempt 2 had committed nothing")]
    house.house.drills[0]["committed_step"] = None
    ended = orch("drill", "digits", "--unannounced")
    assert ended.code == exits.FAILED
    assert house.house.posts(f"/v1/jobs/{JOB}/drill")[0]["announced"] is False
    assert ended.out.splitlines()[-1] == (
        "Attempt 2 lost its instance without a notice; attempt 2 had committed nothing: failed."
    )


def test_a_drill_tells_meanwhile_what_happened_since_it_was_asked_for(orch: Orch, house: StandIn) -> None:
    asked = event(1, "attempt.created", "Long ago.")
    house.house.events = [asked]
    told = event(2, "instance.reclaim_notice", "It will be taken.")
    house.house.drills = _Growing(house, told, [drill(state="running"), drill(state="running"), drill()])
    out = orch("drill", "digits").out
    assert "It will be taken." in out
    assert "Long ago." not in out


class _Growing(list[dict[str, object]]):
    """Drills; when the second is asked for, something has happened."""

    def __init__(self, house: StandIn, told: dict[str, object], drills: list[dict[str, object]]) -> None:
        super().__init__(drills)
        self._house, self._told = house, told

    def pop(self, at: object = 0) -> dict[str, object]:  # type: ignore[override]
        if self._told not in self._house.house.events:
            self._house.house.events.append(self._told)
        return super().pop(0)


def test_a_drill_as_json_is_the_drill_alone(orch: Orch) -> None:
    assert json.loads(orch("drill", "digits", "--json").out)["state"] == "survived"


def test_a_window_without_a_notice_is_a_contradiction(orch: Orch, house: StandIn) -> None:
    assert orch("drill", "digits", "--window", "5", "--unannounced").code == exits.USAGE
    assert not house.house.asked


def test_a_verdict_says_what_training_went_on_from() -> None:
    assert "went on from step 1200" in verdict(drill())


# ---------------------------------------------------------------- cancel


def test_cancelling_says_how_to_see_its_end(orch: Orch) -> None:
    assert f"Job {JOB} is being cancelled." in orch("cancel", "digits").out


def test_cancelling_what_has_ended_changes_nothing(orch: Orch, house: StandIn) -> None:
    house.house.detail = detail(state="succeeded", ended_at="2026-12-01T11:00:00+00:00")
    ended = orch("cancel", "digits", "--wait")
    assert (ended.code, ended.out) == (exits.OK, f"Job {JOB} has succeeded already; nothing was cancelled.\n")


def test_cancelling_can_wait_until_all_is_gone(orch: Orch, house: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_s: float) -> None:
        house.house.detail = detail(state="cancelled", reason="All is gone.", ended_at="2026-12-01T11:00:00+00:00")

    monkeypatch.setattr("orchestrator.cli.cancel.time.sleep", gone)
    assert orch("cancel", "digits", "--wait").out == f"Job {JOB} is cancelled: All is gone.\n"

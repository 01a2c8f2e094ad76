"""What an agent's words change, and which of them are told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from orchestrator.control.reports import TakenIn, is_old, take_in
from orchestrator.model.wire import NoticeHeard, Report
from tests.control.scenes import START, Scene


class Told:
    """An instance and its attempt, and each report taken in turn."""

    def __init__(self) -> None:
        scene = Scene().running()
        self.instance, self.attempt = replace(scene.instance(1), report=None), scene.attempt(1)
        self.seq = 0

    def says(self, **changes: Any) -> TakenIn:
        self.seq += 1
        report = Report(intent=self.instance.intent, owner="o", seq=self.seq, attempt=1, **changes)
        taken = take_in(self.instance, self.attempt, report, START + timedelta(seconds=self.seq))
        self.instance, self.attempt = taken.instance, taken.attempt
        return taken


def names(taken: TakenIn) -> list[str]:
    return [event.name for event in taken.events]


def test_a_deaf_metadata_service_alarms_once_and_again_after_it_was_well() -> None:
    """B025"""
    told = Told()
    counts = [0, 1, 2, 4, 5, 6, 7, 0, 5, 9]
    heard = [names(told.says(phase="running", monitor_errors=count)) for count in counts]
    alarms = [count for count, said in zip(counts, heard, strict=True) if "instance.monitor_deaf" in said]
    assert alarms == [5, 5]


def test_a_notice_is_kept_until_who_gave_it_takes_it_back() -> None:
    told = Told()
    assert "instance.reclaim_notice" in names(told.says(phase="running", notice=NoticeHeard(source="aws", left_s=120)))
    assert told.says(phase="stopping").instance.notice is not None, "the trainer is being stopped: no way back"
    assert "instance.notice_withdrawn" in names(told.says(phase="running"))
    assert told.instance.notice is None


def test_a_hint_and_a_trouble_are_told_when_they_change_alone() -> None:
    told = Told()
    said = {"phase": "running", "rebalance_advised": True, "trouble": "no store"}
    assert {"instance.rebalance_advised", "agent.trouble"} <= set(names(told.says(**said)))
    assert names(told.says(**said)) == []
    assert names(told.says(phase="running")) == ["agent.trouble_over"]


def test_only_a_step_beyond_the_base_is_a_move_forward() -> None:
    told = Told()
    told.attempt = replace(told.attempt, first_step_at=None)
    assert "attempt.moved_forward" not in names(told.says(phase="running", base_step=20, step=20))
    assert "attempt.moved_forward" in names(told.says(phase="running", base_step=20, step=21))


def test_a_report_that_was_overtaken_is_old_and_that_of_a_new_disk_is_not() -> None:
    told = Told()
    told.says(phase="running")
    told.says(phase="running")
    report = told.instance.report
    assert report is not None
    assert is_old(told.instance, report.model_copy(update={"seq": 1}))
    assert not is_old(told.instance, report.model_copy(update={"seq": 1, "owner": "another"}))

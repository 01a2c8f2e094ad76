"""Drills: a reclaim that we stage ourselves, and the verdict on how it went. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from orchestrator.control.draft import Draft
from orchestrator.model.jobs import ENDED_JOB_STATES, Attempt, Drill, DrillState, Instance, NoticeSeen
from orchestrator.store.jobview import JobView


class DrillRefused(Exception):
    """A drill that may not be now; the sentence says why."""


def stage_drill(
    view: JobView, drill_id: str, window_s: float, announced: bool, now: datetime
) -> tuple[Drill, Instance]:
    """The drill and the instance as it must be written. Raises DrillRefused."""
    attempt, instance = _target(view)
    window_s = window_s if announced else 0.0
    drill = Drill(drill_id, view.job.id, attempt.number, instance.id, window_s, now)
    if not announced:
        return drill, instance
    notice = NoticeSeen("drill", now, now + timedelta(seconds=window_s))
    return drill, replace(instance, notice=notice, revision=instance.revision + 1)


def _target(view: JobView) -> tuple[Attempt, Instance]:
    if view.job.state in ENDED_JOB_STATES or view.job.cancel_requested:
        raise DrillRefused(f"job {view.job.id} is {view.job.state}: there is nothing to reclaim")
    if any(drill.state == "running" for drill in view.drills):
        raise DrillRefused("a drill of this job is still running")
    for attempt in view.attempts:
        for instance in view.instances:
            if _runs(attempt, instance):
                return attempt, _free_of_notice(instance)
    raise DrillRefused("no attempt is training now; try again when `orch ps` shows a step")


def _runs(attempt: Attempt, instance: Instance) -> bool:
    if attempt.stage != "train" or not attempt.live or instance.stage != "train":
        return False
    report = instance.report
    trains = report is not None and report.attempt == attempt.number and report.phase == "running"
    return instance.attempt == attempt.number and instance.alive and trains


def _free_of_notice(instance: Instance) -> Instance:
    if instance.notice is not None or instance.terminate_at is not None:
        raise DrillRefused(f"instance {instance.id} is under notice already; a drill would endanger the job")
    return instance


# ---------------------------------------------------------------- the verdict


def judge_drills(draft: Draft) -> None:
    """Takes the instance when its time is up, and says whether the state survived."""
    for drill in draft.drills():
        if drill.state == "running":
            _take(draft, drill)
            _judge(draft, drill)


def _take(draft: Draft, drill: Drill) -> None:
    instance = draft.instance(drill.instance)
    if instance is not None and draft.after(drill.asked_at, drill.window_s):
        draft.condemn(instance, "a drill takes it")


def _judge(draft: Draft, drill: Drill) -> None:
    drilled = draft.attempt("train", drill.attempt)
    if drilled is None or drilled.live:
        return
    if drilled.outcome == "succeeded":
        _close(draft, drill, "survived", "the trainer finished before it was stopped")
        return
    successor = _successor(draft, drill.attempt)
    if successor is not None:
        _compare(draft, drill, drilled, successor)
    elif draft.job.state in ENDED_JOB_STATES:
        _close(draft, drill, "failed", f"the job has {draft.job.state} before training went on")


def _successor(draft: Draft, number: int) -> Attempt | None:
    later = [a for a in draft.attempts("train") if a.number > number and a.first_step_at is not None]
    return later[0] if later else None


def _compare(draft: Draft, drill: Drill, drilled: Attempt, successor: Attempt) -> None:
    committed, resumed = drilled.committed_step, successor.base_step
    drill = replace(drill, committed_step=committed, resumed_step=resumed)
    if committed is None:
        _close(draft, drill, "failed", f"attempt {drilled.number} had committed nothing")
    elif resumed is None or resumed < committed:
        _close(draft, drill, "failed", f"step {committed} was committed, but training went on from {resumed}")
    else:
        lost = max(0, (drilled.reached_step or committed) - committed)
        again = "no step is done twice" if lost == 0 else f"{lost} steps are done twice"
        sentence = f"attempt {successor.number} went on from step {resumed}; {again}"
        _close(draft, drill, "survived", sentence)


def _close(draft: Draft, drill: Drill, state: DrillState, reason: str) -> None:
    draft.put(replace(drill, state=state, reason=reason, ended_at=draft.now))
    draft.tell(f"drill.{state}", f"Drill {drill.id}: {state}: {reason}.", drill=drill.id)

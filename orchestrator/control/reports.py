"""What an agent's report changes in our rows. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from orchestrator.model.events import Event
from orchestrator.model.jobs import Attempt, Instance, NoticeSeen
from orchestrator.model.wire import Report


@dataclass(frozen=True)
class TakenIn:
    """The rows after the report, and what is worth telling."""

    instance: Instance
    attempt: Attempt
    events: tuple[Event, ...]


def take_in(instance: Instance, attempt: Attempt, report: Report, now: datetime) -> TakenIn:
    """`attempt` is the instance's; what the report says of another attempt changes no attempt."""
    before = instance.report
    after = _with_notice(replace(instance, report=report, reported_at=now), report, now)
    grown = _grown(attempt, report, now) if report.attempt == attempt.number else attempt
    return TakenIn(after, grown, tuple(_events(before, instance, after, attempt, grown)))


def is_old(instance: Instance, report: Report) -> bool:
    """Whether this report was overtaken by one we have."""
    before = instance.report
    return before is not None and before.owner == report.owner and report.seq <= before.seq


def _with_notice(instance: Instance, report: Report, now: datetime) -> Instance:
    heard, known = report.notice, instance.notice
    if heard is not None and known is None and heard.source != "control":
        deadline = now + timedelta(seconds=heard.left_s)
        return replace(instance, notice=NoticeSeen(heard.source, now, deadline))
    if heard is None and known is not None and _may_be_withdrawn(known, report):
        return replace(instance, notice=None, revision=instance.revision + 1)
    return instance


def _may_be_withdrawn(known: NoticeSeen, report: Report) -> bool:
    """Only who gave a notice can take it back, and only while the trainer runs on."""
    return known.source not in ("drill", "provider") and report.phase in ("standby", "restoring", "running")


def _grown(attempt: Attempt, report: Report, now: datetime) -> Attempt:
    committed = report.committed.step if report.committed else attempt.committed_step
    moved = report.step is not None and report.step > (report.base_step or 0)
    return replace(
        attempt,
        base_step=report.base_step if report.base_step is not None else attempt.base_step,
        committed_step=committed,
        committed_at=now if committed != attempt.committed_step else attempt.committed_at,
        reached_step=_highest(attempt.reached_step, report.step, committed),
        total_steps=report.total_steps or attempt.total_steps,
        trained_s=max(attempt.trained_s, report.trained_s),
        first_step_at=attempt.first_step_at or (now if moved else None),
        final_at=attempt.final_at or (now if report.phase == "final" else None),
        trainer_start_s=report.trainer_start_s or attempt.trainer_start_s,
        save_s=report.save_s or attempt.save_s,
        upload_s=report.upload_s or attempt.upload_s,
    )


def _highest(*steps: int | None) -> int | None:
    return max((step for step in steps if step is not None), default=None)


# ---------------------------------------------------------------- events


def _events(before: Report | None, was: Instance, now: Instance, attempt: Attempt, grown: Attempt) -> list[Event]:
    report = now.report
    assert report is not None
    found = [
        _first_word(before, now),
        _restarted(before, now, report),
        _noticed(was, now),
        _advised(before, now, report),
        _deaf(before, now, report),
        _troubled(before, now, report),
        _resumed(attempt, grown, now),
        _committed(attempt, grown, now),
    ]
    return [event for event in found if event is not None]


def _event(name: str, reason: str, instance: Instance, **data: object) -> Event:
    return Event(
        name=name,
        reason=reason,
        job=instance.job,
        stage=instance.stage,
        attempt=instance.attempt,
        instance=instance.id,
        pool=str(instance.pool),
        data=dict(data),
    )


def _first_word(before: Report | None, now: Instance) -> Event | None:
    if before is not None:
        return None
    return _event("agent.reported", f"The agent on {now.id} is up.", now)


def _restarted(before: Report | None, now: Instance, report: Report) -> Event | None:
    if before is None or report.restarts <= before.restarts:
        return None
    return _event("agent.restarted", f"The agent on {now.id} died and was started again.", now)


def _noticed(was: Instance, now: Instance) -> Event | None:
    if was.notice is None and now.notice is not None:
        left_s = (now.notice.deadline - now.notice.heard_at).total_seconds()
        return notice_event(now, left_s)
    if was.notice is not None and now.notice is None:
        return _event("instance.notice_withdrawn", f"The notice for {now.id} was withdrawn.", now)
    return None


def notice_event(instance: Instance, left_s: float) -> Event:
    """A reclaim was announced."""
    source = instance.notice.source if instance.notice else "unknown"
    sentence = f"Instance {instance.id} will be taken in {left_s:.0f} s (heard by {source})."
    return _event("instance.reclaim_notice", sentence, instance, left_s=round(left_s, 3), source=source)


def _advised(before: Report | None, now: Instance, report: Report) -> Event | None:
    known = before is not None and before.rebalance_advised
    if known or not report.rebalance_advised:
        return None
    sentence = f"The provider hints that {now.id} may be taken; training goes on."
    return _event("instance.rebalance_advised", sentence, now)


DEAF_AFTER = 5


def _deaf(before: Report | None, now: Instance, report: Report) -> Event | None:
    """One alarm once the metadata service has failed often enough in a row (B025)."""
    was = before.monitor_errors if before is not None else 0
    if report.monitor_errors < DEAF_AFTER or was >= DEAF_AFTER:
        return None
    sentence = f"The metadata service of {now.id} does not answer: a notice may go unheard."
    return _event("instance.monitor_deaf", sentence, now, alarm=True, errors=report.monitor_errors)


def _troubled(before: Report | None, now: Instance, report: Report) -> Event | None:
    was = before.trouble if before is not None else ""
    if report.trouble == was:
        return None
    if not report.trouble:
        return _event("agent.trouble_over", f"The agent on {now.id} goes on without trouble.", now)
    return _event("agent.trouble", f"The agent on {now.id} says: {report.trouble}", now)


def _resumed(attempt: Attempt, grown: Attempt, now: Instance) -> Event | None:
    if attempt.first_step_at is not None or grown.first_step_at is None:
        return None
    base = "the beginning" if grown.base_step is None else f"step {grown.base_step}"
    sentence = f"Attempt {grown.number} has moved forward from {base} to step {grown.reached_step}."
    return _event("attempt.moved_forward", sentence, now, base_step=grown.base_step, step=grown.reached_step)


def _committed(attempt: Attempt, grown: Attempt, now: Instance) -> Event | None:
    if grown.committed_step == attempt.committed_step:
        return None
    sentence = f"Step {grown.committed_step} is committed."
    return _event("checkpoint.committed", sentence, now, step=grown.committed_step)

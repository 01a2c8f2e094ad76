"""Whether an attempt is over, and as what. Pure: rows in, an ending out.

Unknown is not dead: only the agent's last report, the provider's own word, or a timeout that the config
names ends an attempt.
"""

from dataclasses import dataclass
from datetime import timedelta

from orchestrator.control.draft import Draft
from orchestrator.model.jobs import Attempt, AttemptOutcome, Instance, Stage
from orchestrator.model.wire import Exit, Report


@dataclass(frozen=True)
class Ending:
    """How an attempt ended. `stops_job`: going on would do harm, a person must look."""

    outcome: AttemptOutcome
    reason: str
    code: int | None = None
    stops_job: bool = False


def ending_of(draft: Draft, attempt: Attempt, stage: Stage, instance: Instance) -> Ending | None:
    """None while the attempt goes on. Moments that will matter later wake the job then."""
    report = report_of(attempt, instance)
    if report is not None and report.phase == "final" and report.exit is not None:
        return _by_exit(report.exit, attempt, instance)
    if instance.phase == "terminated":
        return _gone(instance)
    if report is not None and report.phase == "blocked":
        return _blocked(report)
    return _stale_resume(attempt, stage) or _overdue(draft, instance)


def report_of(attempt: Attempt, instance: Instance) -> Report | None:
    """What the instance's agent says, where it is about this attempt."""
    report = instance.report
    return report if report is not None and report.attempt == attempt.number else None


def _by_exit(exit_: Exit, attempt: Attempt, instance: Instance) -> Ending:
    if exit_.kind == "succeeded":
        return Ending("succeeded", "the trainer finished", exit_.code)
    if exit_.kind == "interrupted":
        saved = "nothing" if attempt.committed_step is None else f"step {attempt.committed_step}"
        outcome: AttemptOutcome = "reclaimed" if instance.notice or instance.reclaimed else "lost"
        return Ending(outcome, f"stopped in time, with {saved} committed", exit_.code)
    what = exit_.reason or f"the trainer ended with exit code {exit_.code}"
    return Ending("failed", what, exit_.code)


def _gone(instance: Instance) -> Ending:
    why = instance.end_reason or "the provider says it is gone"
    if instance.reclaimed or instance.notice is not None:
        return Ending("reclaimed", f"the instance was taken: {why}")
    if instance.report is None:
        return Ending("lost", f"the instance was gone before its agent spoke: {why}")
    return Ending("lost", f"the instance is gone: {why}")


def _blocked(report: Report) -> Ending:
    why = report.trouble or "the agent cannot go on"
    return Ending("lost", why, stops_job=report.block == "untrusted")


def _stale_resume(attempt: Attempt, stage: Stage) -> Ending | None:
    """A resume from before what is known to be committed would undo work: never let it go on."""
    if attempt.first_step_at is None and attempt.base_step is None:
        return None
    base = attempt.base_step or 0
    if base >= stage.progress_step:
        return None
    why = f"it resumed from step {base}, though step {stage.progress_step} was committed"
    return Ending("lost", why, stops_job=True)


def _overdue(draft: Draft, instance: Instance) -> Ending | None:
    rules = draft.rules
    if instance.notice is not None and draft.after(instance.notice.deadline, rules.deadline_grace_s):
        return Ending("reclaimed", "its deadline passed without a last report")
    boot_began = max(instance.launched_at, draft.situation.heard_since)
    if instance.reported_at is None:
        if draft.after(boot_began, rules.boot_timeout_s):
            return Ending("lost", f"its agent said nothing within {rules.boot_timeout_s:.0f} s of its launch")
        return None
    heard_at = max(instance.reported_at, draft.situation.heard_since)
    if draft.passed(heard_at + timedelta(seconds=rules.silence_timeout_s)):
        return Ending("lost", f"its agent has said nothing for {rules.silence_timeout_s:.0f} s")
    return None

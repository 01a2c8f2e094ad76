"""How stages and jobs end."""

from dataclasses import replace

from orchestrator.control.draft import Draft
from orchestrator.model.jobs import ENDED_JOB_STATES, AttemptOutcome, JobState, StageName

CANCEL_GRACE_S = 10.0


def succeed_stage(draft: Draft, name: StageName, sentence: str) -> None:
    """The stage is done; with the last one, the job is."""
    stage = draft.stage(name)
    assert stage is not None
    draft.put(replace(stage, state="succeeded", alarms=()))
    draft.tell("stage.succeeded", sentence, stage)
    _abandon(draft, name, "superseded", "the stage is done")
    if all(other.state == "succeeded" for other in draft.stages()):
        _end_job(draft, "succeeded", sentence)


def fail_job(draft: Draft, sentence: str) -> None:
    """Nothing more is tried. What is alive is given back."""
    for stage in draft.stages():
        _abandon(draft, stage.name, "cancelled", "the job failed")
        current = draft.stage(stage.name)
        if current is not None and current.state in ("waiting", "running"):
            draft.put(replace(current, state="failed"))
    _end_job(draft, "failed", sentence)


def cancel(draft: Draft) -> None:
    """Give everything back; `cancelling` until the provider has said that all of it is gone.

    A trainer that runs gets its stop signal first, and a little time.
    """
    for instance in draft.instances("train"):
        if instance.report is not None and instance.report.phase == "running":
            draft.condemn(instance, "the job was cancelled", CANCEL_GRACE_S)
    for stage in draft.stages():
        _abandon(draft, stage.name, "cancelled", "the job was cancelled")
        if stage.state in ("waiting", "running"):
            draft.put(replace(stage, state="cancelled"))
    alive = [instance for instance in draft.instances() if instance.alive]
    asked = [intent for intent in draft.intents() if intent.state == "open"]
    if not alive and not asked:
        _end_job(draft, "cancelled", "Cancelled; every instance is confirmed gone.")
        return
    draft.put(replace(draft.job, state="cancelling"))
    draft.say(f"Cancelling: {len(alive)} instances and {len(asked)} launches are still to be confirmed gone.")


def _end_job(draft: Draft, state: JobState, sentence: str) -> None:
    if draft.job.state in ENDED_JOB_STATES:
        return
    draft.put(replace(draft.job, state=state, ended_at=draft.now))
    draft.say(sentence)
    draft.tell(f"job.{state}", sentence)


def _abandon(draft: Draft, name: StageName, outcome: AttemptOutcome, why: str) -> None:
    for attempt in draft.live(name):
        draft.put(replace(attempt, ended_at=draft.now, outcome=outcome, reason=why))
        draft.tell("attempt.ended", f"Attempt {attempt.number} ends: {why}.", attempt, outcome=outcome)
    for instance in draft.instances(name):
        draft.condemn(instance, why)

"""`decide`: a job's next step. Plain data in, a decision out; it never waits, never logs, never asks."""

from dataclasses import replace

from orchestrator.control.draft import Decision, Draft, Situation
from orchestrator.control.drills import judge_drills
from orchestrator.control.jobend import cancel
from orchestrator.control.preprocess import decide_preprocess
from orchestrator.control.train import decide_train
from orchestrator.model.jobs import ENDED_JOB_STATES
from orchestrator.store.jobview import JobView


def decide(view: JobView, situation: Situation) -> Decision:
    """What to change now, and why. Applying the same decision twice changes nothing more."""
    draft = Draft(view, situation)
    _give_back_strays(draft)
    if draft.job.state in ENDED_JOB_STATES:
        for instance in draft.instances():
            draft.condemn(instance, f"the job has {draft.job.state}")
    elif draft.job.cancel_requested:
        cancel(draft)
    else:
        _go_on(draft)
    judge_drills(draft)
    return draft.decision()


def _go_on(draft: Draft) -> None:
    if draft.job.state == "pending":
        draft.put(replace(draft.job, state="running"))
    if _preprocessing(draft):
        decide_preprocess(draft)
    if not _preprocessing(draft) and draft.job.state == "running":
        decide_train(draft)


def _give_back_strays(draft: Draft) -> None:
    """Instances whose attempt has ended, however late they come to be known."""
    for instance in draft.instances():
        attempt = draft.attempt(instance.stage, instance.attempt)
        if attempt is None or not attempt.live:
            draft.condemn(instance, "its attempt has ended")


def _preprocessing(draft: Draft) -> bool:
    stage = draft.stage("preprocess")
    return stage is not None and stage.state in ("waiting", "running")

"""The train stage's next step. One attempt runs; under a notice, one more stands by."""

from dataclasses import replace
from datetime import timedelta

from orchestrator.control import seats
from orchestrator.control.draft import Draft
from orchestrator.control.endings import Ending, ending_of, report_of
from orchestrator.control.jobend import fail_job, succeed_stage
from orchestrator.model.jobs import Attempt, Instance, Stage
from orchestrator.model.spec import Placement
from orchestrator.model.wire import Run, Standby, TrainTask

MAX_BACKOFF_S = 60.0


def decide_train(draft: Draft) -> None:
    """Ends what is over, moves on what is not, and fills the places that are empty."""
    for attempt in draft.live("train"):
        _end_if_over(draft, attempt)
    if not _going_on(draft):
        return
    _drop_needless_standbys(draft)
    _keep_one_attempt(draft)
    for attempt in draft.live("train"):
        _advance(draft, attempt)
    _watch_checkpoints(draft)


def _going_on(draft: Draft) -> bool:
    stage = draft.stage("train")
    return stage is not None and stage.state in ("waiting", "running") and draft.job.state == "running"


# ---------------------------------------------------------------- endings


def _end_if_over(draft: Draft, attempt: Attempt) -> None:
    stage, instance = draft.stage("train"), draft.instance_of(attempt)
    if stage is None or instance is None or not attempt.live:
        return
    ending = ending_of(draft, attempt, stage, instance)
    if ending is None and _standby_is_doomed(attempt, instance):
        ending = Ending("reclaimed", "it was announced to go before it was needed")
    if ending is not None:
        _end(draft, attempt, ending)


def _standby_is_doomed(attempt: Attempt, instance: Instance) -> bool:
    return attempt.told_run_at is None and instance.notice is not None


def _end(draft: Draft, attempt: Attempt, ending: Ending) -> None:
    close(draft, attempt, ending)
    if ending.outcome == "succeeded":
        succeed_stage(draft, "train", f"Training finished{_reached(attempt)}.")
        return
    _count(draft, attempt, ending)


def close(draft: Draft, attempt: Attempt, ending: Ending) -> None:
    """Write the attempt's end and give back what it holds."""
    final = draft.now if ending.code is not None and attempt.final_at is None else attempt.final_at
    draft.put(replace(attempt, ended_at=draft.now, outcome=ending.outcome, reason=ending.reason, final_at=final))
    sentence = f"Attempt {attempt.number} {_ended_as(ending)}{_reached(attempt)}: {ending.reason}."
    data = {"outcome": ending.outcome, "committed_step": attempt.committed_step}
    draft.tell("attempt.ended", sentence, attempt, **data)
    for instance in draft.instances_of(attempt):
        draft.condemn(instance, f"attempt {attempt.number} {_ended_as(ending)}")


def _reached(attempt: Attempt) -> str:
    return "" if attempt.reached_step is None else f" at step {attempt.reached_step}"


def _ended_as(ending: Ending) -> str:
    words = {"lost": "was lost", "superseded": "is not needed", "reclaimed": "was reclaimed"}
    return words.get(ending.outcome, ending.outcome)


def _count(draft: Draft, attempt: Attempt, ending: Ending) -> None:
    """Failures use the retry budget; resumes without a new step are counted; both have an end."""
    stage = draft.stage("train")
    assert stage is not None
    if ending.outcome in ("superseded", "cancelled") or attempt.told_run_at is None:
        return
    stage = _with_progress(draft, stage, attempt)
    if ending.stops_job:
        fail_job(draft, f"Stopped, a person must look: {ending.reason}.")
    elif ending.outcome == "failed":
        _count_failure(draft, stage, ending)
    elif stage.barren_resumes:
        _count_barren(draft, stage, attempt, ending)


def _with_progress(draft: Draft, stage: Stage, attempt: Attempt) -> Stage:
    committed = attempt.committed_step
    if committed is not None and committed > stage.progress_step:
        stage = replace(stage, progress_step=committed, barren_resumes=0)
    else:
        stage = replace(stage, barren_resumes=stage.barren_resumes + 1)
    draft.put(stage)
    return stage


def _count_failure(draft: Draft, stage: Stage, ending: Ending) -> None:
    retry = draft.job.spec.retry
    failures = stage.failures + 1
    draft.put(replace(stage, failures=failures, not_before=draft.now + _backoff(failures)))
    if ending.code in retry.no_retry_exit_codes:
        fail_job(draft, f"Failed: {ending.reason}; exit code {ending.code} is not retried.")
    elif failures >= retry.max_failures:
        fail_job(draft, f"Failed: {ending.reason}; that was failure {failures} of {retry.max_failures}.")


def _backoff(failures: int) -> timedelta:
    return timedelta(seconds=min(MAX_BACKOFF_S, 2.0 ** (failures - 1)))


def _count_barren(draft: Draft, stage: Stage, attempt: Attempt, ending: Ending) -> None:
    rules, barren = draft.rules, stage.barren_resumes
    if barren >= rules.barren_alarm:
        why = f"{barren} attempts in a row made no new checkpoint; does the trainer save where it should?"
        draft.raise_alarm(stage, "job.no_progress", why, attempt)
    last_chance = rules.barren_limit + (1 if _may_use_on_demand(draft) else 0)
    if barren >= last_chance:
        last = f"the last one {_ended_as(ending)}: {ending.reason}"
        fail_job(draft, f"Stopped, a person must look: {barren} attempts in a row made no new checkpoint; {last}.")


def _may_use_on_demand(draft: Draft) -> bool:
    return draft.job.spec.train.placement.market == "auto"


# ---------------------------------------------------------------- who lives


def runner_of(draft: Draft) -> Attempt | None:
    """The live attempt that was told to run, or will be as soon as it has an instance."""
    return next((attempt for attempt in draft.live("train") if _may_run(draft, attempt)), None)


def _may_run(draft: Draft, attempt: Attempt) -> bool:
    if attempt.told_run_at is not None or attempt.replaces is None:
        return True
    replaced = draft.attempt("train", attempt.replaces)
    return replaced is None or not replaced.live


def _drop_needless_standbys(draft: Draft) -> None:
    for attempt in draft.live("train"):
        if _may_run(draft, attempt) or _is_under_notice(draft, attempt.replaces):
            continue
        close(draft, attempt, Ending("superseded", "the notice was withdrawn"))


def _is_under_notice(draft: Draft, number: int | None) -> bool:
    attempt = None if number is None else draft.attempt("train", number)
    instance = None if attempt is None else draft.instance_of(attempt)
    return instance is not None and instance.notice is not None


def _keep_one_attempt(draft: Draft) -> None:
    live = draft.live("train")
    if not live:
        seats.open_attempt(draft, "train", _why_another(draft))
        return
    runner = runner_of(draft)
    if len(live) == 1 and runner is not None and _is_under_notice(draft, runner.number):
        reason = f"Attempt {runner.number} is under notice: a replacement is launched to stand by."
        seats.open_attempt(draft, "train", reason, replaces=runner.number)


def _why_another(draft: Draft) -> str:
    earlier = draft.attempts("train")
    if not earlier:
        return "Training begins."
    last = earlier[-1]
    return f"Attempt {last.number} {last.outcome}: training goes on elsewhere."


# ---------------------------------------------------------------- moving on


def _advance(draft: Draft, attempt: Attempt) -> None:
    instance = draft.instance_of(attempt)
    if instance is None or not instance.alive:
        _ask_for_instance(draft, attempt)
        return
    if not _may_run(draft, attempt):
        _tell_standby(draft, attempt, instance)
    elif attempt.told_run_at is None:
        _tell_run(draft, attempt, instance)
    _describe(draft, attempt, instance)


def _ask_for_instance(draft: Draft, attempt: Attempt) -> None:
    if not draft.open_intents(attempt):
        seats.fill(draft, attempt, 0, draft.job.spec.train.resources, _placement(draft))
    if draft.open_intents(attempt):
        draft.say(f"Attempt {attempt.number} waits for its instance to be launched.")


def _placement(draft: Draft) -> Placement:
    """The job's, but on-demand where spot has brought it nowhere."""
    placement, stage = draft.job.spec.train.placement, draft.stage("train")
    assert stage is not None
    if stage.barren_resumes >= draft.rules.barren_limit and placement.market == "auto":
        return placement.model_copy(update={"market": "on-demand"})
    return placement


def _tell_standby(draft: Draft, attempt: Attempt, instance: Instance) -> None:
    if instance.desired is None:
        order = Standby(task=task_of(draft, attempt))
        draft.put(replace(instance, desired=order, revision=instance.revision + 1))


def _tell_run(draft: Draft, attempt: Attempt, instance: Instance) -> None:
    order = Run(task=task_of(draft, attempt))
    draft.put(replace(instance, desired=order, revision=instance.revision + 1))
    draft.put(replace(attempt, told_run_at=draft.now))
    draft.tell("attempt.told_run", f"Attempt {attempt.number} is told to run on {instance.pool}.", instance)


def task_of(draft: Draft, attempt: Attempt) -> TrainTask:
    """All that the agent must know of the attempt."""
    spec, earlier = draft.job.spec, draft.attempts("train")
    return TrainTask(
        job=attempt.job,
        attempt=attempt.number,
        epoch=attempt.epoch,
        command=spec.train.command,
        env=spec.train.env,
        stop_signal=spec.train.stop_signal,
        stall_s=spec.train.stall_s,
        checkpoints_path=spec.checkpoint.path,
        keep=spec.checkpoint.keep,
        shards=spec.preprocess.shards if spec.preprocess else None,
        output_path=spec.output_path,
        save_p90_s=max((a.save_s for a in earlier if a.save_s is not None), default=None),
        upload_p90_s=max((a.upload_s for a in earlier if a.upload_s is not None), default=None),
    )


def _describe(draft: Draft, attempt: Attempt, instance: Instance) -> None:
    if not _may_run(draft, attempt):
        draft.say(f"Attempt {attempt.number} stands by on {instance.pool}.")
        return
    report = report_of(attempt, instance)
    doing = {"running": "trains", "restoring": "restores", "stopping": "stops"}
    verb = doing.get(report.phase, "starts") if report else "boots"
    notice = ", under notice" if instance.notice else ""
    draft.say(f"Attempt {attempt.number} {verb} on {instance.pool}{notice}.")


def _watch_checkpoints(draft: Draft) -> None:
    """Silence is an alarm: at least one commit in every `[checkpoint] every`."""
    every_s, stage = draft.job.spec.checkpoint.every_s, draft.stage("train")
    runner = runner_of(draft)
    if every_s is None or stage is None or runner is None or runner.first_step_at is None:
        return
    since = runner.committed_at or runner.first_step_at
    if draft.after(since, every_s):
        why = f"Attempt {runner.number} has committed no checkpoint for {every_s:.0f} s."
        draft.raise_alarm(stage, "checkpoint.stale", why, runner)
    else:
        draft.clear_alarm(stage, "checkpoint.stale")

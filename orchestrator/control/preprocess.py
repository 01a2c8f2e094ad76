"""The preprocess stage's next step: workers in one attempt, shards leased to them.

Losing a worker opens no new epoch: its shards are leased again, with the next lease number.
"""

from dataclasses import replace

from orchestrator.control import seats
from orchestrator.control.draft import Draft
from orchestrator.control.endings import ending_of
from orchestrator.control.jobend import fail_job, succeed_stage
from orchestrator.model.jobs import Attempt, Instance, Shard
from orchestrator.model.wire import PreprocessTask, ShardLease, ShardReport, Work


def decide_preprocess(draft: Draft) -> None:
    """Takes in what the workers report, gives back whom nobody needs, and leases what is free."""
    live = draft.live("preprocess")
    attempt = live[0] if live else seats.open_attempt(draft, "preprocess", "Preprocessing begins.")
    for instance in draft.instances_of(attempt):
        _take_in(draft, attempt, instance)
    if draft.job.state != "running" or _finished(draft, attempt) or _nobody_speaks(draft, attempt):
        return
    workers = [i for i in draft.instances_of(attempt) if _works(i)]
    _lease(draft, workers)
    _release_idle(draft, workers)
    _hire(draft, attempt)
    done = sum(shard.done for shard in draft.shards())
    draft.say(f"Preprocessing: {done} of {len(draft.shards())} shards are done.")


def _works(instance: Instance) -> bool:
    return instance.alive and instance.terminate_at is None and instance.notice is None


# ---------------------------------------------------------------- what the workers say


def _take_in(draft: Draft, attempt: Attempt, instance: Instance) -> None:
    for report in instance.report.shards if instance.report else ():
        shard = next((s for s in draft.shards() if s.number == report.number), None)
        if shard is not None and not shard.done:
            _take_in_shard(draft, instance, shard, report)
    stage = draft.stage("preprocess")
    assert stage is not None
    ending = ending_of(draft, attempt, stage, instance)
    if ending is not None and instance.terminate_at is None and instance.alive:
        draft.condemn(draft.instance(instance.id) or instance, ending.reason)


def _take_in_shard(draft: Draft, instance: Instance, shard: Shard, report: ShardReport) -> None:
    if report.state == "committed":
        # True whoever holds the lease now: the shard's manifest exists and is never replaced.
        draft.put(replace(shard, done=True, holder=None))
        draft.tell("shard.committed", f"Shard {shard.number} is committed.", instance, shard=shard.number)
    elif report.state == "failed" and (shard.holder, shard.lease) == (instance.id, report.lease):
        _fail_shard(draft, instance, shard, report)


def _fail_shard(draft: Draft, instance: Instance, shard: Shard, report: ShardReport) -> None:
    retry, failures = draft.job.spec.retry, shard.failures + 1
    draft.put(replace(shard, failures=failures, holder=None))
    what = report.reason or f"the command ended with exit code {report.code}"
    draft.tell("shard.failed", f"Shard {shard.number} failed: {what}.", instance, code=report.code)
    stage = draft.stage("preprocess")
    assert stage is not None
    draft.put(replace(stage, failures=stage.failures + 1))
    if report.code in retry.no_retry_exit_codes or failures >= retry.max_failures:
        fail_job(draft, f"Failed: shard {shard.number}: {what}; that was failure {failures}.")


def _finished(draft: Draft, attempt: Attempt) -> bool:
    if not all(shard.done for shard in draft.shards()):
        return False
    ended = replace(attempt, ended_at=draft.now, outcome="succeeded", reason="all shards are committed")
    draft.put(ended)
    draft.tell("attempt.ended", "Every shard is committed.", ended, outcome="succeeded")
    succeed_stage(draft, "preprocess", f"Preprocessing finished: {len(draft.shards())} shards.")
    return True


def _nobody_speaks(draft: Draft, attempt: Attempt) -> bool:
    """Workers that end without a word, one after another, are not worth their money. Whether that ended the job."""
    stage, spec = draft.stage("preprocess"), draft.job.spec.preprocess
    assert stage is not None
    assert spec is not None
    silent = _silent_in_a_row(draft.instances_of(attempt))
    why = f"{silent} CPU instances in a row ended before their agent said a word"
    if silent == 0:
        draft.clear_alarm(stage, "job.no_progress")
    if silent >= draft.rules.barren_alarm * spec.instances:
        draft.raise_alarm(stage, "job.no_progress", why, attempt)
    if silent < draft.rules.barren_limit * spec.instances:
        return False
    fail_job(draft, f"Stopped, a person must look: {why}.")
    return True


def _silent_in_a_row(workers: list[Instance]) -> int:
    """How many ended silent that were launched after the last one that spoke. Who was reclaimed is no sign."""
    spoke = [worker.launched_at for worker in workers if worker.reported_at is not None]
    ended = [worker for worker in workers if not worker.alive or worker.terminate_at is not None]
    silent = [worker for worker in ended if worker.reported_at is None and not worker.reclaimed]
    return sum(1 for worker in silent if not spoke or worker.launched_at > max(spoke))


# ---------------------------------------------------------------- leases


def _lease(draft: Draft, workers: list[Instance]) -> None:
    holders = {worker.id for worker in workers}
    for shard in draft.shards():
        if not shard.done and shard.holder is not None and shard.holder not in holders:
            draft.put(replace(shard, holder=None))
    for worker in workers:
        if worker.reported_at is not None and not _held(draft, worker):
            _lease_next(draft, worker)
        _tell_work(draft, worker)


def _held(draft: Draft, worker: Instance) -> list[Shard]:
    return [shard for shard in draft.shards() if shard.holder == worker.id and not shard.done]


def _free(draft: Draft) -> list[Shard]:
    return [shard for shard in draft.shards() if not shard.done and shard.holder is None]


def _lease_next(draft: Draft, worker: Instance) -> None:
    free = _free(draft)
    if free:
        shard = min(free, key=lambda s: (s.failures, s.number))
        draft.put(replace(shard, holder=worker.id, lease=shard.lease + 1))


def _tell_work(draft: Draft, worker: Instance) -> None:
    order = Work(task=_task(draft, worker))
    if worker.desired != order:
        draft.put(replace(worker, desired=order, revision=worker.revision + 1))


def _task(draft: Draft, worker: Instance) -> PreprocessTask:
    spec = draft.job.spec.preprocess
    assert spec is not None
    attempt = draft.attempt("preprocess", worker.attempt)
    return PreprocessTask(
        job=worker.job,
        attempt=worker.attempt,
        epoch=attempt.epoch if attempt else 0,
        rank=worker.rank,
        command=spec.command,
        env=spec.env,
        shards=spec.shards,
        leases=tuple(ShardLease(number=s.number, lease=s.lease) for s in _held(draft, worker)),
    )


# ---------------------------------------------------------------- workers


def _release_idle(draft: Draft, workers: list[Instance]) -> None:
    """Whoever has nothing to do, with nothing left to give, costs money for nothing."""
    if _free(draft):
        return
    for worker in workers:
        if worker.reported_at is not None and not _held(draft, worker):
            draft.condemn(draft.instance(worker.id) or worker, "no shard is left for it")


def _hire(draft: Draft, attempt: Attempt) -> None:
    spec = draft.job.spec.preprocess
    assert spec is not None
    busy = {i.rank for i in draft.instances_of(attempt) if _works(i)}
    busy |= {intent.rank for intent in draft.open_intents(attempt)}
    unheld = len(_free(draft)) - _coming(draft, attempt)
    for rank in range(spec.instances):
        if rank in busy or unheld <= 0:
            continue
        seats.fill(draft, attempt, rank, spec.resources, spec.placement)
        unheld -= 1


def _coming(draft: Draft, attempt: Attempt) -> int:
    """Workers that have not spoken yet and will each take a shard."""
    booting = [i for i in draft.instances_of(attempt) if _works(i) and i.reported_at is None]
    return len(booting) + len(draft.open_intents(attempt))

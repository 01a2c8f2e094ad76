"""All rows of a job in one consistent read: what `decide` is given."""

from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.model.jobs import Attempt, Drill, Instance, Intent, Job, Shard, Stage
from orchestrator.store import attempts, drills, instances, intents, jobs, shards


@dataclass(frozen=True)
class JobView:
    """A job whole. Tuples are in the order of their room's functions."""

    job: Job
    stages: tuple[Stage, ...]
    attempts: tuple[Attempt, ...]
    intents: tuple[Intent, ...]
    instances: tuple[Instance, ...]
    shards: tuple[Shard, ...]
    drills: tuple[Drill, ...]


def load_view(conn: sa.Connection, job_id: str) -> JobView | None:
    """None: no such job."""
    job = jobs.get_job(conn, job_id)
    if job is None:
        return None
    return JobView(
        job=job,
        stages=tuple(jobs.stages_of(conn, job_id)),
        attempts=tuple(attempts.attempts_of(conn, job_id)),
        intents=tuple(intents.intents_of(conn, job_id)),
        instances=tuple(instances.instances_of(conn, job_id)),
        shards=tuple(shards.shards_of(conn, job_id)),
        drills=tuple(drills.drills_of(conn, job_id)),
    )

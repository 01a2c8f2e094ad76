"""Jobs and their stages."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from orchestrator.model.jobs import ENDED_JOB_STATES, Job, Stage
from orchestrator.store import tables
from orchestrator.store.rows import fetch, fetch_one, put, to_values

_LIVE = tables.jobs.c.state.not_in(sorted(ENDED_JOB_STATES))


def insert_job(conn: sa.Connection, job: Job, stages: Sequence[Stage], idempotency_key: str) -> tuple[Job, bool]:
    """The job, and whether one of that key existed: then nothing is written and that one is returned."""
    known = fetch_one(conn, Job, _select().where(tables.jobs.c.idempotency_key == idempotency_key))
    if known is not None:
        return known, True
    conn.execute(sa.insert(tables.jobs).values(**to_values(job), idempotency_key=idempotency_key))
    for stage in stages:
        put_stage(conn, stage)
    return job, False


def _select() -> sa.Select[tuple[object, ...]]:
    return sa.select(tables.jobs)


def put_job(conn: sa.Connection, job: Job) -> None:
    """Replace a job's row. `insert_job` makes it."""
    conn.execute(sa.update(tables.jobs).where(tables.jobs.c.id == job.id).values(**to_values(job)))


def put_stage(conn: sa.Connection, stage: Stage) -> None:
    put(conn, tables.stages, to_values(stage))


def get_job(conn: sa.Connection, job_id: str) -> Job | None:
    return fetch_one(conn, Job, _select().where(tables.jobs.c.id == job_id))


def find_job(conn: sa.Connection, id_or_name: str) -> Job | None:
    """By id, else the newest of that name, also where it has ended."""
    newest = _select().where(tables.jobs.c.name == id_or_name).order_by(tables.jobs.c.number.desc()).limit(1)
    return get_job(conn, id_or_name) or fetch_one(conn, Job, newest)


def list_jobs(conn: sa.Connection, ended_since: datetime | None) -> list[Job]:
    """The live and those that ended since, newest first. None: all."""
    query = _select().order_by(tables.jobs.c.number.desc())
    if ended_since is not None:
        query = query.where(sa.or_(_LIVE, tables.jobs.c.ended_at >= ended_since))
    return fetch(conn, Job, query)


def live_job_ids(conn: sa.Connection) -> list[str]:
    query = sa.select(tables.jobs.c.id).where(_LIVE).order_by(tables.jobs.c.number)
    return list(conn.scalars(query))


def stages_of(conn: sa.Connection, job: str) -> list[Stage]:
    """`preprocess` first."""
    query = sa.select(tables.stages).where(tables.stages.c.job == job).order_by(tables.stages.c.name)
    return fetch(conn, Stage, query)

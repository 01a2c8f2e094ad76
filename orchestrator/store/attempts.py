"""Attempts."""

import sqlalchemy as sa

from orchestrator.model.jobs import Attempt
from orchestrator.store.rows import fetch, put, to_values
from orchestrator.store.tables import attempts


def put_attempt(conn: sa.Connection, attempt: Attempt) -> None:
    put(conn, attempts, to_values(attempt))


def attempts_of(conn: sa.Connection, job: str) -> list[Attempt]:
    """By stage, then number."""
    query = sa.select(attempts).where(attempts.c.job == job).order_by(attempts.c.stage, attempts.c.number)
    return fetch(conn, Attempt, query)

"""Intents: what we are about to ask of a provider, and what became of it."""

import sqlalchemy as sa

from orchestrator.model.jobs import Intent
from orchestrator.store.rows import fetch, fetch_one, put, to_values
from orchestrator.store.tables import intents

_IN_ORDER = (intents.c.created_at, intents.c.id)


def put_intent(conn: sa.Connection, intent: Intent) -> None:
    put(conn, intents, to_values(intent))


def get_intent(conn: sa.Connection, intent_id: str) -> Intent | None:
    return fetch_one(conn, Intent, sa.select(intents).where(intents.c.id == intent_id))


def intents_of(conn: sa.Connection, job: str) -> list[Intent]:
    """Oldest first."""
    return fetch(conn, Intent, sa.select(intents).where(intents.c.job == job).order_by(*_IN_ORDER))


def open_intents(conn: sa.Connection) -> list[Intent]:
    """Of all jobs: launches whose outcome is not known."""
    return fetch(conn, Intent, sa.select(intents).where(intents.c.state == "open").order_by(*_IN_ORDER))

"""Drills."""

import sqlalchemy as sa

from orchestrator.model.jobs import Drill
from orchestrator.store.rows import fetch, fetch_one, put, to_values
from orchestrator.store.tables import drills


def put_drill(conn: sa.Connection, drill: Drill) -> None:
    put(conn, drills, to_values(drill))


def get_drill(conn: sa.Connection, drill_id: str) -> Drill | None:
    return fetch_one(conn, Drill, sa.select(drills).where(drills.c.id == drill_id))


def drills_of(conn: sa.Connection, job: str) -> list[Drill]:
    """Oldest first."""
    return fetch(conn, Drill, sa.select(drills).where(drills.c.job == job).order_by(drills.c.asked_at))

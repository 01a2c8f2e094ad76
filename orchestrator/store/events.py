"""Events: appended, never changed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from orchestrator.model.events import Event
from orchestrator.store.rows import compact
from orchestrator.store.tables import events

_SAME = ("name", "reason", "job", "stage", "attempt", "epoch", "instance", "pool")


def append_events(conn: sa.Connection, told: Sequence[Event], at: datetime) -> list[Event]:
    """The events as they were stored, with `seq` and `at`."""
    stored = []
    for event in told:
        values = {name: getattr(event, name) for name in _SAME}
        result = conn.execute(sa.insert(events).values(**values, at=at, data=compact(event.data)))
        key = result.inserted_primary_key
        assert key is not None
        stored.append(replace(event, seq=key[0], at=at))
    return stored


def events_after(conn: sa.Connection, job: str | None, after: int, limit: int) -> list[Event]:
    """Of a job, or of all where it is None; oldest first, at most `limit`."""
    query = sa.select(events).where(events.c.seq > after).order_by(events.c.seq).limit(limit)
    if job is not None:
        query = query.where(events.c.job == job)
    return [_event(found) for found in conn.execute(query).mappings()]


def last_event(conn: sa.Connection, job: str, name: str) -> Event | None:
    query = sa.select(events).where(events.c.job == job, events.c.name == name)
    found = conn.execute(query.order_by(events.c.seq.desc()).limit(1)).mappings().first()
    return None if found is None else _event(found)


def _event(found: Any) -> Event:
    values = dict(found)
    return Event(**{**values, "data": json.loads(values["data"])})

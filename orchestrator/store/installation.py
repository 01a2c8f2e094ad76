"""Who we are: one UUID and one key a store, made at its first use."""

import os
import uuid
from collections.abc import Callable
from datetime import datetime, timezone

import sqlalchemy as sa

from orchestrator.model.jobs import Installation
from orchestrator.store.rows import fetch_one
from orchestrator.store.tables import installations

KEY_BYTES = 32


def _now() -> datetime:
    return datetime.now(timezone.utc)


def has_installation(conn: sa.Connection) -> bool:
    """Whether a daemon has worked with this store before."""
    return fetch_one(conn, Installation, sa.select(installations)) is not None


def installation(
    conn: sa.Connection,
    new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    new_key: Callable[[], bytes] = lambda: os.urandom(KEY_BYTES),
    now: Callable[[], datetime] = _now,
) -> Installation:
    """The store's installation; the first call makes it."""
    known = fetch_one(conn, Installation, sa.select(installations))
    if known is not None:
        return known
    made = Installation(new_id(), new_key(), now())
    conn.execute(sa.insert(installations).values(id=made.id, key=made.key, created_at=made.created_at))
    return made

"""Pools that said no, and until when nobody asks them again."""

from datetime import datetime

import sqlalchemy as sa

from orchestrator.model.jobs import Cooldown
from orchestrator.model.pools import Pool
from orchestrator.store.rows import put
from orchestrator.store.tables import cooldowns


def put_cooldown(conn: sa.Connection, cooldown: Cooldown) -> None:
    values = {
        "pool": str(cooldown.pool),
        "pool_json": cooldown.pool.model_dump_json(),
        "until": cooldown.until,
        "reason": cooldown.reason,
    }
    put(conn, cooldowns, values)


def active_cooldowns(conn: sa.Connection, now: datetime) -> list[Cooldown]:
    found = conn.execute(sa.select(cooldowns).where(cooldowns.c.until > now)).mappings()
    return [Cooldown(Pool.model_validate_json(r["pool_json"]), r["until"], r["reason"]) for r in found]


def forget_expired(conn: sa.Connection, now: datetime) -> None:
    conn.execute(sa.delete(cooldowns).where(cooldowns.c.until <= now))

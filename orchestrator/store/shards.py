"""Shards and their leases."""

import sqlalchemy as sa

from orchestrator.model.jobs import Shard
from orchestrator.store.rows import fetch, put, to_values
from orchestrator.store.tables import shards


def put_shard(conn: sa.Connection, shard: Shard) -> None:
    put(conn, shards, to_values(shard))


def shards_of(conn: sa.Connection, job: str) -> list[Shard]:
    """By number."""
    return fetch(conn, Shard, sa.select(shards).where(shards.c.job == job).order_by(shards.c.number))

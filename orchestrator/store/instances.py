"""Instances, as the provider last said of them."""

import sqlalchemy as sa

from orchestrator.model.jobs import Instance
from orchestrator.model.pools import Pool
from orchestrator.store.intents import open_intents
from orchestrator.store.rows import fetch, fetch_one, put, to_values
from orchestrator.store.tables import instances

_IN_ORDER = (instances.c.launched_at, instances.c.id)


def put_instance(conn: sa.Connection, instance: Instance) -> None:
    put(conn, instances, to_values(instance))


def get_instance(conn: sa.Connection, instance_id: str) -> Instance | None:
    return fetch_one(conn, Instance, sa.select(instances).where(instances.c.id == instance_id))


def instance_of_intent(conn: sa.Connection, intent_id: str) -> Instance | None:
    return fetch_one(conn, Instance, sa.select(instances).where(instances.c.intent == intent_id))


def instances_of(conn: sa.Connection, job: str) -> list[Instance]:
    """Oldest first."""
    return fetch(conn, Instance, sa.select(instances).where(instances.c.job == job).order_by(*_IN_ORDER))


def alive_instances(conn: sa.Connection) -> list[Instance]:
    """Of all jobs: whatever the provider has not said to be gone."""
    query = sa.select(instances).where(instances.c.phase != "terminated").order_by(*_IN_ORDER)
    return fetch(conn, Instance, query)


def pools_in_use(conn: sa.Connection) -> set[Pool]:
    """Of all jobs: where there is an instance, or may be one whose launch has no outcome yet."""
    return {instance.pool for instance in alive_instances(conn)} | {one.order.pool for one in open_intents(conn)}


def all_instances(conn: sa.Connection) -> list[Instance]:
    """Oldest first."""
    return fetch(conn, Instance, sa.select(instances).order_by(*_IN_ORDER))

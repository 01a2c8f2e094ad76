"""Where a decision becomes rows: one transaction loads the view, decides, and writes what was decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection

from orchestrator.control.decide import decide
from orchestrator.control.draft import Decision, Fleet, Market, Row, Situation
from orchestrator.control.rules import House, Rules
from orchestrator.model.events import Event
from orchestrator.model.jobs import Attempt, Drill, Instance, Intent, Job, Shard, Stage
from orchestrator.model.pools import Offer
from orchestrator.store import attempts, cooldowns, drills, events, instances, intents, jobs, jobview, shards

Change = Callable[[Connection], Sequence[Event]]


@dataclass(frozen=True)
class Surroundings:
    """What a decision rests on besides the store."""

    now: datetime
    heard_since: datetime
    offers: tuple[Offer, ...]
    fetched_at: datetime | None
    rules: Rules
    house: House


@dataclass(frozen=True)
class Recorded:
    """What was decided and written, with the events as the store numbered them."""

    decision: Decision
    events: tuple[Event, ...]


def nothing(_conn: Connection) -> Sequence[Event]:
    """The change of somebody who only wants a fresh decision."""
    return ()


def record(conn: Connection, job_id: str, change: Change, around: Surroundings) -> Recorded | None:
    """Make the change, then decide on what it left; all of it is written, or none. None: no such job."""
    told = list(change(conn))
    view = jobview.load_view(conn, job_id)
    if view is None:
        return None
    decision = decide(view, _situation(conn, around))
    for row in decision.rows:
        put(conn, row)
    told.extend(decision.events)
    numbered = events.append_events(conn, told, around.now) if told else []
    return Recorded(decision, tuple(numbered))


def _situation(conn: Connection, around: Surroundings) -> Situation:
    cooled = {c.pool: c.until for c in cooldowns.active_cooldowns(conn, around.now)}
    return Situation(
        now=around.now,
        heard_since=around.heard_since,
        market=Market(around.offers, around.fetched_at, cooled),
        fleet=fleet(conn),
        rules=around.rules,
        house=around.house,
    )


def fleet(conn: Connection) -> Fleet:
    """All that is alive or asked for, over all jobs."""
    alive, asked = instances.alive_instances(conn), intents.open_intents(conn)
    spend = sum((instance.usd_per_hour for instance in alive), Decimal(0))
    spend += sum((intent.order.bid_usd_per_hour or Decimal(0) for intent in asked), Decimal(0))
    return Fleet(len(alive) + len(asked), spend)


_WRITERS: dict[type, Callable[[Connection, Row], None]] = {
    Job: jobs.put_job,  # type: ignore[dict-item]
    Stage: jobs.put_stage,  # type: ignore[dict-item]
    Attempt: attempts.put_attempt,  # type: ignore[dict-item]
    Intent: intents.put_intent,  # type: ignore[dict-item]
    Instance: instances.put_instance,  # type: ignore[dict-item]
    Shard: shards.put_shard,  # type: ignore[dict-item]
    Drill: drills.put_drill,  # type: ignore[dict-item]
}


def put(conn: Connection, row: Row) -> None:
    """Write one row whole."""
    _WRITERS[type(row)](conn, row)

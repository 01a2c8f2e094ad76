"""The schema. `migrations` makes it; a test holds the two together."""

from datetime import datetime, timezone
from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData()


class Utc(sa.types.TypeDecorator[datetime]):
    """A moment in UTC: ISO 8601 text of fixed width, so that text order is time order."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> str | None:
        del dialect
        if value is None:
            return None
        return value.astimezone(timezone.utc).isoformat(timespec="microseconds")

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> datetime | None:
        del dialect
        return None if value is None else datetime.fromisoformat(value)


def _key(name: str) -> "sa.Column[Any]":
    return sa.Column(name, sa.String, primary_key=True)


def _text(name: str, *, null: bool = True, **more: Any) -> "sa.Column[Any]":
    return sa.Column(name, sa.String, nullable=null, **more)


def _moment(name: str) -> "sa.Column[Any]":
    return sa.Column(name, Utc)


def _number(name: str) -> "sa.Column[Any]":
    return sa.Column(name, sa.Integer)


def _job() -> "sa.Column[Any]":
    return sa.Column("job", sa.String, sa.ForeignKey("jobs.id"), primary_key=True)


def _of_job() -> "sa.Column[Any]":
    return sa.Column("job", sa.String, sa.ForeignKey("jobs.id"), nullable=False, index=True)


installations = sa.Table(
    "installations",
    metadata,
    _key("id"),
    sa.Column("key", sa.LargeBinary, nullable=False),
    _moment("created_at"),
)

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    _text("id", null=False, unique=True),
    _text("name", null=False, index=True),
    _text("toml", null=False),
    _text("spec", null=False),
    _text("state", null=False, index=True),
    _text("reason", null=False),
    _moment("created_at"),
    sa.Column("ended_at", Utc, index=True),
    sa.Column("cancel_requested", sa.Boolean, nullable=False),
    _text("idempotency_key", null=False, unique=True),
)

stages = sa.Table(
    "stages",
    metadata,
    _job(),
    _key("name"),
    _text("state", null=False),
    _number("epoch"),
    _number("failures"),
    _number("progress_step"),
    _number("barren_resumes"),
    _moment("not_before"),
    _text("alarms", null=False),
)

attempts = sa.Table(
    "attempts",
    metadata,
    _job(),
    _key("stage"),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    _number("epoch"),
    _moment("created_at"),
    _number("replaces"),
    _moment("told_run_at"),
    _moment("first_step_at"),
    _moment("final_at"),
    _moment("ended_at"),
    _text("outcome"),
    _text("reason", null=False),
    _number("committed_step"),
    _moment("committed_at"),
    _number("reached_step"),
    _number("total_steps"),
    _number("base_step"),
    sa.Column("trained_s", sa.Float, nullable=False),
    sa.Column("trainer_start_s", sa.Float),
    sa.Column("save_s", sa.Float),
    sa.Column("upload_s", sa.Float),
)

intents = sa.Table(
    "intents",
    metadata,
    _key("id"),
    _of_job(),
    _text("stage", null=False),
    _number("attempt"),
    _number("rank"),
    _text("order", null=False),
    _text("state", null=False, index=True),
    _moment("created_at"),
    _text("reason", null=False),
)

instances = sa.Table(
    "instances",
    metadata,
    _key("id"),
    _text("intent", null=False, index=True),
    _of_job(),
    _text("stage", null=False),
    _number("attempt"),
    _number("rank"),
    _text("pool", null=False),
    _text("usd_per_hour", null=False),
    _text("on_demand_usd_per_hour", null=False),
    _text("phase", null=False, index=True),
    _moment("launched_at"),
    _moment("ended_at"),
    _text("end_reason", null=False),
    sa.Column("reclaimed", sa.Boolean, nullable=False),
    _moment("terminate_at"),
    _text("notice"),
    _text("report"),
    _moment("reported_at"),
    _number("revision"),
    _text("desired"),
)

shards = sa.Table(
    "shards",
    metadata,
    _job(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    _number("lease"),
    _text("holder"),
    sa.Column("done", sa.Boolean, nullable=False),
    _number("failures"),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    _moment("at"),
    _text("name", null=False),
    _text("reason", null=False),
    _text("job", index=True),
    _text("stage"),
    _number("attempt"),
    _number("epoch"),
    _text("instance"),
    _text("pool"),
    _text("data", null=False),
    sqlite_autoincrement=True,
)

drills = sa.Table(
    "drills",
    metadata,
    _key("id"),
    _of_job(),
    _number("attempt"),
    _text("instance", null=False),
    sa.Column("window_s", sa.Float, nullable=False),
    _moment("asked_at"),
    _text("state", null=False),
    _text("reason", null=False),
    _moment("ended_at"),
    _number("committed_step"),
    _number("resumed_step"),
)

cooldowns = sa.Table(
    "cooldowns",
    metadata,
    _key("pool"),
    _text("pool_json", null=False),
    sa.Column("until", Utc, index=True),
    _text("reason", null=False),
)

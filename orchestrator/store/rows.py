"""Between frozen dataclasses and the columns of a row, and the one way to write a row whole."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

import sqlalchemy as sa
from pydantic import TypeAdapter
from sqlalchemy.dialects import postgresql, sqlite

from orchestrator.model.jobs import NoticeSeen
from orchestrator.model.launch import LaunchOrder
from orchestrator.model.pools import Pool
from orchestrator.model.spec import JobSpec
from orchestrator.model.wire import Desired, Report

T = TypeVar("T")
Values = dict[str, Any]

_JSON: dict[str, TypeAdapter[Any]] = {
    "spec": TypeAdapter(JobSpec),
    "order": TypeAdapter(LaunchOrder),
    "pool": TypeAdapter(Pool),
    "notice": TypeAdapter(NoticeSeen),
    "report": TypeAdapter(Report),
    "desired": TypeAdapter(Desired),
    "alarms": TypeAdapter(tuple[str, ...]),
}
_MONEY = frozenset({"usd_per_hour", "on_demand_usd_per_hour"})


@lru_cache(maxsize=4096)
def _parsed(name: str, text: str) -> Any:
    """Everything that is parsed is immutable, and most of it is read far more often than written."""
    return _JSON[name].validate_json(text)


def to_values(row: Any) -> Values:
    """Column values of a dataclass."""
    return {field.name: _out(field.name, getattr(row, field.name)) for field in fields(row)}


def _out(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _JSON:
        return _JSON[name].dump_json(value).decode()
    return str(value) if name in _MONEY else value


def from_values(kind: Callable[..., T], found: Values) -> T:
    """The dataclass of a row; columns that it has no field for are left out."""
    names = _field_names(kind)
    return kind(**{name: _in(name, value) for name, value in found.items() if name in names})


@lru_cache(maxsize=64)
def _field_names(kind: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))


def _in(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _JSON:
        return _parsed(name, value)
    return Decimal(value) if name in _MONEY else value


def put(conn: sa.Connection, table: sa.Table, values: Values) -> None:
    """Insert the row, or replace the one with its primary key. `values` has every column."""
    conn.execute(_upsert(table, conn.dialect.name), values)


@lru_cache(maxsize=64)
def _upsert(table: sa.Table, dialect: str) -> Any:
    keys = [column.name for column in table.primary_key]
    statement = (postgresql if dialect == "postgresql" else sqlite).insert(table)
    rest = {c.name: statement.excluded[c.name] for c in table.columns if c.name not in keys}
    return statement.on_conflict_do_update(index_elements=keys, set_=rest)


def fetch(conn: sa.Connection, kind: Callable[..., T], query: sa.Select[Any]) -> list[T]:
    """Every row of the query, as dataclasses."""
    return [from_values(kind, {**found}) for found in conn.execute(query).mappings()]


def fetch_one(conn: sa.Connection, kind: Callable[..., T], query: sa.Select[Any]) -> T | None:
    found = conn.execute(query).mappings().first()
    return None if found is None else from_values(kind, {**found})


def compact(value: Mapping[str, Any]) -> str:
    """JSON without spaces; moments and money as text."""
    return json.dumps(value, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)

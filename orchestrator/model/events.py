"""What happened, as stable names and sentences. docs/events.md lists them all."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Event:
    """One change. `reason` is a whole sentence for people; `data` has the figures behind it."""

    name: str
    reason: str
    job: str | None = None
    stage: str | None = None
    attempt: int | None = None
    epoch: int | None = None
    instance: str | None = None
    pool: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    seq: int = 0  # given by the store
    at: datetime | None = None  # given by the store

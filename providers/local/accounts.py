"""The ledger: the local cloud's own account of every instance that ever was."""

import time
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from orchestrator.model.launch import LaunchOrder, Tags
from orchestrator.model.pools import Pool
from providers.local.directory import open_directory
from providers.local.record import InstanceDirectory, utc

_SECONDS_PER_HOUR = 3600
_SMALLEST_USD = Decimal("0.000001")


@dataclass(frozen=True)
class LedgerEntry:
    """One instance: who it was for, when it lived, what it cost. `ended_at` is None while it lives."""

    instance: str
    pool: Pool
    tags: Tags
    usd_per_hour: Decimal
    on_demand_usd_per_hour: Decimal
    launched_at: datetime
    ended_at: datetime | None
    billed_s: float
    reclaimed: bool
    reason: str

    @property
    def usd(self) -> Decimal:
        hours = Decimal(self.billed_s) / _SECONDS_PER_HOUR
        return (self.usd_per_hour * hours).quantize(_SMALLEST_USD)

    def alive_at(self, moment: datetime) -> bool:
        return self.launched_at <= moment and (self.ended_at is None or moment < self.ended_at)


def ledger(state_dir: Path) -> list[LedgerEntry]:
    """Every instance that ever was, oldest launch first. Changes nothing, heals nothing."""
    now = time.time()
    entries = [_entry(home, now) for home in open_directory(state_dir).homes()]
    return sorted(entries, key=lambda entry: entry.launched_at)


def _entry(home: InstanceDirectory, now: float) -> LedgerEntry:
    instance, ended = home.instance(), home.ended()
    order = LaunchOrder.model_validate(instance["order"])
    billed_until = now if ended is None else ended.at
    return LedgerEntry(
        instance=home.id,
        pool=order.pool,
        tags=order.tags,
        usd_per_hour=Decimal(instance["usd_per_hour"]),
        on_demand_usd_per_hour=Decimal(instance["on_demand_usd_per_hour"]),
        launched_at=utc(instance["launched_at"]),
        ended_at=None if ended is None else utc(ended.at),
        billed_s=max(0.0, billed_until - instance["launched_at"]),
        reclaimed=ended is not None and ended.reclaimed,
        reason="" if ended is None else ended.reason,
    )

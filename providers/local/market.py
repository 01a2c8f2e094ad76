"""The market of the local cloud: what a pool costs now, what it has left, and who is taken when.

Pure: the market is asked with a time and with what lives, and answers. Traces are read once.
"""

import gzip
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from orchestrator.model.pools import Pool
from providers.local import catalog
from providers.local.settings import MarketSettings, ScriptedReclaim


@dataclass(frozen=True)
class Fate:
    """The cloud will take the instance `after_s` after its launch."""

    after_s: float
    announced: bool


@dataclass(frozen=True)
class Launch:
    """What the market knows of a launch. Ordinals count spot launches from 1: all, and of its type."""

    pool: Pool
    ordinal: int
    ordinal_of_type: int
    at_s: float  # since the cloud was made
    alive_in_pool: int  # before this launch


@dataclass(frozen=True)
class Trace:
    """A recorded spot market: how many could be had at each step, and at what share of on-demand."""

    gap_s: float
    available: tuple[int, ...]
    share: tuple[float, ...] = ()

    def step(self, at_s: float) -> int:
        """The sample that holds at a trace time; past its end the trace begins again."""
        return int(at_s // self.gap_s) % len(self.available)

    def shortage_after_s(self, at_s: float, needed: int) -> float | None:
        """Trace seconds from `at_s` until fewer than `needed` are available; None: never."""
        here = int(at_s // self.gap_s)
        for ahead in range(1, len(self.available) + 1):
            if self.available[(here + ahead) % len(self.available)] < needed:
                return (here + ahead) * self.gap_s - at_s
        return None


@dataclass(frozen=True)
class LocalMarket:
    settings: MarketSettings
    seed: int
    rules: tuple[ScriptedReclaim, ...]
    traces: Mapping[str, Trace]

    def usd_per_hour(self, pool: Pool, at_s: float) -> Decimal:
        """What a launch costs now. `at_s` is seconds since the cloud was made."""
        if pool.market == "on-demand":
            return catalog.ON_DEMAND_USD_PER_HOUR[pool.instance_type]
        return catalog.price_of_share(pool.instance_type, self._share(pool, at_s))

    def stock(self, pool: Pool, at_s: float) -> int | None:
        """How many instances of the pool may live now; None: as many as one likes."""
        limits = [limit for key, limit in self.settings.stock.items() if _fits(key, pool)]
        trace = self._trace(pool)
        if trace is not None:
            limits.append(trace.available[trace.step(self._trace_s(at_s))])
        return min(limits, default=None)

    def fate(self, launch: Launch) -> Fate | None:
        """When the launched instance will be taken; None: never by the market."""
        if launch.pool.market == "on-demand" or self.settings.reclaims == "none":
            return None
        if self.settings.reclaims == "script":
            return _scripted(self.rules, launch)
        if self.settings.reclaims == "seeded":
            return self._seeded(launch)
        return self._traced(launch)

    def _seeded(self, launch: Launch) -> Fate:
        draw = random.Random(f"{self.seed}/{launch.pool}/{launch.ordinal}")
        after_s = draw.expovariate(1.0 / self.settings.mean_life_s)
        return Fate(after_s, announced=draw.random() >= self.settings.unannounced_share)

    def _traced(self, launch: Launch) -> Fate | None:
        trace = self._trace(launch.pool)
        if trace is None:
            return None
        after_s = trace.shortage_after_s(self._trace_s(launch.at_s), launch.alive_in_pool + 1)
        return None if after_s is None else Fate(after_s / self.settings.trace_speed, announced=True)

    def _share(self, pool: Pool, at_s: float) -> float:
        trace = self._trace(pool)
        if trace is not None and trace.share:
            return trace.share[trace.step(self._trace_s(at_s))]
        return catalog.spot_share(self.seed, pool.zone, pool.instance_type, at_s)

    def _trace(self, pool: Pool) -> Trace | None:
        if pool.market == "on-demand" or catalog.HARDWARE[pool.instance_type].gpus == 0:
            return None
        return self.traces.get(pool.zone)

    def _trace_s(self, at_s: float) -> float:
        return at_s * self.settings.trace_speed


def open_market(settings: MarketSettings, seed: int) -> LocalMarket:
    """The market that the settings describe. Raises ValueError where a script or trace cannot be read."""
    traces = {zone: read_trace(path) for zone, path in settings.traces().items()}
    return LocalMarket(settings, seed, settings.rules(), traces)


def read_trace(path: Path) -> Trace:
    """A trace file: gzipped JSON with `gap_seconds`, `avail`, `on_demand_usd_h` and perhaps `price_usd_h`."""
    try:
        data = json.loads(gzip.decompress(path.read_bytes()))
        on_demand = float(data["on_demand_usd_h"])
        share = tuple(float(price) / on_demand for price in data.get("price_usd_h") or ())
        return Trace(float(data["gap_seconds"]), tuple(int(count) for count in data["avail"]), share)
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise ValueError(f"the trace {path} cannot be read: {error}") from None


def _scripted(rules: Iterable[ScriptedReclaim], launch: Launch) -> Fate | None:
    for rule in rules:
        if rule.instance_type not in (None, launch.pool.instance_type):
            continue
        ordinal = launch.ordinal if rule.instance_type is None else launch.ordinal_of_type
        if rule.launch in (None, ordinal):
            return Fate(rule.after_s, announced=rule.notice)
    return None


def _fits(key: str, pool: Pool) -> bool:
    wanted = zip(key.split("/"), (pool.zone, pool.instance_type, pool.market), strict=True)
    return all(part in ("*", actual) for part, actual in wanted)

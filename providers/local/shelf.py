"""What the provider has read of its instances and need not read again: what is written once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.model.launch import Tags
from orchestrator.model.pools import Pool
from providers.base import InstancePhase, InstanceState
from providers.local.directory import CloudDirectory
from providers.local.record import InstanceDirectory, utc


@dataclass(frozen=True)
class Placed:
    """The part of `instance.json` that is asked for again and again."""

    pool: Pool
    tags: Tags
    launched_at_s: float


@dataclass
class Shelf:
    """Safe to share between threads: entries are only ever added, and equal whoever adds them."""

    directory: CloudDirectory
    _placed: dict[str, Placed] = field(default_factory=dict)
    _ended: dict[str, InstanceState] = field(default_factory=dict)

    def placed(self, home: InstanceDirectory) -> Placed:
        if home.id not in self._placed:
            self._placed[home.id] = _placed_of(home.instance())
        return self._placed[home.id]

    def ended_state(self, home: InstanceDirectory) -> InstanceState | None:
        """The last state of an ended instance; None while it has not ended."""
        if home.id in self._ended:
            return self._ended[home.id]
        ended = home.ended()
        if ended is None:
            return None
        placed = self.placed(home)
        self._ended[home.id] = InstanceState(
            instance=home.id,
            phase="terminated",
            tags=placed.tags,
            launched_at=utc(placed.launched_at_s),
            ended_at=utc(ended.at),
            reclaimed=ended.reclaimed,
            reason=ended.reason,
        )
        return self._ended[home.id]

    def state(self, home: InstanceDirectory, phase: InstancePhase) -> InstanceState:
        placed = self.placed(home)
        return InstanceState(home.id, phase, placed.tags, utc(placed.launched_at_s))

    def unended(self) -> Iterator[InstanceDirectory]:
        return (home for home in self.directory.homes() if self.ended_state(home) is None)

    def homes_of(self, installation: str) -> list[InstanceDirectory]:
        return [home for home in self.directory.homes() if self.placed(home).tags.installation == installation]

    def alive_in(self, pool: Pool) -> int:
        return sum(self.placed(home).pool == pool for home in self.unended())

    def spot_launches(self) -> list[str]:
        """The type of every spot instance ever launched."""
        pools = [self.placed(home).pool for home in self.directory.homes()]
        return [pool.instance_type for pool in pools if pool.market == "spot"]


def _placed_of(instance: dict[str, Any]) -> Placed:
    order = instance["order"]
    return Placed(
        pool=Pool.model_validate(order["pool"]),
        tags=Tags.model_validate(order["tags"]),
        launched_at_s=instance["launched_at"],
    )

"""A cloud in memory, with a ground truth of its own and answers that may be late, lost or wrong."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from orchestrator.control.clock import Clock
from orchestrator.model.launch import LaunchOrder
from orchestrator.model.pools import GIB, Hardware, Offer, Pool, Requirement
from orchestrator.sim.faults import Faults
from providers.base import Finding, InstancePhase, InstanceState, Launched, Notice, ProviderError

WINDOW_S = 30.0
BOOT_S = 5.0
SHUTDOWN_S = 3.0
GPU = Hardware(cpus=8, memory_bytes=64 * GIB, disk_bytes=100 * GIB, gpu_model="A100", gpus=1)
CPU = Hardware(cpus=2, memory_bytes=8 * GIB, disk_bytes=50 * GIB)


@dataclass
class Machine:
    """One instance as it truly is."""

    id: str
    order: LaunchOrder
    launched_at: datetime
    phase: InstancePhase = "pending"
    deadline: datetime | None = None
    ended_at: datetime | None = None
    reclaimed: bool = False
    reason: str = ""
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        return self.ended_at is None


class SimCloud:
    """The port `Cloud`, and the ledger that the invariants are checked against."""

    name = "sim"
    notice_window_s = WINDOW_S

    def __init__(self, clock: Clock, rng: random.Random, faults: Faults) -> None:
        self._clock, self._rng, self._faults = clock, rng, faults
        self.machines: dict[str, Machine] = {}
        self._by_token: dict[str, Machine] = {}
        self._stories: set[asyncio.Task[None]] = set()
        self.on_running: Callable[[Machine], list[asyncio.Task[None]]] = lambda _machine: []
        self.on_change: Callable[[Machine], None] = lambda _machine: None
        self.calm = False  # at rest nothing fails, so that what was begun can be seen to end

    def _hit(self, share: float) -> bool:
        return not self.calm and self._rng.random() < share

    async def _latency(self) -> None:
        await self._clock.sleep(self._rng.uniform(0.01, 0.5))

    # ------------------------------------------------------------ the port

    async def offers(self, want: Requirement) -> list[Offer]:
        await self._latency()
        return [offer for offer in _OFFERS if want.met_by(offer.hardware)]

    async def launch(self, order: LaunchOrder) -> Launched:
        await self._latency()
        if order.token not in self._by_token:
            self._refuse()
        if self._hit(self._faults.launch_answer_without_effect):
            raise ProviderError("unknown_outcome", "RequestTimeout", "no effect")
        machine = self._by_token.get(order.token) or self._make(order)
        if self._hit(self._faults.launch_effect_without_answer):
            raise ProviderError("unknown_outcome", "RequestTimeout", "the answer was lost")
        if not machine.alive:
            raise ProviderError("gone", "InvalidInstance.Gone", f"{machine.id} has ended")
        return Launched(machine.id, _price(order.pool), machine.launched_at)

    def _refuse(self) -> None:
        if self._hit(self._faults.launch_elsewhere):
            raise ProviderError("try_elsewhere", "InsufficientInstanceCapacity", "none here")
        if self._hit(self._faults.launch_later):
            raise ProviderError("try_later", "RequestLimitExceeded", "slow down")

    async def terminate(self, ids: Sequence[str]) -> None:
        await self._latency()
        if self._hit(self._faults.terminate_fails):
            raise ProviderError("unknown_outcome", "ServiceUnavailable", "try again")
        for machine in (self.machines[i] for i in ids if i in self.machines):
            if machine.alive and machine.phase != "stopping":
                machine.phase = "stopping"
                self._spawn(self._shut_down(machine))

    async def describe(self, ids: Sequence[str]) -> list[InstanceState]:
        await self._latency()
        if self._hit(self._faults.describe_fails):
            raise ProviderError("try_later", "RequestLimitExceeded", "slow down")
        return [_state(self.machines[i]) if i in self.machines else InstanceState(i, "unknown") for i in ids]

    async def list_owned(self, installation: str) -> list[InstanceState]:
        await self._latency()
        if self._hit(self._faults.list_fails):
            raise ProviderError("try_later", "RequestLimitExceeded", "slow down")
        found = [m for m in self.machines.values() if m.order.tags.installation == installation]
        return [_state(machine) for machine in found]

    async def notices(self) -> list[Notice]:
        return []

    async def acknowledge(self, notices: Sequence[Notice]) -> None:
        del notices

    async def preflight(self) -> list[Finding]:
        return []

    # ------------------------------------------------------------ what happens to machines

    def _make(self, order: LaunchOrder) -> Machine:
        machine = Machine(f"i-{len(self.machines) + 1:04d}", order, self._clock.now())
        self.machines[machine.id] = self._by_token[order.token] = machine
        self._spawn(self._live(machine))
        self.on_change(machine)
        return machine

    def _spawn(self, story: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(story)
        self._stories.add(task)
        task.add_done_callback(self._stories.discard)

    async def _live(self, machine: Machine) -> None:
        await self._clock.sleep(self._rng.uniform(1, BOOT_S))
        if not machine.alive or machine.phase == "stopping":
            return
        machine.phase = "running"
        machine.tasks = self.on_running(machine)
        if self._faults.life_s is not None and machine.order.pool.market == "spot":
            await self._reclaim_some_day(machine, self._faults.life_s)

    async def _reclaim_some_day(self, machine: Machine, life_s: float) -> None:
        while machine.alive:
            await self._clock.sleep(self._rng.expovariate(1 / life_s))
            if self.calm or not machine.alive:
                return
            if not self._hit(self._faults.unannounced) and await self._announce(machine):
                continue
            self._end(machine, reclaimed=True, reason="reclaimed")

    async def _announce(self, machine: Machine) -> bool:
        """Whether the notice was withdrawn in the end."""
        machine.deadline = self._clock.now() + timedelta(seconds=WINDOW_S)
        if self._hit(self._faults.withdrawn):
            await self._clock.sleep(self._rng.uniform(1, WINDOW_S - 1))
            machine.deadline = None
            return True
        await self._clock.sleep(WINDOW_S)
        return not machine.alive

    async def _shut_down(self, machine: Machine) -> None:
        await self._clock.sleep(self._rng.uniform(0.5, SHUTDOWN_S))
        self._end(machine, reclaimed=False, reason="terminated by user")

    def _end(self, machine: Machine, *, reclaimed: bool, reason: str) -> None:
        if not machine.alive:
            return
        machine.phase, machine.ended_at = "terminated", self._clock.now()
        machine.reclaimed, machine.reason = reclaimed, reason
        for task in machine.tasks:
            task.cancel()
        self.on_change(machine)


def _state(machine: Machine) -> InstanceState:
    return InstanceState(
        instance=machine.id,
        phase=machine.phase,
        tags=machine.order.tags,
        launched_at=machine.launched_at,
        ended_at=machine.ended_at,
        reclaimed=machine.reclaimed,
        reason=machine.reason,
    )


def _offer(zone: str, hardware: Hardware, market: str, usd: str) -> Offer:
    kind = "gpu" if hardware.gpus else "cpu"
    pool = {"provider": "sim", "region": "sim", "zone": zone, "instance_type": kind, "market": market}
    on_demand = Decimal("4.00") if hardware.gpus else Decimal("0.10")
    return Offer(
        pool=Pool.model_validate(pool),
        hardware=hardware,
        usd_per_hour=Decimal(usd),
        on_demand_usd_per_hour=on_demand,
    )


_OFFERS = [
    *(_offer(zone, GPU, "spot", usd) for zone, usd in (("a", "1.30"), ("b", "1.40"), ("c", "1.50"))),
    *(_offer(zone, CPU, "spot", "0.03") for zone in ("a", "b")),
    _offer("a", GPU, "on-demand", "4.00"),
    _offer("a", CPU, "on-demand", "0.10"),
]


def _price(pool: Pool) -> Decimal:
    return next(offer.usd_per_hour for offer in _OFFERS if offer.pool == pool)

"""An agent that speaks the protocol over a lossy line, with a trainer that counts.

It uses the real log over a store that fails now and then; what it holds on its "disk" outlives its death.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from orchestrator.checkpoint import Fenced, History, StageLog, stage_prefix
from orchestrator.control.clock import Clock
from orchestrator.control.desk import Desk, Forbidden, NotKnownYet
from orchestrator.model.wire import (
    Committed,
    Exit,
    NoticeHeard,
    Orders,
    PreprocessTask,
    Report,
    Run,
    ShardReport,
    Standby,
    TrainTask,
    Work,
)
from orchestrator.objectstore import ObjectStore, Unavailable
from orchestrator.sim.cloud import Machine
from orchestrator.sim.faults import Faults
from orchestrator.sim.truth import Truth

T = TypeVar("T")
TOTAL_STEPS = 60
SAVE_EVERY = 5
STEP_S = 2.0
SHARD_S = 8.0


@dataclass
class World:
    """What every agent shares. `desk` is None while the control node is down."""

    clock: Clock
    rng: random.Random
    faults: Faults
    store: ObjectStore
    truth: Truth
    desk: Desk | None = None


@dataclass
class Disk:
    """What outlives the agent on its machine."""

    owner: str
    seq: int = 0
    starts: int = 0


@dataclass
class Agent:
    """One life of an agent process."""

    world: World
    machine: Machine
    disk: Disk
    orders: Orders | None = None
    phase: str = "idle"
    shown: dict[str, object] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def live(self) -> None:
        """Until cancelled: listen for orders, report, and do what was ordered."""
        self.disk.starts += 1
        try:
            await asyncio.gather(self._listen(), self._tell(), self._work())
        finally:
            self.world.truth.trainer_ended(self.machine.id)

    # ------------------------------------------------------------ speaking

    def _report(self) -> Report:
        self.disk.seq += 1
        tags = self.machine.order.tags
        return Report.model_validate(
            {
                "intent": tags.intent,
                "owner": self.disk.owner,
                "seq": self.disk.seq,
                "revision": self.orders.revision if self.orders else 0,
                "phase": self.phase,
                "restarts": self.disk.starts - 1,
                "notice": self._notice(),
                "attempt": tags.attempt,
                **self.shown,
            }
        )

    def _notice(self) -> NoticeHeard | None:
        deadline = self.machine.deadline
        if deadline is None:
            return None
        left_s = (deadline - self.world.clock.now()).total_seconds()
        return NoticeHeard(source="sim", left_s=left_s)

    async def _sync(self, wait_s: float) -> None:
        world, desk = self.world, self.world.desk
        await world.clock.sleep(world.rng.uniform(0.005, 0.05))
        if desk is None or world.rng.random() < world.faults.sync_lost:
            await world.clock.sleep(1.0)
            return
        token = self.machine.order.recipe.bootstrap_token
        try:
            orders = await desk.sync(self._report(), token, wait_s)
        except (NotKnownYet, Forbidden):
            await world.clock.sleep(0.5)
            return
        if world.rng.random() >= world.faults.sync_answer_lost:
            self._obey(orders)

    def _obey(self, orders: Orders) -> None:
        known = self.orders
        if known is None or (orders.term, orders.revision) > (known.term, known.revision):
            self.orders = orders
            self.changed.set()

    async def _listen(self) -> None:
        while True:
            await self._sync(wait_s=10.0)

    async def _tell(self) -> None:
        while True:
            await self._sync(wait_s=0.0)
            await self.world.clock.sleep(3.0)

    async def _show(self, phase: str, **shown: object) -> None:
        """A change that control must hear of soon."""
        self.phase = phase
        self.shown.update(shown)
        await self._sync(wait_s=0.0)

    # ------------------------------------------------------------ working

    async def _work(self) -> None:
        while True:
            self.changed.clear()
            desired = self.orders.desired if self.orders else None
            if isinstance(desired, Standby):
                await self._show("standby")
            elif isinstance(desired, Run) and self.phase not in ("final", "blocked"):
                await self._run(desired.task)
            elif isinstance(desired, Work):
                await self._shards(desired.task)
            await self.changed.wait()

    def _may_go_on(self, task: TrainTask) -> bool:
        desired = self.orders.desired if self.orders else None
        return isinstance(desired, Run) and desired.task.attempt == task.attempt

    async def _run(self, task: TrainTask) -> None:
        nonces = iter(range(10**9))
        log = StageLog(
            self.world.store,
            stage_prefix(task.job, "train"),
            task.epoch,
            self.disk.owner,
            lambda: f"{self.disk.owner}-{self.disk.starts}-{next(nonces)}",
        )
        try:
            history: History = await self._insist(log.open)
            base = await self._restore(log, history)
            await self._train(task, log, base)
        except Fenced:
            self.world.truth.trainer_ended(self.machine.id)
            await self._show("blocked", block="fenced", trouble="a higher epoch owns the log")

    async def _restore(self, log: StageLog, history: History) -> int | None:
        newest = history.newest
        if newest is None:
            return None
        await self._insist(lambda: log.append_base(newest.seq))
        self.world.truth.restored(self.machine.id, newest.step)
        return newest.step

    async def _train(self, task: TrainTask, log: StageLog, base: int | None) -> None:
        world, step = self.world, base or 0
        world.truth.trainer_began(self.machine.id)
        await self._show("running", base_step=base, step=step, total_steps=TOTAL_STEPS)
        while self._may_go_on(task) and step < TOTAL_STEPS:
            if self.machine.deadline is not None:
                await self._stop(log, step)
                return
            await world.clock.sleep(STEP_S)
            step += 1
            self.shown["step"] = step
            if step % SAVE_EVERY == 0:
                await self._commit(log, step)
        world.truth.trainer_ended(self.machine.id)
        if step == TOTAL_STEPS:
            await self._insist(lambda: log.append_complete(0, ()))
            await self._show("final", exit=Exit(kind="succeeded", code=0))

    async def _stop(self, log: StageLog, step: int) -> None:
        await self._show("stopping")
        self.world.truth.trainer_ended(self.machine.id)
        await self._commit(log, step)
        await self._show("final", exit=Exit(kind="interrupted", code=0))

    async def _commit(self, log: StageLog, step: int) -> None:
        seq = await self._insist(lambda: log.append_checkpoint(step, ()))
        self.world.truth.committed(self.machine.id, step)
        self.shown["committed"] = Committed(seq=seq, step=step)

    async def _insist(self, call: Callable[[], T]) -> T:
        """A store that fails is waited for."""
        while True:
            try:
                return call()
            except Unavailable:
                await self.world.clock.sleep(self.world.rng.uniform(0.2, 1.0))

    async def _shards(self, task: PreprocessTask) -> None:
        reports: list[ShardReport] = []
        for lease in task.leases:
            await self.world.clock.sleep(SHARD_S)
            report = ShardReport(number=lease.number, lease=lease.lease, state="committed")
            reports.append(report)
        if reports:
            await self._show("running", shards=tuple(reports))

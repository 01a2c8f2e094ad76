"""The loop that makes the world match: wakes, rounds of looking, and the resync that forgets nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from orchestrator.control.market import MarketWatch
from orchestrator.control.office import Office
from orchestrator.control.ports import Ports
from orchestrator.control.settle import Settler
from orchestrator.control.sweep import Sweep
from orchestrator.control.watch import Watch
from orchestrator.control.wellness import Wellness
from orchestrator.store import intents, jobs

AFTER_A_FAULT_S = 1.0


class Control:
    """The running control room. `office` is what the API speaks to."""

    def __init__(self, ports: Ports) -> None:
        self.office = Office(ports)
        self._ports = ports
        wellness = Wellness(ports.log)
        self.market = MarketWatch(self.office, wellness)
        self._settler = Settler(self.office)
        self._watch = Watch(self.office, wellness)
        self._sweep = Sweep(self.office, wellness)
        self.turned_at: datetime = ports.clock.now()
        self.office.on_intent = self._settler.begin
        self.office.on_condemned = self._watch.condemned
        self.office.on_market_wanted = self.market.want

    async def run(self) -> None:
        """Until cancelled. Instances are left running: whoever starts next finds them again."""
        async with asyncio.TaskGroup() as rooms:
            for turn in (self._decide_next, self._watch.look, self._watch.hear, self._sweep_now, self.resync):
                rooms.create_task(self._for_ever(turn), name=turn.__qualname__)

    async def _for_ever(self, turn: Callable[[], Awaitable[None]]) -> None:
        """One fault of ours, or of a full disk, must not end the loop; it is logged with its traceback."""
        while True:
            try:
                await turn()
            except Exception:
                self._ports.log.exception("control.turn_failed", turn=turn.__qualname__)
                await self._ports.clock.sleep(AFTER_A_FAULT_S)

    async def _decide_next(self) -> None:
        job_id = await self.office.next_woken()
        try:
            await self.office.change(job_id)
        except Exception:
            self.office.wake(job_id)
            raise

    async def _sweep_now(self) -> None:
        await self._sweep.round()
        await self._ports.clock.sleep(self._ports.rules.sweep_s)

    async def resync(self) -> None:
        """Wake every live job and take up every open launch; at the start, this is the whole recovery."""
        for intent in await self._ports.db.read(intents.open_intents):
            self._settler.resume(intent)
        for job_id in await self._ports.db.read(jobs.live_job_ids):
            self.office.wake(job_id)
        self.turned_at = self._ports.clock.now()
        await self._ports.clock.sleep(self._ports.rules.resync_s)

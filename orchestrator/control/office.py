"""The one door through which anything changes: a change, the decision on it, and what follows.

Whoever learns something (a report, a provider's word, a user's wish) calls `change`. It writes and
decides in one transaction, then wakes those whom the outcome concerns. Nothing here is truth: after a
crash, the rows say what was to be done.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from orchestrator.control.bells import Bells
from orchestrator.control.ports import Ports
from orchestrator.control.record import Change, Recorded, Surroundings, nothing, record
from orchestrator.model.events import Event
from orchestrator.model.jobs import Instance, Intent
from orchestrator.model.pools import Offer

ALL_JOBS = "*"  # the bell of those who follow every job


class Office:
    """Holds the ports, the last look at the market, and the hooks that act on what was written."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.bells = Bells()
        self.offers: tuple[Offer, ...] = ()
        self.offers_at: datetime | None = None
        self.heard_since = ports.clock.now()
        self.on_intent: Callable[[Intent], None] = lambda _intent: None
        self.on_condemned: Callable[[], None] = lambda: None
        self.on_market_wanted: Callable[[str], None] = lambda _job: None
        self._woken: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._timers: dict[str, tuple[datetime, asyncio.TimerHandle]] = {}

    # ------------------------------------------------------------ changing

    async def change(self, job_id: str, change: Change = nothing) -> Recorded | None:
        """Write the change and the decision on it. None: no such job. Raises StoreUnavailable."""
        around = self._surroundings()
        recorded = await self.ports.db.write(lambda conn: record(conn, job_id, change, around))
        if recorded is not None:
            self._follow(job_id, recorded)
        return recorded

    def _surroundings(self) -> Surroundings:
        ports = self.ports
        return Surroundings(
            now=ports.clock.now(),
            heard_since=self.heard_since,
            offers=self.offers,
            fetched_at=self.offers_at,
            rules=ports.rules,
            house=ports.house,
        )

    def _follow(self, job_id: str, recorded: Recorded) -> None:
        self.announce(job_id, recorded.events)
        decision = recorded.decision
        for row in decision.rows:
            if isinstance(row, Intent) and row.state == "open":
                self.on_intent(row)
        if any(isinstance(row, Instance) and row.terminate_at for row in decision.rows):
            self.on_condemned()
        if decision.wants_market:
            self.on_market_wanted(job_id)
        if decision.wake_at is not None:
            self._wake_at(job_id, decision.wake_at)

    def announce(self, job_id: str, events: tuple[Event, ...]) -> None:
        """Log what happened, and wake those who wait for it."""
        for event in events:
            log_event(self.ports.log, event)
        self.bells.ring(job_id)
        if events:
            self.bells.ring(ALL_JOBS)

    # ------------------------------------------------------------ waking

    def wake(self, job_id: str) -> None:
        """Have the job decided anew, soon. Many wakes before that are one."""
        if job_id not in self._waiting:
            self._waiting.add(job_id)
            self._woken.put_nowait(job_id)

    async def next_woken(self) -> str:
        job_id = await self._woken.get()
        self._waiting.discard(job_id)
        return job_id

    def _wake_at(self, job_id: str, moment: datetime) -> None:
        """One timer a job, at the earliest moment that any decision named."""
        known = self._timers.get(job_id)
        if known is not None and known[0] <= moment:
            return
        if known is not None:
            known[1].cancel()
        left_s = max(0.0, (moment - self.ports.clock.now()).total_seconds())
        handle = asyncio.get_running_loop().call_later(left_s + 0.001, self._ring_timer, job_id)
        self._timers[job_id] = (moment, handle)

    def _ring_timer(self, job_id: str) -> None:
        del self._timers[job_id]
        self.wake(job_id)


def log_event(log: object, event: Event) -> None:
    """An event as a log line: the same name, keys and sentence."""
    keys = {
        name: value
        for name in ("job", "stage", "attempt", "epoch", "instance", "pool")
        if (value := getattr(event, name)) is not None
    }
    alarm = bool(event.data.get("alarm"))
    data = {name: value for name, value in event.data.items() if name != "alarm" and name not in keys}
    write = log.warning if alarm else log.info  # type: ignore[attr-defined]
    write(event.name, **keys, reason=event.reason, **data)

"""The time port: a steady UTC clock, and sleep. Under the simulation's loop both are virtual."""

import asyncio
from datetime import datetime, timedelta


class Clock:
    """UTC as of the start plus what the loop's monotonic clock has counted since: it never jumps.

    Moments of it may be stored and compared; a wall clock that is set while we run moves nothing.
    """

    def __init__(self, started_at: datetime, loop: asyncio.AbstractEventLoop) -> None:
        self.started_at = started_at
        self._loop = loop
        self._began_s = loop.time()

    def now(self) -> datetime:
        """The steady UTC time, aware."""
        return self.started_at + timedelta(seconds=self._loop.time() - self._began_s)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    async def sleep_until(self, moment: datetime) -> None:
        await self.sleep((moment - self.now()).total_seconds())

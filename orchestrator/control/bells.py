"""Waking whoever is parked on a job: agents that wait for orders, people who follow events."""

import asyncio


class Bells:
    """One bell a job. Ringing wakes those who wait now; it carries no truth."""

    def __init__(self) -> None:
        self._bells: dict[str, asyncio.Event] = {}

    def ring(self, job: str) -> None:
        bell = self._bells.pop(job, None)
        if bell is not None:
            bell.set()

    def bell(self, job: str) -> asyncio.Event:
        """Take it before reading the state that is waited on, so that no ring falls between."""
        return self._bells.setdefault(job, asyncio.Event())


async def wait(bell: asyncio.Event, seconds: float) -> bool:
    """Whether it rang within `seconds`."""
    if seconds <= 0:
        return False
    try:
        await asyncio.wait_for(bell.wait(), seconds)
    except TimeoutError:
        return False
    return True

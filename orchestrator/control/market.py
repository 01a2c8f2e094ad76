"""Keeping the last look at what the providers offer."""

import asyncio

from orchestrator.control.office import Office
from orchestrator.control.wellness import Wellness
from orchestrator.model.pools import Offer, Requirement
from providers.base import ProviderError

ANYTHING = Requirement(cpus=0)
ANY_GPU = Requirement(cpus=0, gpus=1)


class MarketWatch:
    """One refresh at a time, however many jobs want it."""

    def __init__(self, office: Office, wellness: Wellness) -> None:
        self._office, self._wellness = office, wellness
        self._wanted_by: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def want(self, job: str) -> None:
        """Refresh the offers, then have this job decided anew."""
        self._wanted_by.add(job)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._refresh_for_all(), name="market refresh")

    async def _refresh_for_all(self) -> None:
        await self.refresh()
        wanted, self._wanted_by = self._wanted_by, set()
        for job in wanted:
            self._office.wake(job)

    async def refresh(self) -> None:
        """Ask every provider. One that fails offers nothing this time; the others are unaffected."""
        clouds = list(self._office.ports.clouds)
        found = await asyncio.gather(*(self._offers(name) for name in clouds))
        self._office.offers = tuple(offer for offers in found for offer in offers)
        self._office.offers_at = self._office.ports.clock.now()

    async def _offers(self, name: str) -> list[Offer]:
        cloud = self._office.ports.clouds[name]
        try:
            offers = [*await cloud.offers(ANYTHING), *await cloud.offers(ANY_GPU)]
        except ProviderError as error:
            self._wellness.failed(name, "offers", error)
            return []
        self._wellness.answered(name, "offers")
        return list({offer.pool: offer for offer in offers}.values())

"""A provider as control sees it: the same calls, awaited, each with a deadline."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from orchestrator.model.launch import LaunchOrder
from orchestrator.model.pools import Offer, Requirement
from providers.base import Finding, InstanceState, Launched, Notice, Provider, ProviderError

T = TypeVar("T")


class Cloud(Protocol):
    """The port. Each call may raise ProviderError."""

    name: str
    notice_window_s: float

    async def offers(self, want: Requirement) -> list[Offer]: ...
    async def launch(self, order: LaunchOrder) -> Launched: ...
    async def terminate(self, ids: Sequence[str]) -> None: ...
    async def describe(self, ids: Sequence[str]) -> list[InstanceState]: ...
    async def list_owned(self, installation: str) -> list[InstanceState]: ...
    async def notices(self) -> list[Notice]: ...
    async def acknowledge(self, notices: Sequence[Notice]) -> None: ...
    async def preflight(self) -> list[Finding]: ...


class ThreadedCloud:
    """A blocking provider in a bounded pool of threads.

    A call that misses its deadline may still have its effect: that is `unknown_outcome`. An error that
    no provider should raise is one too, and keeps its cause.
    """

    def __init__(self, provider: Provider, deadline_s: float = 60.0, threads: int = 8) -> None:
        self.name = provider.name
        self.notice_window_s = provider.notice_window_s
        self._provider, self._deadline_s = provider, deadline_s
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"cloud-{provider.name}")

    async def _call(self, call: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(loop.run_in_executor(self._pool, call), self._deadline_s)
        except TimeoutError:
            message = f"{self.name} did not answer within {self._deadline_s:.0f} s"
            raise ProviderError("unknown_outcome", "DeadlineExceeded", message) from None
        except ProviderError:
            raise
        except Exception as bug:
            raise ProviderError("unknown_outcome", type(bug).__name__, str(bug)) from bug

    async def offers(self, want: Requirement) -> list[Offer]:
        return await self._call(lambda: self._provider.offers(want))

    async def launch(self, order: LaunchOrder) -> Launched:
        return await self._call(lambda: self._provider.launch(order))

    async def terminate(self, ids: Sequence[str]) -> None:
        await self._call(lambda: self._provider.terminate(ids))

    async def describe(self, ids: Sequence[str]) -> list[InstanceState]:
        return await self._call(lambda: self._provider.describe(ids))

    async def list_owned(self, installation: str) -> list[InstanceState]:
        return await self._call(lambda: self._provider.list_owned(installation))

    async def notices(self) -> list[Notice]:
        return await self._call(self._provider.notices)

    async def acknowledge(self, notices: Sequence[Notice]) -> None:
        await self._call(lambda: self._provider.acknowledge(notices))

    async def preflight(self) -> list[Finding]:
        return await self._call(self._provider.preflight)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

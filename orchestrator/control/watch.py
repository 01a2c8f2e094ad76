"""Watching what is alive: the provider's word on each instance, its notices, the end of the condemned."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from orchestrator.control.office import Office
from orchestrator.control.reports import notice_event
from orchestrator.control.settle import with_state
from orchestrator.control.wellness import Wellness
from orchestrator.model.events import Event
from orchestrator.model.jobs import Instance, NoticeSeen
from orchestrator.store import instances
from providers.base import InstanceState, Notice, ProviderError


class Watch:
    """Polls. The condemned are looked at often, the others now and then."""

    def __init__(self, office: Office, wellness: Wellness) -> None:
        self._office, self._ports, self._wellness = office, office.ports, wellness
        self._asked_at: dict[str, datetime] = {}
        self._described_at: datetime | None = None
        self._condemned = asyncio.Event()

    def condemned(self) -> None:
        """Something is to be terminated: do not wait for the next round."""
        self._condemned.set()

    async def look(self) -> None:
        """One round, then a pause that a condemnation cuts short."""
        alive = await self._ports.db.read(instances.alive_instances)
        condemned = [instance for instance in alive if instance.terminate_at is not None]
        await self._terminate(condemned)
        everyone = self._is_due()
        await self._describe(alive if everyone else condemned)
        self._asked_at = {i.id: self._asked_at[i.id] for i in alive if i.id in self._asked_at}
        await self._pause()

    def _is_due(self) -> bool:
        now, every_s = self._ports.clock.now(), self._ports.rules.describe_poll_s
        due = self._described_at is None or now - self._described_at >= timedelta(seconds=every_s)
        if due:
            self._described_at = now
        return due

    async def _pause(self) -> None:
        rules = self._ports.rules
        pause_s = min(rules.condemned_poll_s, rules.describe_poll_s)
        try:
            await asyncio.wait_for(self._condemned.wait(), pause_s)
        except TimeoutError:
            return
        self._condemned.clear()

    # ------------------------------------------------------------ terminating

    async def _terminate(self, condemned: Sequence[Instance]) -> None:
        due = [instance for instance in condemned if self._may_ask(instance)]
        for name, found in _by_provider(due).items():
            await self._ask_to_terminate(name, [instance.id for instance in found])

    def _may_ask(self, instance: Instance) -> bool:
        if not is_due(instance, self._ports.clock.now()):
            return False
        asked_at = self._asked_at.get(instance.id)
        repeat = timedelta(seconds=self._ports.rules.terminate_repeat_s)
        return asked_at is None or self._ports.clock.now() - asked_at >= repeat

    async def _ask_to_terminate(self, name: str, ids: list[str]) -> None:
        cloud = self._ports.clouds.get(name)
        if cloud is None:
            return
        try:
            await cloud.terminate(ids)
        except ProviderError as error:
            self._wellness.failed(name, "terminate", error)
            return
        self._wellness.answered(name, "terminate")
        self._asked_at.update(dict.fromkeys(ids, self._ports.clock.now()))

    # ------------------------------------------------------------ describing

    async def _describe(self, asked: Sequence[Instance]) -> None:
        for name, found in _by_provider(asked).items():
            for state in await self._states(name, [instance.id for instance in found]):
                await self._take_in(next(i for i in found if i.id == state.instance), state)

    async def _states(self, name: str, ids: list[str]) -> Sequence[InstanceState]:
        cloud = self._ports.clouds.get(name)
        if cloud is None:
            return ()
        try:
            states = await cloud.describe(ids)
        except ProviderError as error:
            self._wellness.failed(name, "describe", error)
            return ()
        self._wellness.answered(name, "describe")
        return [state for state in states if state.instance in ids]

    async def _take_in(self, instance: Instance, state: InstanceState) -> None:
        if state.phase in (instance.phase, "unknown"):
            return
        await self._office.change(instance.job, state_change(instance.id, state, self._ports.clock.now()))

    # ------------------------------------------------------------ notices

    async def hear(self) -> None:
        """One round of the providers' own notices, acknowledged once they are written."""
        for name, cloud in self._ports.clouds.items():
            try:
                notices = await cloud.notices()
                await self._write_notices(notices)
                if notices:
                    await cloud.acknowledge(notices)
            except ProviderError as error:
                self._wellness.failed(name, "notices", error)
            else:
                self._wellness.answered(name, "notices")
        await self._ports.clock.sleep(self._ports.rules.notices_poll_s)

    async def _write_notices(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            found = await self._ports.db.read(_getter(notice.instance))
            if found is not None and found.alive:
                change = notice_change(notice, self._ports.clock.now())
                await self._office.change(found.job, change)


def _getter(instance: str) -> Callable[[Connection], Instance | None]:
    return lambda conn: instances.get_instance(conn, instance)


def _by_provider(asked: Sequence[Instance]) -> dict[str, list[Instance]]:
    found: dict[str, list[Instance]] = defaultdict(list)
    for instance in asked:
        found[instance.pool.provider].append(instance)
    return found


def is_due(instance: Instance, now: datetime) -> bool:
    """Whether the provider is to be asked for its end: the grace is over, or its agent has left before."""
    if instance.terminate_at is None:
        return False
    report = instance.report
    has_left = report is not None and report.revision >= instance.revision and report.phase == "idle"
    return has_left or now >= instance.terminate_at


def state_change(instance_id: str, state: InstanceState, now: datetime) -> Callable[[Connection], Sequence[Event]]:
    """The provider's word on an instance, as a change."""

    def write(conn: Connection) -> Sequence[Event]:
        instance = instances.get_instance(conn, instance_id)
        if instance is None or not instance.alive or instance.phase == state.phase:
            return ()
        instances.put_instance(conn, with_state(instance, state, now))
        return _phase_events(instance, state)

    return write


def _phase_events(instance: Instance, state: InstanceState) -> Sequence[Event]:
    if state.phase != "terminated":
        return ()
    why = state.reason or "no reason given"
    return (
        Event(
            name="instance.ended",
            reason=f"Instance {instance.id} is gone, the provider says: {why}.",
            job=instance.job,
            stage=instance.stage,
            attempt=instance.attempt,
            instance=instance.id,
            pool=str(instance.pool),
            data={"reclaimed": state.reclaimed},
        ),
    )


def notice_change(notice: Notice, now: datetime) -> Callable[[Connection], Sequence[Event]]:
    """A notice that came through the provider's own channel; one heard already changes nothing."""

    def write(conn: Connection) -> Sequence[Event]:
        instance = instances.get_instance(conn, notice.instance)
        if instance is None or not instance.alive or instance.notice is not None:
            return ()
        seen = NoticeSeen("provider", now, now + timedelta(seconds=notice.left_s))
        instance = replace(instance, notice=seen, revision=instance.revision + 1)
        instances.put_instance(conn, instance)
        return (notice_event(instance, notice.left_s),)

    return write

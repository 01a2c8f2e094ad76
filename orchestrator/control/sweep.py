"""Looking for orphans: instances that bear our tag and that no live attempt owns.

The cloud is listed first, then our own state is read: what is launched in between is in the state and
not in the list, and so is never taken for an orphan. The young are spared; other installations unseen.
"""

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import Connection

from orchestrator.control.cloud import Cloud
from orchestrator.control.office import Office, log_event
from orchestrator.control.wellness import Wellness
from orchestrator.model.events import Event
from orchestrator.model.jobs import Instance, Intent
from orchestrator.store import instances, intents
from providers.base import InstanceState, ProviderError

Known = tuple[Instance | None, Intent | None]


class Sweep:
    """One round over every provider."""

    def __init__(self, office: Office, wellness: Wellness) -> None:
        self._office, self._ports, self._wellness = office, office.ports, wellness
        self._strangers: set[str] = set()

    async def round(self) -> None:
        for name, cloud in self._ports.clouds.items():
            try:
                owned = await cloud.list_owned(self._ports.house.installation)
            except ProviderError as error:
                self._wellness.failed(name, "list_owned", error)
                continue
            self._wellness.answered(name, "list_owned")
            for state in owned:
                if state.phase not in ("terminated", "stopping"):
                    await self._look_at(cloud, state)

    async def _look_at(self, cloud: Cloud, state: InstanceState) -> None:
        if state.tags is None or state.tags.installation != self._ports.house.installation:
            return
        instance, intent = await self._ports.db.read(_lookup(state))
        if instance is not None and instance.alive:
            return
        if intent is None:
            self._stranger(state)
        elif intent.state != "open" and not self._is_young(state):
            await self._end(cloud, state)

    def _is_young(self, state: InstanceState) -> bool:
        if state.launched_at is None:
            return False
        age = self._ports.clock.now() - state.launched_at
        return age < timedelta(seconds=self._ports.rules.spare_young_s)

    async def _end(self, cloud: Cloud, state: InstanceState) -> None:
        sentence = f"Instance {state.instance} bears our tag and no attempt owns it: it is ended."
        log_event(self._ports.log, _event("sweep.orphan_ended", sentence, state))
        try:
            await cloud.terminate([state.instance])
        except ProviderError as error:
            self._wellness.failed(cloud.name, "terminate", error)

    def _stranger(self, state: InstanceState) -> None:
        """Our tag on a launch that our state does not know: a restored backup? A person decides."""
        if state.instance in self._strangers:
            return
        self._strangers.add(state.instance)
        sentence = (
            f"Instance {state.instance} bears our tag, but our state knows nothing of its launch; it is "
            "left alone. If no backup was restored, end it at the provider."
        )
        log_event(self._ports.log, _event("sweep.stranger", sentence, state))


def _lookup(state: InstanceState) -> Callable[[Connection], Known]:
    assert state.tags is not None
    intent_id = state.tags.intent

    def read(conn: Connection) -> Known:
        return instances.get_instance(conn, state.instance), intents.get_intent(conn, intent_id)

    return read


def _event(name: str, reason: str, state: InstanceState) -> Event:
    tags = state.tags
    assert tags is not None
    return Event(
        name=name,
        reason=reason,
        job=tags.job,
        stage=tags.stage,
        attempt=tags.attempt,
        instance=state.instance,
        data={"alarm": True},
    )

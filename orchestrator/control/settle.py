"""From an open intent to an instance, or to the certainty that there is none.

The order in the intent goes out byte for byte, again and again, until the provider has said what came of
it. An intent that nobody needs any more, or that has grown old, is settled by its tag.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import Connection

from orchestrator.control.cloud import Cloud
from orchestrator.control.office import Office
from orchestrator.model.events import Event
from orchestrator.model.jobs import Cooldown, Instance, Intent
from orchestrator.store import attempts, cooldowns, instances, intents, jobs
from providers.base import InstanceState, Launched, ProviderError

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 15.0
QUOTA_FACTOR = 5  # an exhausted allowance frees more slowly than a pool does


class Settler:
    """One task an open intent."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._ports = office.ports
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, intent: Intent) -> None:
        """Settle an intent that was just written and never sent."""
        self._start(intent, sent=False)

    def resume(self, intent: Intent) -> None:
        """Settle one that was found open: it may have been sent before."""
        self._start(intent, sent=True)

    def _start(self, intent: Intent, *, sent: bool) -> None:
        if intent.id in self._tasks:
            return
        task = asyncio.create_task(self._settle(intent, sent), name=f"settle {intent.id}")
        self._tasks[intent.id] = task
        task.add_done_callback(lambda done: self._ended(intent, done))

    def _ended(self, intent: Intent, task: asyncio.Task[None]) -> None:
        del self._tasks[intent.id]
        if not task.cancelled() and task.exception() is not None:
            # The intent stays open: the next resync begins again.
            self._ports.log.error("launch.settle_failed", intent=intent.id, exc_info=task.exception())

    async def _settle(self, intent: Intent, sent: bool) -> None:
        pause_s = FIRST_PAUSE_S
        while await self._is_open(intent):
            if not await self._is_needed(intent):
                await (self._resolve(intent) if sent else self._close(intent, "not needed any more"))
                return
            if self._is_aged(intent):
                await self._resolve(intent)
                return
            sent = True
            if await self._try(intent):
                return
            await self._ports.clock.sleep(pause_s * self._ports.random.uniform(0.5, 1.0))
            pause_s = min(LONGEST_PAUSE_S, pause_s * 2)

    async def _is_open(self, intent: Intent) -> bool:
        known = await self._ports.db.read(lambda conn: intents.get_intent(conn, intent.id))
        return known is not None and known.state == "open"

    async def _is_needed(self, intent: Intent) -> bool:
        def live(conn: Connection) -> bool:
            job = jobs.get_job(conn, intent.job)
            found = [a for a in attempts.attempts_of(conn, intent.job) if a.number == intent.attempt]
            mine = [a for a in found if a.stage == intent.stage]
            return job is not None and not job.cancel_requested and any(a.live for a in mine)

        return await self._ports.db.read(live)

    def _is_aged(self, intent: Intent) -> bool:
        age = self._ports.clock.now() - intent.created_at
        return age > timedelta(seconds=self._ports.rules.intent_max_age_s)

    # ------------------------------------------------------------ asking

    async def _try(self, intent: Intent) -> bool:
        """Send the order once. Whether its outcome is known now."""
        try:
            launched = await self._cloud(intent).launch(intent.order)
        except ProviderError as error:
            return await self._answer(intent, error)
        await self._launched(intent, launched)
        return True

    def _cloud(self, intent: Intent) -> Cloud:
        """The daemon does not start without the providers of its open intents."""
        return self._ports.clouds[intent.order.pool.provider]

    async def _answer(self, intent: Intent, error: ProviderError) -> bool:
        if error.outcome in ("unknown_outcome", "try_later"):
            self._ports.log.warning(
                "launch.retried", job=intent.job, intent=intent.id, outcome=error.outcome, reason=str(error)
            )
            return False
        if error.outcome == "gone":
            await self._resolve(intent)
        else:
            await self._refused(intent, error)
        return True

    async def _launched(self, intent: Intent, launched: Launched) -> None:
        instance = self._instance(intent, launched)

        def write(conn: Connection) -> Sequence[Event]:
            intents.put_intent(conn, replace(intent, state="launched"))
            if instances.get_instance(conn, instance.id) is not None:
                return ()
            instances.put_instance(conn, instance)
            return (_launched_event(instance),)

        await self._office.change(intent.job, write)

    def _instance(self, intent: Intent, launched: Launched) -> Instance:
        return Instance(
            id=launched.instance,
            intent=intent.id,
            job=intent.job,
            stage=intent.stage,
            attempt=intent.attempt,
            rank=intent.rank,
            pool=intent.order.pool,
            usd_per_hour=launched.usd_per_hour,
            on_demand_usd_per_hour=self._on_demand_price(intent, launched.usd_per_hour),
            phase="pending",
            launched_at=launched.launched_at,
        )

    def _on_demand_price(self, intent: Intent, otherwise: Decimal) -> Decimal:
        found = [o for o in self._office.offers if o.pool == intent.order.pool]
        return found[0].on_demand_usd_per_hour if found else intent.order.bid_usd_per_hour or otherwise

    async def _refused(self, intent: Intent, error: ProviderError) -> None:
        rules, now = self._ports.rules, self._ports.clock.now()

        def write(conn: Connection) -> Sequence[Event]:
            intents.put_intent(conn, replace(intent, state="closed", reason=str(error)))
            if error.outcome == "refused":
                return self._call_person(conn, intent, error)
            factor = QUOTA_FACTOR if error.outcome == "quota" else 1
            until = now + timedelta(seconds=rules.cooldown_s * factor)
            cooldowns.put_cooldown(conn, Cooldown(intent.order.pool, until, str(error)))
            sentence = f"{intent.order.pool} has none now ({error.code}): another pool is tried."
            return (_intent_event("launch.no_stock", sentence, intent, code=error.code),)

        await self._office.change(intent.job, write)

    def _call_person(self, conn: Connection, intent: Intent, error: ProviderError) -> Sequence[Event]:
        until = self._ports.clock.now() + timedelta(seconds=self._ports.rules.refused_backoff_s)
        for stage in jobs.stages_of(conn, intent.job):
            if stage.name == intent.stage:
                jobs.put_stage(conn, replace(stage, not_before=until))
        sentence = f"The provider refused the launch, a person must act: {error.message}"
        return (_intent_event("launch.refused", sentence, intent, code=error.code, alarm=True),)

    # ------------------------------------------------------------ settling by the tag

    async def _resolve(self, intent: Intent) -> None:
        """Look for the instance by its tag, twice where it is not seen; adopt it or be sure it is not."""
        found = await self._find(intent)
        if found is None:
            await self._ports.clock.sleep(self._ports.rules.consistency_delay_s)
            found = await self._find(intent)
        if found is None:
            await self._close(intent, "the provider shows no instance of this launch")
        else:
            await self._adopt(intent, found)

    async def _find(self, intent: Intent) -> InstanceState | None:
        """What the provider lists under this intent's tag. A list that fails is asked for again."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                listed = await self._cloud(intent).list_owned(self._ports.house.installation)
                return next((s for s in listed if s.tags and s.tags.intent == intent.id), None)
            except ProviderError as error:
                self._ports.log.warning("launch.list_retried", intent=intent.id, reason=str(error))
                await self._ports.clock.sleep(pause_s * self._ports.random.uniform(0.5, 1.0))
                pause_s = min(LONGEST_PAUSE_S, pause_s * 2)

    async def _adopt(self, intent: Intent, state: InstanceState) -> None:
        price = self._listed_price(intent)
        launched_at = state.launched_at or intent.created_at
        instance = self._instance(intent, Launched(state.instance, price, launched_at))
        instance = with_state(instance, state, self._ports.clock.now())

        def write(conn: Connection) -> Sequence[Event]:
            intents.put_intent(conn, replace(intent, state="launched"))
            instances.put_instance(conn, instance)
            return (_launched_event(instance),)

        await self._office.change(intent.job, write)

    def _listed_price(self, intent: Intent) -> Decimal:
        """What it most likely costs: the pool's price now, else the most we agreed to."""
        found = [o.usd_per_hour for o in self._office.offers if o.pool == intent.order.pool]
        return found[0] if found else intent.order.bid_usd_per_hour or Decimal(0)

    async def _close(self, intent: Intent, reason: str) -> None:
        def write(conn: Connection) -> Sequence[Event]:
            intents.put_intent(conn, replace(intent, state="closed", reason=reason))
            return (_intent_event("launch.closed", f"Launch {intent.id} is settled: {reason}.", intent),)

        await self._office.change(intent.job, write)


def with_state(instance: Instance, state: InstanceState, now: datetime) -> Instance:
    """The instance as the provider says it is."""
    ended_at = instance.ended_at
    if state.phase == "terminated" and ended_at is None:
        ended_at = state.ended_at or now
    return replace(
        instance,
        phase=state.phase,
        ended_at=ended_at,
        end_reason=state.reason or instance.end_reason,
        reclaimed=instance.reclaimed or state.reclaimed,
    )


def _launched_event(instance: Instance) -> Event:
    return Event(
        name="instance.launched",
        reason=f"Instance {instance.id} is launched in {instance.pool} at {instance.usd_per_hour} USD/h.",
        job=instance.job,
        stage=instance.stage,
        attempt=instance.attempt,
        instance=instance.id,
        pool=str(instance.pool),
        data={"usd_per_hour": str(instance.usd_per_hour), "intent": instance.intent},
    )


def _intent_event(name: str, reason: str, intent: Intent, **data: object) -> Event:
    return Event(
        name=name,
        reason=reason,
        job=intent.job,
        stage=intent.stage,
        attempt=intent.attempt,
        pool=str(intent.order.pool),
        data={"intent": intent.id, **data},
    )

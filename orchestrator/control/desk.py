"""What may be asked of control: submit, plan, cancel, drill, and an agent's sync."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from orchestrator.control.bells import wait
from orchestrator.control.drills import DrillRefused, stage_drill
from orchestrator.control.market import MarketWatch
from orchestrator.control.office import Office
from orchestrator.control.reports import is_old, notice_event, take_in
from orchestrator.control.tokens import is_bootstrap_token
from orchestrator.model.events import Event
from orchestrator.model.jobs import ENDED_JOB_STATES, Drill, Instance, Job, Shard, Stage
from orchestrator.model.pools import Requirement
from orchestrator.model.spec import JobSpec, Placement
from orchestrator.model.wire import Leave, NoticeOrder, Orders, Report
from orchestrator.policy import Choice, Wish, choose
from orchestrator.store import attempts, cooldowns, drills, instances, intents, jobs, jobview, shards

TERM = 1  # one control node in this version


class NoSuchJob(Exception):
    """There is no job of that id or name."""


class NotKnownYet(Exception):
    """The launch that this agent belongs to has not been written down yet: it asks again."""


class Forbidden(Exception):
    """The token is not the one of the intent that the report names."""


@dataclass(frozen=True)
class StagePlan:
    """What would be chosen for a stage now."""

    stage: str
    requirement: Requirement
    instances: int
    choice: Choice


class Desk:
    """Each method is one request. All may raise StoreUnavailable."""

    def __init__(self, office: Office, market: MarketWatch) -> None:
        self._office, self._ports, self._market = office, office.ports, market

    # ------------------------------------------------------------ jobs

    async def submit(self, toml: str, spec: JobSpec, key: str) -> tuple[Job, bool]:
        """The job, and whether this idempotency key had made it before."""
        now = self._ports.clock.now()
        job = Job(self._new_id(), spec.name, toml, spec, "pending", "Submitted.", now)
        stages = _stages(job)
        existing: list[tuple[Job, bool]] = []

        def write(conn: Connection) -> Sequence[Event]:
            existing.append(jobs.insert_job(conn, job, stages, key))
            if existing[0][1]:
                return ()
            for number in range(spec.preprocess.shards if spec.preprocess else 0):
                shards.put_shard(conn, Shard(job.id, number))
            return (Event("job.submitted", f"Job {job.name} is submitted as {job.id}.", job=job.id),)

        await self._office.change(job.id, write)
        return existing[0]

    def _new_id(self) -> str:
        return UUID(int=self._ports.random.getrandbits(128), version=4).hex[:12]

    async def cancel(self, job_id: str) -> tuple[Job, bool]:
        """The job, and whether it had ended already. Raises NoSuchJob."""

        def write(conn: Connection) -> Sequence[Event]:
            job = jobs.get_job(conn, job_id)
            if job is None or job.cancel_requested or job.state in ENDED_JOB_STATES:
                return ()
            jobs.put_job(conn, replace(job, cancel_requested=True))
            return (Event("job.cancel_requested", "Cancelling was asked for.", job=job_id),)

        before = await self.job(job_id)
        await self._office.change(job_id, write)
        return await self.job(job_id), before.state in ENDED_JOB_STATES

    async def job(self, name: str) -> Job:
        """By id, else the newest of that name. Raises NoSuchJob."""
        found = await self._ports.db.read(lambda conn: jobs.find_job(conn, name))
        if found is None:
            raise NoSuchJob(f"no job {name!r}; `orch ps --all` lists them")
        return found

    async def view(self, name: str) -> jobview.JobView:
        """All rows of a job. Raises NoSuchJob."""
        job = await self.job(name)
        view = await self._ports.db.read(lambda conn: jobview.load_view(conn, job.id))
        assert view is not None
        return view

    # ------------------------------------------------------------ plans

    async def plan(self, spec: JobSpec) -> list[StagePlan]:
        """What would be chosen for each stage now, with fresh offers. Nothing is launched."""
        await self._market.refresh()
        now = self._ports.clock.now()
        cooled = await self._ports.db.read(lambda conn: cooldowns.active_cooldowns(conn, now))
        until = {cooldown.pool: cooldown.until for cooldown in cooled}

        def of(stage: str, need: Requirement, placement: Placement, count: int) -> StagePlan:
            choice = choose(self._office.offers, Wish(need, placement), until, now)
            return StagePlan(stage, need, count, choice)

        train = of("train", spec.train.resources, spec.train.placement, 1)
        pre = spec.preprocess
        if pre is None:
            return [train]
        return [of("preprocess", pre.resources, pre.placement, pre.instances), train]

    # ------------------------------------------------------------ drills

    async def drill(self, job_id: str, window_s: float | None, announced: bool) -> Drill:
        """Reclaim the running attempt's instance. Raises NoSuchJob, DrillRefused."""
        drill_id, now = self._new_id()[:8], self._ports.clock.now()
        staged: list[Drill] = []

        def write(conn: Connection) -> Sequence[Event]:
            view = jobview.load_view(conn, job_id)
            if view is None:
                raise NoSuchJob(f"no job {job_id!r}")
            drill, instance = stage_drill(view, drill_id, self._window(view, window_s), announced, now)
            drills.put_drill(conn, drill)
            instances.put_instance(conn, instance)
            staged.append(drill)
            return _drill_events(drill, instance)

        await self._office.change(job_id, write)
        return staged[0]

    def _window(self, view: jobview.JobView, asked_s: float | None) -> float:
        if asked_s is not None:
            return asked_s
        alive = [i for i in view.instances if i.alive and i.stage == "train"]
        clouds = [self._ports.clouds[i.pool.provider] for i in alive if i.pool.provider in self._ports.clouds]
        if not clouds:
            raise DrillRefused("no attempt is training now")
        return clouds[-1].notice_window_s

    async def drilled(self, drill_id: str, wait_s: float) -> Drill | None:
        """The drill, once it has ended or `wait_s` have passed. None: no such drill."""
        until = self._ports.clock.now().timestamp() + wait_s
        while True:
            drill = await self._ports.db.read(lambda conn: drills.get_drill(conn, drill_id))
            left_s = until - self._ports.clock.now().timestamp()
            if drill is None or drill.state != "running" or left_s <= 0:
                return drill
            bell = self._office.bells.bell(drill.job)
            await wait(bell, min(left_s, 5.0))

    # ------------------------------------------------------------ agents

    async def sync(self, report: Report, token: str, wait_s: float) -> Orders:
        """Take the report in and answer with orders; parks while the agent has seen the newest.

        Raises Forbidden, NotKnownYet.
        """
        if not is_bootstrap_token(self._ports.house.key, report.intent, token):
            raise Forbidden("the token does not belong to this intent")
        instance = await self._instance(report.intent)
        if instance is None:
            return await self._without_instance(report.intent)
        await self._take_in(instance, report)
        return await self._orders(report, wait_s)

    async def _instance(self, intent_id: str) -> Instance | None:
        return await self._ports.db.read(lambda conn: instances.instance_of_intent(conn, intent_id))

    async def _without_instance(self, intent_id: str) -> Orders:
        intent = await self._ports.db.read(lambda conn: intents.get_intent(conn, intent_id))
        if intent is not None and intent.state == "open":
            raise NotKnownYet("the launch is not written down yet")
        return Orders(term=TERM, revision=1, desired=Leave(reason="nobody waits for this instance"))

    async def _take_in(self, instance: Instance, report: Report) -> None:
        if is_old(instance, report):
            return
        now = self._ports.clock.now()

        def write(conn: Connection) -> Sequence[Event]:
            current = instances.get_instance(conn, instance.id)
            found = [a for a in attempts.attempts_of(conn, instance.job) if a.stage == instance.stage]
            attempt = next((a for a in found if a.number == instance.attempt), None)
            if current is None or attempt is None or is_old(current, report):
                return ()
            taken = take_in(current, attempt, report, now)
            instances.put_instance(conn, taken.instance)
            if attempt.live:
                attempts.put_attempt(conn, taken.attempt)
            return taken.events

        await self._office.change(instance.job, write)

    async def _orders(self, report: Report, wait_s: float) -> Orders:
        until = self._ports.clock.now().timestamp() + wait_s
        while True:
            instance = await self._instance(report.intent)
            if instance is None or instance.desired is None:
                raise NotKnownYet("there are no orders yet")
            left_s = until - self._ports.clock.now().timestamp()
            if instance.revision > report.revision or left_s <= 0:
                return orders_of(instance, self._ports.clock.now())
            await self._parked(instance, left_s)

    async def _parked(self, instance: Instance, left_s: float) -> None:
        bell = self._office.bells.bell(instance.job)
        current = await self._instance(instance.intent)
        if current is not None and current.revision == instance.revision:
            await wait(bell, left_s)


def orders_of(instance: Instance, now: datetime) -> Orders:
    """The whole desired state of this instance's agent, as it must be sent at `now`."""
    assert instance.desired is not None
    return Orders(term=TERM, revision=instance.revision, desired=instance.desired, notice=_notice(instance, now))


def _notice(instance: Instance, now: datetime) -> NoticeOrder | None:
    """Only what the agent cannot have heard by itself."""
    notice = instance.notice
    if notice is None or notice.source not in ("provider", "drill"):
        return None
    return NoticeOrder(source=notice.source, left_s=(notice.deadline - now).total_seconds())


def _stages(job: Job) -> list[Stage]:
    train = Stage(job.id, "train", "waiting")
    return [train] if job.spec.preprocess is None else [Stage(job.id, "preprocess", "waiting"), train]


def _drill_events(drill: Drill, instance: Instance) -> Sequence[Event]:
    asked = Event(
        name="drill.asked",
        reason=f"Drill {drill.id}: instance {instance.id} of attempt {drill.attempt} is to be taken.",
        job=drill.job,
        stage="train",
        attempt=drill.attempt,
        instance=instance.id,
        pool=str(instance.pool),
        data={"window_s": drill.window_s},
    )
    return (asked,) if instance.notice is None else (asked, notice_event(instance, drill.window_s))

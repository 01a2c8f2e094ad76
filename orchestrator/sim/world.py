"""One seed: a job, a cloud, agents and a control node that dies; then calm, and the invariants."""

import asyncio
import random
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import structlog

from orchestrator.control.accounts import accounts
from orchestrator.control.clock import Clock
from orchestrator.control.desk import Desk
from orchestrator.control.loop import Control
from orchestrator.control.ports import Ports
from orchestrator.control.rules import House, Rules
from orchestrator.model.jobs import ENDED_JOB_STATES
from orchestrator.model.pools import Requirement
from orchestrator.model.spec import CheckpointSpec, JobSpec, PreprocessSpec, RetrySpec, TrainSpec
from orchestrator.objectstore import ObjectStore
from orchestrator.objectstore.faulty import FaultyStore
from orchestrator.objectstore.memory import MemoryStore
from orchestrator.sim.agent import TOTAL_STEPS, Agent, Disk, World
from orchestrator.sim.cloud import Machine, SimCloud
from orchestrator.sim.faults import Faults, draw
from orchestrator.sim.loop import run_virtual
from orchestrator.sim.truth import Broken, Truth
from orchestrator.store.database import open_inline
from orchestrator.store.installation import installation
from orchestrator.store.jobs import get_job
from orchestrator.store.jobview import JobView, load_view

START = datetime(2026, 1, 1, tzinfo=UTC)
LONGEST_S = 6 * 3600.0
CALM_S = 120.0

RULES = Rules(
    describe_poll_s=10.0,
    condemned_poll_s=2.0,
    notices_poll_s=60.0,
    sweep_s=60.0,
    spare_young_s=60.0,
    boot_timeout_s=120.0,
    silence_timeout_s=300.0,
    resync_s=60.0,
    barren_limit=10**6,
    cooldown_s=20.0,
)


@dataclass(frozen=True)
class Outcome:
    """How a seed went."""

    seed: int
    state: str
    virtual_s: float
    attempts: int
    instances: int
    restores: int
    daemon_deaths: int
    agent_deaths: int
    steps_redone: int


SPEC = JobSpec(
    name="sim",
    train=TrainSpec(command="train", resources=Requirement(gpus=1)),
    preprocess=PreprocessSpec(command="prepare", shards=3, instances=2, resources=Requirement(cpus=2)),
    checkpoint=CheckpointSpec(path="/checkpoints"),
    retry=RetrySpec(max_failures=3),
)


def run_seed(seed: int, faults: Faults | None = None) -> Outcome:
    """Run it to the end and check it. Raises Broken; the seed alone reproduces it."""
    return run_virtual(Story(seed, faults or draw(seed)).tell())


class Story:
    """The actors of one seed."""

    def __init__(self, seed: int, faults: Faults) -> None:
        self._seed, self._faults = seed, faults
        self._rng = random.Random(f"story {seed}")
        self._deaths = {"daemon": 0, "agent": 0}
        self._calm = False

    async def tell(self) -> Outcome:
        clock = Clock(START, asyncio.get_running_loop())
        self._db = open_inline("sqlite://")
        cloud = SimCloud(clock, random.Random(f"cloud {self._seed}"), self._faults)
        self._world = World(clock, self._rng, self._faults, self._objects(), Truth())
        self._clock, self._cloud = clock, cloud
        cloud.on_running = self._boot
        cloud.on_change = lambda machine: self._world.truth.machine_changed(machine, cloud.machines)
        ours = await self._db.write(installation)
        self._house = House(ours.id, ours.key, "sim://control", "sim://objects")
        job = await self._play()
        return await self._judge(job)

    def _objects(self) -> ObjectStore:
        return FaultyStore.random(
            MemoryStore(),
            random.Random(f"store {self._seed}"),
            unavailable=self._faults.store_unavailable,
            answer_lost=self._faults.store_answer_lost,
        )

    # ------------------------------------------------------------ control

    def _control(self) -> Control:
        return Control(
            Ports(
                db=self._db,
                clouds={"sim": self._cloud},
                clock=self._clock,
                random=random.Random(f"control {self._seed} {self._deaths}"),
                log=structlog.wrap_logger(None, processors=[_silence]),
                rules=RULES,
                house=self._house,
            )
        )

    async def _play(self) -> str:
        """Submit, then let daemon after daemon work on it until the job has ended; then calm."""
        control = self._control()
        job, _ = await Desk(control.office, control.market).submit("", SPEC, f"key {self._seed}")
        while not await self._ended(job.id):
            await self._one_daemon(job.id)
        self._calm = self._cloud.calm = True
        await self._one_daemon(job.id, calm_s=CALM_S)
        return job.id

    async def _one_daemon(self, job: str, calm_s: float | None = None) -> None:
        """A control node from its start to its kill -9: its tasks stop wherever they are."""
        control = self._control()
        self._world.desk = Desk(control.office, control.market)
        working = asyncio.create_task(control.run())
        try:
            await self._until_death(working, job, calm_s)
        finally:
            self._world.desk = None
            await _kill(working, "settle ", "market ")

    async def _until_death(self, working: "asyncio.Task[None]", job: str, calm_s: float | None) -> None:
        every_s = None if calm_s else self._faults.daemon_dies_every_s
        left_s = calm_s or (self._rng.expovariate(1 / every_s) if every_s else LONGEST_S)
        until = self._clock.now().timestamp() + left_s
        while self._clock.now().timestamp() < until:
            await self._clock.sleep(1.0)
            if working.done():
                working.result()
            if calm_s is None and await self._ended(job):
                return
            if (self._clock.now() - START).total_seconds() > LONGEST_S:
                raise Broken(f"seed {self._seed}: the job has not ended within {LONGEST_S:.0f} s")
        if calm_s is None:
            self._deaths["daemon"] += 1
            await self._clock.sleep(self._rng.uniform(0.5, 20.0))

    async def _ended(self, job_id: str) -> bool:
        job = await self._db.read(lambda conn: get_job(conn, job_id))
        return job is None or job.state in ENDED_JOB_STATES

    # ------------------------------------------------------------ agents

    def _boot(self, machine: Machine) -> list["asyncio.Task[None]"]:
        return [asyncio.create_task(self._agent_lives(machine), name=f"agent {machine.id}")]

    async def _agent_lives(self, machine: Machine) -> None:
        """An agent that dies is started again by its machine's init, which first ends what it left."""
        disk = Disk(owner=f"owner of {machine.id}")
        while True:
            life = asyncio.create_task(Agent(self._world, machine, disk).live())
            try:
                await self._let_live(life)
            finally:
                await _kill(life)
            self._deaths["agent"] += 1
            await self._clock.sleep(1.0)

    async def _let_live(self, life: "asyncio.Task[None]") -> None:
        every_s = self._faults.agent_dies_every_s
        left_s = LONGEST_S if every_s is None or self._calm else self._rng.expovariate(1 / every_s)
        done, _ = await asyncio.wait({life}, timeout=left_s)
        if done:
            life.result()

    # ------------------------------------------------------------ the verdict

    async def _judge(self, job: str) -> Outcome:
        view = await self._db.read(lambda conn: load_view(conn, job))
        assert view is not None
        self._check(view)
        books = accounts(view, self._clock.now())
        return Outcome(
            seed=self._seed,
            state=view.job.state,
            virtual_s=(self._clock.now() - START).total_seconds(),
            attempts=len(view.attempts),
            instances=len(self._cloud.machines),
            restores=len(self._world.truth.restores),
            daemon_deaths=self._deaths["daemon"],
            agent_deaths=self._deaths["agent"],
            steps_redone=books.steps_redone,
        )

    def _check(self, view: JobView) -> None:
        self._check_end(view)
        self._check_instances(view)
        self._check_costs(view)

    def _check_end(self, view: JobView) -> None:
        if view.job.state != "succeeded":
            raise Broken(f"seed {self._seed}: the job has {view.job.state}: {view.job.reason}")
        if max(a.reached_step or 0 for a in view.attempts) != TOTAL_STEPS:
            raise Broken(f"seed {self._seed}: the job succeeded without its last step")
        epochs = [a.epoch for a in view.attempts if a.stage == "train"]
        if len(set(epochs)) != len(epochs):
            raise Broken(f"seed {self._seed}: two attempts share an epoch")

    def _check_instances(self, view: JobView) -> None:
        leaked = [m.id for m in self._cloud.machines.values() if m.alive]
        if leaked:
            raise Broken(f"seed {self._seed}: {leaked} are still alive at rest")
        alive = [i.id for i in view.instances if i.alive]
        if alive:
            raise Broken(f"seed {self._seed}: the store thinks that {alive} live")

    def _check_costs(self, view: JobView) -> None:
        """What we say it cost is what the cloud bills for the instances that we know."""
        for instance in view.instances:
            machine = self._cloud.machines[instance.id]
            if (instance.launched_at, instance.ended_at) != (machine.launched_at, machine.ended_at):
                raise Broken(f"seed {self._seed}: {instance.id} is billed for other hours than we think")
        unknown = set(self._cloud.machines) - {i.id for i in view.instances}
        billed = sum((_hours(self._cloud.machines[i]) for i in unknown), Decimal(0))
        if billed > Decimal("0.5"):
            raise Broken(f"seed {self._seed}: {unknown} were never in the books")


def _hours(machine: Machine) -> Decimal:
    assert machine.ended_at is not None
    return Decimal((machine.ended_at - machine.launched_at).total_seconds()) / 3600


def _silence(_logger: Any, _name: str, _event: MutableMapping[str, Any]) -> str:
    raise structlog.DropEvent


async def _kill(task: "asyncio.Task[None]", *kin: str) -> None:
    """The task, and those whose names say that they belong to it, stop where they are."""
    doomed = [task, *(t for t in asyncio.all_tasks() if any(t.get_name().startswith(k) for k in kin))]
    for one in doomed:
        one.cancel()
    for one in doomed:
        with suppress(asyncio.CancelledError):
            await one

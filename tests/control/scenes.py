"""Scenes for decide: a job, its rows, a moment; and what was decided, by kind."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from orchestrator.control.decide import decide
from orchestrator.control.draft import Decision, Fleet, Market, Situation, key_of
from orchestrator.control.rules import House, Rules
from orchestrator.model.jobs import Attempt, Instance, Intent, Job, NoticeSeen, Shard, Stage
from orchestrator.model.pools import GIB, Hardware, Offer, Pool, Requirement
from orchestrator.model.spec import CheckpointSpec, JobSpec, Placement, PreprocessSpec, RetrySpec, TrainSpec
from orchestrator.model.wire import Exit, Report
from orchestrator.store.jobview import JobView

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
HOUSE = House("ours", b"key", "unix:///run/orchd.sock", "file:///objects")
GPU = Hardware(cpus=8, memory_bytes=64 * GIB, disk_bytes=100 * GIB, gpu_model="A100", gpus=1)
CPU = Hardware(cpus=2, memory_bytes=8 * GIB, disk_bytes=50 * GIB)


def offer(zone: str, hardware: Hardware, market: str, usd: str) -> Offer:
    kind = "gpu" if hardware.gpus else "cpu"
    pool = {"provider": "p", "region": "r", "zone": zone, "instance_type": kind, "market": market}
    return Offer(
        pool=Pool.model_validate(pool),
        hardware=hardware,
        usd_per_hour=Decimal(usd),
        on_demand_usd_per_hour=Decimal("4.00") if hardware.gpus else Decimal("0.10"),
    )


OFFERS = (
    offer("a", GPU, "spot", "1.00"),
    offer("b", GPU, "spot", "1.10"),
    offer("a", GPU, "on-demand", "4.00"),
    offer("a", CPU, "spot", "0.03"),
)


def spec(**changes: Any) -> JobSpec:
    train = TrainSpec(command="train", resources=Requirement(gpus=1))
    whole = JobSpec(name="job", train=train, checkpoint=CheckpointSpec(path="/checkpoints"))
    return whole.model_copy(update=changes)


def with_market(market: str) -> JobSpec:
    train = spec().train.model_copy(update={"placement": Placement.model_validate({"market": market})})
    return spec(train=train)


PREPROCESS = PreprocessSpec(command="prepare", shards=3, instances=2, resources=Requirement(cpus=2))
RETRY = RetrySpec(max_failures=3, no_retry_exit_codes=(2,))


@dataclass
class Scene:
    """A job as the store would hold it; `decide` is applied to it as `record` would."""

    job_spec: JobSpec = field(default_factory=spec)
    rules: Rules = field(default_factory=Rules)
    now: datetime = START
    offers: tuple[Offer, ...] = OFFERS
    rows: dict[tuple[object, ...], Any] = field(default_factory=dict)
    decision: Decision | None = None
    fleet: Fleet = field(default_factory=Fleet)

    def __post_init__(self) -> None:
        self.put(Job("j", self.job_spec.name, "", self.job_spec, "pending", "", START))
        pre = self.job_spec.preprocess
        if pre is not None:
            self.put(Stage("j", "preprocess", "waiting"))
            for number in range(pre.shards):
                self.put(Shard("j", number))
        self.put(Stage("j", "train", "waiting"))

    def put(self, *rows: Any) -> "Scene":
        self.rows.update({key_of(row): row for row in rows})
        return self

    def of(self, kind: type) -> list[Any]:
        return [row for row in self.rows.values() if isinstance(row, kind)]

    def view(self) -> JobView:
        return JobView(
            job=self.job,
            stages=tuple(self.of(Stage)),
            attempts=tuple(self.of(Attempt)),
            intents=tuple(self.of(Intent)),
            instances=tuple(self.of(Instance)),
            shards=tuple(self.of(Shard)),
            drills=(),
        )

    def decide(self, after_s: float = 0.0) -> Decision:
        """Decide, and write what was decided."""
        self.now += timedelta(seconds=after_s)
        situation = Situation(
            now=self.now,
            heard_since=START,
            market=Market(self.offers, self.now, {}),
            fleet=self.fleet,
            rules=self.rules,
            house=HOUSE,
        )
        self.decision = decide(self.view(), situation)
        self.put(*self.decision.rows)
        return self.decision

    # ------------------------------------------------------------ reading

    @property
    def job(self) -> Job:
        return self.of(Job)[0]

    def stage(self, name: str = "train") -> Stage:
        return next(stage for stage in self.of(Stage) if stage.name == name)

    def attempt(self, number: int) -> Attempt:
        return next(a for a in self.of(Attempt) if a.number == number and a.stage == "train")

    def instance(self, number: int) -> Instance:
        return next(i for i in reversed(self.of(Instance)) if i.attempt == number and i.stage == "train")

    def open_intents(self) -> list[Intent]:
        return [intent for intent in self.of(Intent) if intent.state == "open"]

    def told(self) -> list[str]:
        assert self.decision is not None
        return [event.name for event in self.decision.events]

    # ------------------------------------------------------------ what the world does

    def launch_all(self) -> "Scene":
        """Every open intent becomes an instance, and the job is decided on."""
        for intent in self.open_intents():
            self.put(replace(intent, state="launched"), instance_of(intent, self.now))
        self.decide()
        return self

    def report(self, number: int, **changes: Any) -> "Scene":
        """What the instance's agent says; the attempt's columns follow, as `reports` would have it."""
        instance, attempt = self.instance(number), self.attempt(number)
        report = Report(intent=instance.intent, owner="o", seq=1, attempt=number, **changes)
        self.put(replace(instance, report=report, reported_at=self.now, phase="running"))
        committed = report.committed.step if report.committed else attempt.committed_step
        first = attempt.first_step_at or (self.now if report.step else None)
        self.put(
            replace(
                attempt,
                committed_step=committed,
                reached_step=report.step or attempt.reached_step,
                base_step=report.base_step,
                first_step_at=first,
            )
        )
        self.decide()
        return self

    def notice(self, number: int, left_s: float = 120.0) -> "Scene":
        seen = NoticeSeen("aws", self.now, self.now + timedelta(seconds=left_s))
        self.put(replace(self.instance(number), notice=seen))
        self.decide()
        return self

    def withdraw(self, number: int) -> "Scene":
        self.put(replace(self.instance(number), notice=None))
        self.decide()
        return self

    def gone(self, number: int, reclaimed: bool = False) -> "Scene":
        end = replace(self.instance(number), phase="terminated", ended_at=self.now, reclaimed=reclaimed)
        self.put(end)
        self.decide()
        return self

    def running(self) -> "Scene":
        """Attempt 1 trains."""
        self.decide()
        self.launch_all()
        return self.report(1, phase="running", step=10)


def instance_of(intent: Intent, now: datetime) -> Instance:
    return Instance(
        id=f"i-{intent.id}",
        intent=intent.id,
        job=intent.job,
        stage=intent.stage,
        attempt=intent.attempt,
        rank=intent.rank,
        pool=intent.order.pool,
        usd_per_hour=Decimal("1.00"),
        on_demand_usd_per_hour=Decimal("4.00"),
        phase="pending",
        launched_at=now,
    )


def ended(kind: str, code: int = 0) -> dict[str, Any]:
    return {"phase": "final", "exit": Exit.model_validate({"kind": kind, "code": code})}

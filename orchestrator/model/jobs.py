"""Jobs, stages, attempts, instances: the rows of the store, as frozen data.

A job is one `job.toml`; its stages are `preprocess` (CPU) and `train` (GPU); an attempt is one try
at a stage, with an epoch that only ever grows within the stage; an intent is what we are about to
ask of a provider; an instance is what came of it.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from orchestrator.model.launch import LaunchOrder
from orchestrator.model.pools import Pool
from orchestrator.model.spec import JobSpec
from orchestrator.model.wire import Desired, Report

StageName = Literal["preprocess", "train"]
JobState = Literal["pending", "running", "cancelling", "succeeded", "failed", "cancelled"]
StageState = Literal["waiting", "running", "succeeded", "failed", "cancelled"]

ENDED_JOB_STATES: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})

AttemptOutcome = Literal[
    "succeeded",
    "failed",  # the user's own failure: uses the retry budget
    "reclaimed",  # the provider took it, or a drill did
    "lost",  # gone without a notice, or it never reported
    "superseded",  # a standby that was not needed
    "cancelled",
]

IntentState = Literal["open", "launched", "closed"]
InstancePhase = Literal["pending", "running", "stopping", "terminated", "unknown"]


@dataclass(frozen=True)
class Job:
    id: str
    name: str
    toml: str  # as submitted, after `--set`
    spec: JobSpec  # what `toml` says
    state: JobState
    reason: str  # the latest sentence of why it is in this state
    created_at: datetime
    ended_at: datetime | None = None
    cancel_requested: bool = False


@dataclass(frozen=True)
class Stage:
    job: str
    name: StageName
    state: StageState
    epoch: int = 0  # the highest given out so far
    failures: int = 0  # the user's own
    progress_step: int = 0  # highest committed step when an attempt last moved it
    barren_resumes: int = 0  # attempts in a row that committed no new step
    not_before: datetime | None = None  # no new attempt before this: a back-off
    alarms: tuple[str, ...] = ()  # event names of alarms that are on


@dataclass(frozen=True)
class Attempt:
    job: str
    stage: StageName
    number: int
    epoch: int
    created_at: datetime
    replaces: int | None = None  # the attempt under notice that this one stands by for
    told_run_at: datetime | None = None
    first_step_at: datetime | None = None  # its trainer was first seen beyond `base_step`
    final_at: datetime | None = None  # it reported `final`
    ended_at: datetime | None = None
    outcome: AttemptOutcome | None = None
    reason: str = ""
    committed_step: int | None = None  # the newest its reports named
    committed_at: datetime | None = None  # when `committed_step` last grew
    reached_step: int | None = None  # the newest step that was trained, committed or not
    total_steps: int | None = None  # as the trainer said
    base_step: int | None = None  # what it resumed from; None: from nothing
    trained_s: float = 0.0  # seconds its trainer ran
    trainer_start_s: float | None = None  # from spawn to its first sign of a step
    save_s: float | None = None
    upload_s: float | None = None

    @property
    def live(self) -> bool:
        return self.ended_at is None


@dataclass(frozen=True)
class Intent:
    """What we are about to ask of a provider, written before we ask. `order` goes out byte for byte."""

    id: str
    job: str
    stage: StageName
    attempt: int
    rank: int
    order: LaunchOrder
    state: IntentState
    created_at: datetime
    reason: str = ""


@dataclass(frozen=True)
class NoticeSeen:
    """A reclaim notice as we first heard it. `deadline` is by our own steady clock."""

    source: str  # "metadata", "provider", "drill"
    heard_at: datetime
    deadline: datetime


@dataclass(frozen=True)
class Instance:
    """A virtual machine of ours. `phase` is the provider's word, never our wish."""

    id: str  # the provider's
    intent: str
    job: str
    stage: StageName
    attempt: int
    rank: int
    pool: Pool
    usd_per_hour: Decimal
    on_demand_usd_per_hour: Decimal
    phase: InstancePhase
    launched_at: datetime
    ended_at: datetime | None = None
    end_reason: str = ""
    reclaimed: bool = False
    terminate_at: datetime | None = None  # it is condemned: from then on the provider is asked to end it
    notice: NoticeSeen | None = None
    report: Report | None = None
    reported_at: datetime | None = None
    revision: int = 0
    desired: Desired | None = None

    @property
    def alive(self) -> bool:
        """Not yet confirmed gone by the provider."""
        return self.phase != "terminated"


@dataclass(frozen=True)
class Shard:
    """A numbered part of `preprocess`. `lease` fences its holder, an instance id."""

    job: str
    number: int
    lease: int = 0
    holder: str | None = None
    done: bool = False
    failures: int = 0


DrillState = Literal["running", "survived", "failed"]


@dataclass(frozen=True)
class Drill:
    """A reclaim that we stage ourselves, and how it went."""

    id: str
    job: str
    attempt: int  # the one that was reclaimed
    instance: str
    window_s: float
    asked_at: datetime
    state: DrillState = "running"
    reason: str = ""
    ended_at: datetime | None = None
    committed_step: int | None = None  # what the reclaimed attempt had committed at its end
    resumed_step: int | None = None  # what its successor resumed from


@dataclass(frozen=True)
class Cooldown:
    """A pool that said no, and until when nobody asks it again."""

    pool: Pool
    until: datetime
    reason: str


@dataclass(frozen=True)
class Installation:
    """One store's control plane. Its `key` derives the agents' bootstrap tokens; never log it."""

    id: str
    key: bytes
    created_at: datetime

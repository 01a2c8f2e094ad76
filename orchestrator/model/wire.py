"""What agent and control node say to each other: one message each way.

The agent posts its whole state (`Report`) to `POST /v1/agent/sync`; the answer is the whole desired
state (`Orders`). A report with a lower `seq`, and orders with a lower (term, revision), are ignored.
"""

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.model.frozen import Tolerant

# ---------------------------------------------------------------- what an agent is told to run

MOST_STEPS = 2**53  # what every JSON reader and every database can count
Step = Annotated[int, Field(ge=0, le=MOST_STEPS)]


class TrainTask(Tolerant):
    """A `train` attempt, whole. Paths that start with `/` in the job file are mapped by the agent."""

    job: str
    attempt: int
    epoch: int
    rank: int = 0
    command: str
    env: dict[str, str] = {}
    stop_signal: str = "SIGTERM"
    stall_s: float | None = None
    checkpoints_path: str | None = None  # as in the job file; None: nothing is kept
    keep: int = 3
    shards: int | None = None  # how many the data set has; None: nothing is preprocessed
    output_path: str | None = None
    # Measured by earlier attempts of this stage, so that the stop can wait; None: unmeasured.
    save_p90_s: float | None = None
    upload_p90_s: float | None = None


class ShardLease(Tolerant):
    number: int
    lease: int


class PreprocessTask(Tolerant):
    """A worker's part of a `preprocess` stage: the shards it holds now."""

    job: str
    attempt: int
    epoch: int
    rank: int = 0
    command: str
    env: dict[str, str] = {}
    shards: int
    leases: tuple[ShardLease, ...] = ()


# ---------------------------------------------------------------- orders


class Standby(Tolerant):
    """Boot, fetch everything, touch nothing: no fence, no trainer."""

    kind: Literal["standby"] = "standby"
    task: TrainTask


class Run(Tolerant):
    """Fence, restore, train."""

    kind: Literal["run"] = "run"
    task: TrainTask


class Work(Tolerant):
    """Preprocess the shards that are leased to you; stop those that are not."""

    kind: Literal["work"] = "work"
    task: PreprocessTask


class Leave(Tolerant):
    """End what you run. You will not be needed again. `grace_s`: how long a trainer may take, once told to stop."""

    kind: Literal["leave"] = "leave"
    reason: str = ""
    grace_s: float = 0.0


Desired = Annotated[Standby | Run | Work | Leave, Field(discriminator="kind")]


class NoticeOrder(Tolerant):
    """A reclaim that the control node heard of first, or staged itself."""

    source: str  # "provider" or "drill"
    left_s: float  # from the moment this was sent


class Orders(Tolerant):
    term: int
    revision: int
    desired: Desired
    notice: NoticeOrder | None = None


# ---------------------------------------------------------------- reports

TrainPhase = Literal[
    "idle",  # nothing to do yet
    "standby",  # everything is fetched
    "restoring",
    "running",
    "stopping",  # the trainer was sent its stop signal
    "final",  # trainer gone, last commit made: `exit` says how it ended
    "blocked",  # it cannot go on and will not try by itself: `trouble` says why
]

Block = Literal[
    "fenced",  # a higher epoch owns the log
    "untrusted",  # the log holds checkpoints and none could be proven whole: a person must look
    "disk",  # the instance's disk is full or broken: another instance may do
    "agent",  # the agent itself failed: another instance may do
]

ExitKind = Literal[
    "succeeded",  # exit 0, not asked to stop
    "failed",  # its own failure: exit code or a signal nobody ordered
    "interrupted",  # it ended after we asked it to stop, whatever the code
    "stalled",  # no step for too long
]


class Exit(Tolerant):
    kind: ExitKind
    code: int  # negative: the signal that ended it, as in subprocess
    reason: str = ""


class Committed(Tolerant):
    """The newest checkpoint that this attempt made exist."""

    seq: int  # of its log entry
    step: Step


class NoticeHeard(Tolerant):
    source: str  # "aws", "aliyun": the dialect; or "control" where it came by orders
    left_s: float  # at the moment of sending; may be below 0


class ShardReport(Tolerant):
    number: int
    lease: int
    state: Literal["running", "committed", "failed"]
    code: int = 0
    reason: str = ""


class Report(Tolerant):
    """The agent's whole state. Steps are None until known."""

    intent: str
    owner: str  # random, lives on the instance's disk
    seq: int
    revision: int = 0  # of the newest orders it has seen
    phase: TrainPhase = "idle"
    attempt: int | None = None
    epoch: int | None = None
    step: Step | None = None
    total_steps: Step | None = None
    metrics: dict[str, float] = {}
    base_step: Step | None = None
    committed: Committed | None = None
    notice: NoticeHeard | None = None
    rebalance_advised: bool = False
    monitor_errors: int = 0  # in a row
    exit: Exit | None = None
    trouble: str = ""  # what stands in its way now, in a sentence
    block: Block | None = None  # set with the phase `blocked`
    restarts: int = 0  # how often the agent itself has started on this instance
    trained_s: float = 0.0
    trainer_start_s: float | None = None  # from its spawn to its first sign of a step
    save_s: float | None = None  # from the stop signal to the last checkpoint written
    upload_s: float | None = None  # of the newest checkpoint
    shards: tuple[ShardReport, ...] = ()
    disk_free_bytes: int | None = None


class LogChunk(Tolerant):
    """A piece of a stage's output, placed by its byte offset: sending it twice changes nothing."""

    intent: str
    attempt: int
    rank: int
    stream: str  # "train", or "shard-00003"
    offset: int
    text: str  # UTF-8; bytes that are not are replaced, one for one

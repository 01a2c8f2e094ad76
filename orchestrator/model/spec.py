"""A job as its file describes it, resolved: quantities as numbers, defaults filled in.

`orchestrator.model.jobfile` reads the TOML and finds its faults; this is what comes out.
"""

from decimal import Decimal
from typing import Literal

from orchestrator.model.frozen import Frozen
from orchestrator.model.pools import Requirement

MarketWish = Literal["auto", "spot", "on-demand"]


class Placement(Frozen):
    """Where a stage may run. Empty tuples mean anywhere."""

    market: MarketWish = "auto"
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    max_usd_per_hour: Decimal | None = None


class TrainSpec(Frozen):
    """The GPU stage."""

    command: str
    env: dict[str, str] = {}
    stop_signal: str = "SIGTERM"
    stall_s: float | None = None
    resources: Requirement = Requirement()
    placement: Placement = Placement()


class PreprocessSpec(Frozen):
    """The CPU stage: `shards` parts of work on at most `instances` machines."""

    command: str
    env: dict[str, str] = {}
    shards: int
    instances: int
    resources: Requirement = Requirement()
    placement: Placement = Placement()


class CheckpointSpec(Frozen):
    """`path` as in the job file; None: the job keeps no checkpoints."""

    path: str | None = None
    every_s: float | None = None
    keep: int = 3


class RetrySpec(Frozen):
    """The user's own failures; reclaims do not count."""

    max_failures: int = 3
    no_retry_exit_codes: tuple[int, ...] = ()


class JobSpec(Frozen):
    """One `job.toml`, whole."""

    name: str
    labels: dict[str, str] = {}
    train: TrainSpec
    preprocess: PreprocessSpec | None = None
    checkpoint: CheckpointSpec = CheckpointSpec()
    output_path: str | None = None
    retry: RetrySpec = RetrySpec()
    expected_runtime_s: float | None = None

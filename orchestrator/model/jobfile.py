"""`job.toml`: from its text to a JobSpec, or to every fault in it. docs/job-file.md describes the keys."""

import re
import signal
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from orchestrator.model import tomlfile
from orchestrator.model.faults import BadFile, nearest, shown
from orchestrator.model.frozen import Frozen
from orchestrator.model.pools import Requirement
from orchestrator.model.quantities import seconds, size_bytes, usd_per_hour
from orchestrator.model.spec import (
    CheckpointSpec,
    JobSpec,
    MarketWish,
    Placement,
    PreprocessSpec,
    RetrySpec,
    TrainSpec,
)
from orchestrator.model.unsupported import unsupported

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MOST_SHARDS = 100_000
MOST_INSTANCES = 1000


@dataclass(frozen=True)
class JobRead:
    """A valid job file, and what a careful reader would say about it."""

    spec: JobSpec
    warnings: tuple[str, ...]


# ---------------------------------------------------------------- values


def _unit(read: Any, example: str) -> BeforeValidator:
    def parse(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f"{shown(value)} has no unit; write {example}")
        return read(value)

    return BeforeValidator(parse)


def _above_zero(value: Any) -> Any:
    if value <= 0:
        raise ValueError("must be above 0")
    return value


Seconds = Annotated[float, AfterValidator(_above_zero), _unit(seconds, '"30m"')]
Size = Annotated[int, AfterValidator(_above_zero), _unit(size_bytes, '"24GiB"')]
Memory = Annotated[int | None, _unit(lambda t: None if t == "auto" else size_bytes(t), '"24GiB" or "auto"')]
Price = Annotated[Decimal, _unit(usd_per_hour, '"2.50 USD/h"')]
Count = Annotated[int, Field(strict=True, ge=1)]


def _no_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not hold a NUL character")
    return value


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return _no_nul(value)


Text = Annotated[str, AfterValidator(_text)]


def _job_name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError(f"{shown(value)} is no name: use a-z, 0-9 and -, 63 characters at most")
    return value


def _stop_signal(value: str) -> str:
    known = [s.name for s in signal.Signals]
    if value not in known:
        raise ValueError(f"{shown(value)} is no signal; {nearest(value, known)}")
    if value in ("SIGKILL", "SIGSTOP", "SIGCHLD", "SIGCONT"):
        raise ValueError(f"{value} cannot ask a trainer to stop; SIGTERM, SIGINT, SIGUSR1 and their like can")
    return value


def _env_name(value: str) -> str:
    if not ENV_NAME.fullmatch(value):
        raise ValueError("is no name of a variable: use A-Z, a-z, 0-9 and _")
    if value.startswith("ORCH_"):
        raise ValueError("names that begin with ORCH_ are orch's own")
    return value


def _absolute(value: str) -> str:
    if not value.startswith("/") or ".." in value.split("/"):
        raise ValueError(f'{shown(value)} must be an absolute path without "..", such as "/checkpoints"')
    return _no_nul(value)


Env = dict[Annotated[str, AfterValidator(_env_name)], Annotated[str, AfterValidator(_no_nul)]]
AbsolutePath = Annotated[str, AfterValidator(_absolute)]

# ---------------------------------------------------------------- tables


class _Gpu(Frozen):
    model: str | list[str] = []
    count: Count = 1
    memory: Size = 0

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model,) if isinstance(self.model, str) else tuple(self.model)


class _Disk(Frozen):
    size: Size
    kind: Literal["ssd"] = "ssd"


class _Resources(Frozen):
    gpu: _Gpu | None = None
    cpu: Count = 1
    memory: Memory = None
    disk: _Disk | None = None

    def requirement(self) -> Requirement:
        gpu = self.gpu
        return Requirement(
            cpus=self.cpu,
            memory_bytes=self._memory_bytes(),
            disk_bytes=self.disk.size if self.disk else 0,
            gpus=gpu.count if gpu else 0,
            gpu_models=gpu.models if gpu else (),
            gpu_memory_bytes=gpu.memory if gpu else 0,
        )

    def _memory_bytes(self) -> int:
        """`auto` is twice the memory of the GPUs that were asked for."""
        if self.memory is not None:
            return self.memory
        return 2 * self.gpu.memory * self.gpu.count if self.gpu else 0


class _CpuResources(_Resources):
    @field_validator("gpu", mode="before")
    @classmethod
    def _none(cls, value: object) -> object:
        raise ValueError("preprocessing runs on CPU instances: leave it out")


class _Placement(Frozen):
    market: MarketWish = "auto"
    providers: list[Text] = []
    regions: list[Text] = []
    max_price: Price | None = None

    def placement(self) -> Placement:
        return Placement(
            market=self.market,
            providers=tuple(self.providers),
            regions=tuple(self.regions),
            max_usd_per_hour=self.max_price,
        )


class _Train(Frozen):
    command: Text
    env: Env = {}
    stop_signal: Annotated[str, AfterValidator(_stop_signal)] = "SIGTERM"
    stall: Seconds | None = None
    nodes: Literal[1] = 1
    launcher: Literal["none"] = "none"
    resources: _Resources = _Resources()
    placement: _Placement = _Placement()


class _Preprocess(Frozen):
    command: Text
    env: Env = {}
    shards: Annotated[Count, Field(le=MOST_SHARDS)] = 1
    instances: Annotated[Count, Field(le=MOST_INSTANCES)] = 1
    start_training: Literal["all"] = "all"
    resources: _CpuResources = _CpuResources()
    placement: _Placement = _Placement()


class _Limits(Frozen):
    expected_runtime: Seconds | None = None


class _Checkpoint(Frozen):
    path: AbsolutePath | None = None
    every: Seconds | None = None
    keep: Count = 3


class _Output(Frozen):
    path: AbsolutePath


class _Retry(Frozen):
    max_failures: Count = 3
    no_retry_exit_codes: list[Annotated[int, Field(strict=True, ge=1, le=255)]] = []


class _JobFile(Frozen):
    name: Annotated[str, AfterValidator(_job_name)]
    labels: dict[str, str] = {}
    train: _Train
    preprocess: _Preprocess | None = None
    limits: _Limits = _Limits()
    checkpoint: _Checkpoint = _Checkpoint()
    output: _Output | None = None
    retry: _Retry = _Retry()


# ---------------------------------------------------------------- reading


def read_job(text: str) -> JobRead:
    """A job file's text, validated whole. Raises BadFile with every fault."""
    table, lines = tomlfile.parse(text)
    later, table = unsupported(table, lines)
    file, faults = tomlfile.validate(_JobFile, table, lines)
    if file is None or later:
        raise BadFile([*later, *faults])
    return JobRead(_spec(file), tuple(_warnings(file)))


def read_job_bytes(data: bytes) -> JobRead:
    """The same from a file's bytes. Raises BadFile."""
    return read_job(tomlfile.decode(data))


def _spec(file: _JobFile) -> JobSpec:
    return JobSpec(
        name=file.name,
        labels=file.labels,
        train=_train(file.train),
        preprocess=_preprocess(file.preprocess) if file.preprocess else None,
        checkpoint=CheckpointSpec(path=file.checkpoint.path, every_s=file.checkpoint.every, keep=file.checkpoint.keep),
        output_path=file.output.path if file.output else None,
        retry=RetrySpec(
            max_failures=file.retry.max_failures,
            no_retry_exit_codes=tuple(file.retry.no_retry_exit_codes),
        ),
        expected_runtime_s=file.limits.expected_runtime,
    )


def _train(table: _Train) -> TrainSpec:
    return TrainSpec(
        command=table.command,
        env=table.env,
        stop_signal=table.stop_signal,
        stall_s=table.stall,
        resources=table.resources.requirement(),
        placement=table.placement.placement(),
    )


def _preprocess(table: _Preprocess) -> PreprocessSpec:
    return PreprocessSpec(
        command=table.command,
        env=table.env,
        shards=table.shards,
        instances=min(table.instances, table.shards),
        resources=table.resources.requirement(),
        placement=table.placement.placement(),
    )


def _warnings(file: _JobFile) -> list[str]:
    found = []
    if file.checkpoint.path is None and file.train.placement.market != "on-demand":
        found.append(
            "no [checkpoint] path: every reclaim starts the training over, and a long job may never end; "
            "after three attempts without a checkpoint it is stopped"
        )
    elif file.checkpoint.path is not None and not _mentions(file, "ORCH_CHECKPOINTS", file.checkpoint.path):
        found.append(
            f"neither train.command nor train.env mentions $ORCH_CHECKPOINTS or {file.checkpoint.path}: "
            "does the trainer read ORCH_CHECKPOINTS itself? what it saves elsewhere is lost"
        )
    pre = file.preprocess
    if pre is not None and pre.instances > pre.shards:
        found.append(f"preprocess.instances is {pre.instances}, but {pre.shards} shards need no more")
    return found


def _mentions(file: _JobFile, *words: str) -> bool:
    texts = [file.train.command, *file.train.env.values()]
    return any(word in text for word in words for text in texts)

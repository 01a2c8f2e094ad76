"""What a watcher sees of a job at a moment, from the job's detail. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

Json = Mapping[str, Any]

# They happen all the time, or say again what another event says.
QUIET = frozenset(
    {
        "agent.reported",
        "checkpoint.committed",
        "instance.terminate_asked",
        "job.decided",
        "launch.closed",
        "launch.intended",
    }
)


@dataclass(frozen=True)
class Row:
    """An attempt, or the workers of a stage. `state` is a word, `note` what there is to know."""

    stage: str
    name: str
    state: str
    note: str


@dataclass(frozen=True)
class Frame:
    """`step` counts what is trained, `saved` what is committed; metrics are as the trainer named them."""

    name: str
    state: str
    cost_usd: Decimal
    rows: tuple[Row, ...]
    step: int
    total_steps: int | None
    saved: int | None
    metrics: Mapping[str, float]


def frame(job: Json, now: datetime) -> Frame:
    """`job` is the daemon's detail of it; `now` is UTC."""
    stages = {stage["name"]: stage for stage in job["stages"]}
    rows = [_preprocess_row(stages["preprocess"])] if "preprocess" in stages else []
    rows += _attempt_rows(stages["train"], now)
    attempts = stages["train"]["attempts"]
    return Frame(
        name=job["name"],
        state=job["state"],
        cost_usd=Decimal(job["cost_usd"]),
        rows=tuple(rows),
        step=max((a["reached_step"] or 0 for a in attempts), default=0),
        total_steps=job["total_steps"],
        saved=max((a["committed_step"] for a in attempts if a["committed_step"] is not None), default=None),
        metrics=job["metrics"],
    )


def _preprocess_row(stage: Json) -> Row:
    shards = stage["shards"] or {"total": 0, "done": 0, "running": 0}
    machines = sum(_alive(attempt) for attempt in stage["attempts"])
    note = f"{shards['done']} of {shards['total']} shards"
    if machines:
        note += f", on {machines} CPU instance{'s' if machines > 1 else ''}"
    return Row("preprocess", "shards", stage["state"], note)


def _alive(attempt: Json) -> int:
    return sum(instance["phase"] != "terminated" for instance in attempt["instances"])


def _attempt_rows(stage: Json, now: datetime) -> list[Row]:
    if not stage["attempts"]:
        return [Row("train", "attempt 1", stage["state"], "")]
    return [Row("train", f"attempt {a['number']}", _attempt_state(a), _attempt_note(a, now)) for a in stage["attempts"]]


def _attempt_state(attempt: Json) -> str:
    """One word: how it ended, or what it is at."""
    if attempt["outcome"]:
        return str(attempt["outcome"])
    if _notice(attempt):
        return "under notice"
    if attempt["told_run_at"] is None:
        return "standby" if attempt["replaces"] else "booting"
    return "running" if attempt["first_step_at"] else "starting"


def _attempt_note(attempt: Json, now: datetime) -> str:
    parts = [_steps(attempt), *(_place(instance) for instance in attempt["instances"][:1])]
    notice = None if attempt["outcome"] else _notice(attempt)
    if notice:
        left = (datetime.fromisoformat(notice["deadline"]) - now).total_seconds()
        parts.append(f"gone in {max(0.0, left):.0f} s")
    return ", ".join(part for part in parts if part)


def _steps(attempt: Json) -> str:
    if attempt["reached_step"] is None:
        return ""
    return f"steps {attempt['base_step'] or 0} to {attempt['reached_step']}"


def _place(instance: Json) -> str:
    _, zone, _, market = instance["pool"].split("/")
    return f"{market} in {zone} at ${Decimal(instance['usd_per_hour']):.2f}/h"


def _notice(attempt: Json) -> Json | None:
    found = [instance["notice"] for instance in attempt["instances"] if instance["notice"]]
    return found[0] if found else None


# ---------------------------------------------------------------- in words


def worth_telling(events: Sequence[Json]) -> list[Json]:
    """What a watcher wants to read; a sentence that two events share, once."""
    loud = [event for event in events if event["reason"] and event["name"] not in QUIET]
    before = ["", *(event["reason"] for event in loud)]
    return [event for event, last in zip(loud, before, strict=False) if event["reason"] != last]


def sentence(event: Json, began: datetime) -> str:
    """The event with the seconds since `began`."""
    at = (datetime.fromisoformat(event["at"]) - began).total_seconds()
    return f"{max(0.0, at):6.1f} s  {event['reason']}"


def figures(metrics: Mapping[str, float]) -> str:
    """`loss 0.4213, accuracy 0.92`: as the trainer named them."""
    return ", ".join(f"{name} {value:.4g}" for name, value in metrics.items())


def progress(shown: Frame) -> str:
    """The frame in a line."""
    live = [f"{row.stage} {row.state}: {row.note}" for row in shown.rows if row.state in _GOING]
    step = f"step {shown.step} of {shown.total_steps}" if shown.total_steps else ""
    parts = [*(live if not step else live[-1:]), step, figures(shown.metrics), f"${shown.cost_usd:.4f}"]
    return ", ".join(part for part in parts if part)


_GOING = frozenset({"booting", "running", "standby", "starting", "under notice"})

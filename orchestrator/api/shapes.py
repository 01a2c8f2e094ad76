"""Rows as JSON, in the shapes that docs/http.md lists."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from orchestrator.control.accounts import accounts, cost_usd
from orchestrator.control.desk import StagePlan
from orchestrator.model.events import Event
from orchestrator.model.jobs import Attempt, Drill, Instance, Shard, Stage
from orchestrator.model.pools import Requirement
from orchestrator.store.jobview import JobView

Json = dict[str, Any]


def plain(value: Any) -> Any:
    """Times as ISO 8601 in UTC, money as decimal strings, the rest as it is."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def summary(view: JobView, now: datetime) -> Json:
    """A job in a line."""
    books, runner = accounts(view, now), _shown_attempt(view)
    instance = _newest_instance(view, runner)
    report = instance.report if instance else None
    return {
        "id": view.job.id,
        "name": view.job.name,
        "state": view.job.state,
        "reason": view.job.reason,
        "created_at": plain(view.job.created_at),
        "ended_at": plain(view.job.ended_at),
        "stage": _current_stage(view),
        "step": runner.reached_step if runner else None,
        "total_steps": _total_steps(view),
        "metrics": dict(report.metrics) if report else {},
        "attempts": books.attempts,
        "reclaims": books.reclaims,
        "cost_usd": str(books.cost_usd),
        "pool": str(instance.pool) if instance and instance.alive else None,
    }


def detail(view: JobView, now: datetime) -> Json:
    """A job whole."""
    return {
        **summary(view, now),
        "toml": view.job.toml,
        "stages": [_stage(view, stage, now) for stage in view.stages],
        "accounts": plain(asdict(accounts(view, now))),
        "alarms": [alarm for stage in view.stages for alarm in stage.alarms],
        "drills": [drill(one) for one in view.drills],
    }


def _current_stage(view: JobView) -> str:
    unfinished = [stage.name for stage in view.stages if stage.state != "succeeded"]
    return unfinished[0] if unfinished else view.stages[-1].name


def _shown_attempt(view: JobView) -> Attempt | None:
    """The one that runs, else the last that ran."""
    ran = [a for a in view.attempts if a.stage == "train" and a.told_run_at is not None]
    started = [a for a in ran if a.reached_step is not None]
    return max(started or ran, key=lambda attempt: attempt.number, default=None)


def _newest_instance(view: JobView, attempt: Attempt | None) -> Instance | None:
    if attempt is None:
        return None
    found = [i for i in view.instances if (i.stage, i.attempt) == ("train", attempt.number)]
    return found[-1] if found else None


def _total_steps(view: JobView) -> int | None:
    return max((a.total_steps for a in view.attempts if a.total_steps is not None), default=None)


def _stage(view: JobView, stage: Stage, now: datetime) -> Json:
    mine = [attempt for attempt in view.attempts if attempt.stage == stage.name]
    return {
        "name": stage.name,
        "state": stage.state,
        "epoch": stage.epoch,
        "failures": stage.failures,
        "barren_resumes": stage.barren_resumes,
        "shards": _shards(view.shards) if stage.name == "preprocess" else None,
        "attempts": [_attempt(view, attempt, now) for attempt in mine],
    }


def _shards(shards: tuple[Shard, ...]) -> Json:
    running = [shard for shard in shards if shard.holder is not None and not shard.done]
    return {"total": len(shards), "done": sum(shard.done for shard in shards), "running": len(running)}


def _attempt(view: JobView, attempt: Attempt, now: datetime) -> Json:
    shown = asdict(attempt)
    for hidden in ("job", "stage", "committed_at", "save_s", "upload_s"):
        del shown[hidden]
    mine = [i for i in view.instances if (i.stage, i.attempt) == (attempt.stage, attempt.number)]
    return {**plain(shown), "instances": [instance(one, now) for one in mine]}


def instance(row: Instance, now: datetime) -> Json:
    """An instance, its price, and what its agent last said."""
    return {
        "id": row.id,
        "intent": row.intent,
        "job": row.job,
        "stage": row.stage,
        "attempt": row.attempt,
        "rank": row.rank,
        "pool": str(row.pool),
        "market": row.pool.market,
        "phase": row.phase,
        "usd_per_hour": str(row.usd_per_hour),
        "on_demand_usd_per_hour": str(row.on_demand_usd_per_hour),
        "launched_at": plain(row.launched_at),
        "ended_at": plain(row.ended_at),
        "end_reason": row.end_reason,
        "reclaimed": row.reclaimed,
        "cost_usd": str(cost_usd(row, now).quantize(Decimal("0.00001"))),
        "notice": plain(asdict(row.notice)) if row.notice else None,
        "report": _report(row),
    }


def _report(row: Instance) -> Json | None:
    if row.report is None:
        return None
    report = row.report
    return {
        "phase": report.phase,
        "step": report.step,
        "total_steps": report.total_steps,
        "metrics": dict(report.metrics),
        "committed_step": report.committed.step if report.committed else None,
        "trouble": report.trouble,
        "disk_free_bytes": report.disk_free_bytes,
        "reported_at": plain(row.reported_at),
    }


def event(row: Event) -> Json:
    return {**plain(asdict(row))}


def drill(row: Drill) -> Json:
    return {**plain(asdict(row))}


def stage_plan(plan: StagePlan) -> Json:
    """What would be chosen, why, at what price."""
    choice, offer = plan.choice, plan.choice.offer
    return {
        "stage": plan.stage,
        "requirement": _requirement(plan.requirement),
        "instances": plan.instances,
        "reason": choice.reason,
        "choice": None
        if offer is None
        else {
            "pool": str(offer.pool),
            "market": offer.pool.market,
            "usd_per_hour": str(offer.usd_per_hour),
            "bid_usd_per_hour": plain(choice.bid_usd_per_hour),
            "on_demand_usd_per_hour": str(offer.on_demand_usd_per_hour),
        },
        "considered": [
            {
                "pool": str(one.offer.pool),
                "usd_per_hour": str(one.offer.usd_per_hour),
                "on_demand_usd_per_hour": str(one.offer.on_demand_usd_per_hour),
                "verdict": one.verdict,
            }
            for one in choice.considered
        ],
    }


def _requirement(need: Requirement) -> Json:
    return {**plain(asdict(need))}

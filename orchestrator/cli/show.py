"""`orch show`."""

from typing import Any

import click

from orchestrator.cli.client import job_path
from orchestrator.cli.drill import verdict
from orchestrator.cli.events import now_lines
from orchestrator.cli.options import api, as_json, show_json
from orchestrator.cli.places import Session
from orchestrator.cli.table import age, clock, count, steps, table, usd

Json = dict[str, Any]


@click.command(short_help="Show one job whole.")
@click.argument("job")
@as_json
@click.pass_obj
def show(session: Session, job: str, as_json: bool) -> None:
    """Show one job whole: stages, attempts, instances, costs. JOB is an id or a name.

    \b
    Example:  orch show resnet50
    """
    detail = api(session).get(job_path(job))
    if as_json:
        show_json(detail)
        return
    click.echo("\n\n".join(_paragraphs(detail)))


def _paragraphs(detail: Json) -> list[str]:
    head = "\n".join([f"{detail['name']} ({detail['id']})", *now_lines(detail), *_position(detail)])
    parts = [head, _attempts(detail), _instances(detail), _drills(detail), "\n".join(_accounts(detail))]
    return [part for part in parts if part]


def _position(detail: Json) -> list[str]:
    """Stage by stage, how far it is."""
    if detail["ended_at"] is not None:
        return []
    return [line for stage in detail["stages"] for line in _progress(detail, stage)]


def _progress(detail: Json, stage: Json) -> list[str]:
    if stage["shards"] is not None:
        return [f"{stage['name']}: {stage['shards']['done']} of {stage['shards']['total']} shards are done"]
    if detail["step"] is None:
        return []
    figures = ", ".join(f"{name} {value:.4g}" for name, value in detail["metrics"].items())
    return [f"{stage['name']}: step {steps(detail['step'], detail['total_steps'])}{figures and f', {figures}'}"]


# ---------------------------------------------------------------- attempts and instances


def _attempts(detail: Json) -> str:
    heads = ("STAGE", "TRY", "STATE", "STEPS", "KEPT", "USD", "POOL")
    rows = [row for stage in detail["stages"] for row in _stage_rows(stage)]
    return table(heads, rows, shorten=("POOL",))


def _stage_rows(stage: Json) -> list[tuple[object, ...]]:
    rows = [_attempt_row(stage, attempt) for attempt in stage["attempts"]]
    return rows or [(stage["name"], None, stage["state"], None, None, None, None)]


def _attempt_row(stage: Json, attempt: Json) -> tuple[object, ...]:
    found = attempt["instances"]
    return (
        stage["name"],
        attempt["number"],
        attempt["outcome"] or _phase(attempt),
        _steps(attempt),
        attempt["committed_step"],
        f"{sum(float(instance['cost_usd']) for instance in found):.4f}",
        found[0]["pool"] if len(found) == 1 else count(len(found), "instance"),
    )


def _phase(attempt: Json) -> str:
    """Of an attempt that lives: what its newest agent says."""
    if not attempt["instances"]:
        return "waiting"
    report = attempt["instances"][-1]["report"]
    return str(report["phase"]) if report else "booting"


def _steps(attempt: Json) -> str:
    if attempt["reached_step"] is None:
        return "-"
    return f"{attempt['base_step'] or 0}-{attempt['reached_step']}"


def _instances(detail: Json) -> str:
    attempts = [(stage["name"], attempt) for stage in detail["stages"] for attempt in stage["attempts"]]
    rows = [
        (one["id"], f"{stage} {attempt['number']}", phase(one), age(one["launched_at"]), one["pool"])
        for stage, attempt in attempts
        for one in attempt["instances"]
        if one["phase"] != "terminated"
    ]
    return table(("INSTANCE", "FOR", "PHASE", "AGE", "POOL"), rows, shorten=("POOL",)) if rows else ""


def phase(instance: Json) -> str:
    """The provider's word, or that it will be taken, and when."""
    if instance["notice"] and instance["phase"] != "terminated":
        return f"taken {clock(instance['notice']['deadline'])}"
    return str(instance["phase"])


# ---------------------------------------------------------------- drills and accounts


def _drills(detail: Json) -> str:
    return "\n".join(_drill(drill) for drill in detail["drills"])


def _drill(drill: Json) -> str:
    said = "it is still running." if drill["state"] == "running" else verdict(drill)
    return f"Drill at {clock(drill['asked_at'])}: {said}"


def _accounts(detail: Json) -> list[str]:
    books = detail["accounts"]
    share = books["savings_share"]
    saved = "" if share is None else f", {share:.0%} saved after waste"
    ran = age(detail["created_at"], detail["ended_at"])
    return [
        f"{books['reclaims']} of {count(books['attempts'], 'attempt')} lost, "
        f"{count(books['steps_redone'], 'step')} done twice "
        f"({books['steps_redone_with_notice']} of them although there was a notice)",
        f"{usd(books['cost_usd'])} USD; on demand {usd(books['on_demand_usd'])} USD{saved}",
        f"{usd(books['wasted_usd'])} USD and {books['wasted_gpu_s']:.0f} GPU seconds were waste; {ran} in all",
    ]

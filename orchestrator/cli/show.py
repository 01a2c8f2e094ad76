"""`orch show`."""

from typing import Any

import click

from orchestrator.cli.client import job_path
from orchestrator.cli.options import api, as_json, show_json
from orchestrator.cli.places import Session
from orchestrator.cli.table import age, steps, table, usd


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
    click.echo("\n".join(_lines(detail)))


def _lines(detail: dict[str, Any]) -> list[str]:
    return [
        f"{detail['name']} ({detail['id']}): {detail['state']}",
        detail["reason"],
        *(f"ALARM: {alarm}" for alarm in detail["alarms"]),
        "",
        _attempts(detail),
        "",
        *_accounts(detail),
    ]


def _attempts(detail: dict[str, Any]) -> str:
    heads = ("STAGE", "TRY", "STATE", "FROM", "REACHED", "KEPT", "USD", "INSTANCE")
    return table(heads, [row for stage in detail["stages"] for row in _stage_rows(stage)])


def _stage_rows(stage: dict[str, Any]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for attempt in stage["attempts"]:
        cost = sum(float(instance["cost_usd"]) for instance in attempt["instances"])
        rows.append(
            (
                stage["name"],
                attempt["number"],
                attempt["outcome"] or _phase(attempt),
                attempt["base_step"],
                _reached(stage, attempt),
                attempt["committed_step"],
                f"{cost:.4f}",
                _instances(attempt),
            )
        )
    return rows or [(stage["name"], None, stage["state"], None, None, None, None, None)]


def _phase(attempt: dict[str, Any]) -> str:
    if not attempt["instances"]:
        return "waiting"
    report = attempt["instances"][-1]["report"]
    return str(report["phase"]) if report else "booting"


def _reached(stage: dict[str, Any], attempt: dict[str, Any]) -> str:
    if stage["shards"] is not None:
        return f"{stage['shards']['done']}/{stage['shards']['total']}"
    return steps(attempt["reached_step"], attempt["total_steps"])


def _instances(attempt: dict[str, Any]) -> str:
    found = attempt["instances"]
    if len(found) > 1:
        return f"{len(found)} instances"
    return f"{found[0]['id']} {found[0]['pool']}" if found else "-"


def _accounts(detail: dict[str, Any]) -> list[str]:
    books = detail["accounts"]
    share = books["savings_share"]
    saved = "" if share is None else f", {share:.0%} saved after waste"
    ran = age(detail["created_at"], detail["ended_at"])
    return [
        f"{books['reclaims']} losses, {books['steps_redone']} steps done twice "
        f"({books['steps_redone_with_notice']} of them although there was a notice)",
        f"{usd(books['cost_usd'])} USD; on demand it would have been {usd(books['on_demand_usd'])} USD{saved}",
        f"{usd(books['wasted_usd'])} USD and {books['wasted_gpu_s']:.0f} GPU seconds were waste; {ran} in all",
    ]

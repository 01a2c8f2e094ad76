"""`orch submit` and `orch plan`."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from orchestrator.cli import follow as following
from orchestrator.cli.client import Api, job_path
from orchestrator.cli.events import tell_events
from orchestrator.cli.failures import AnswerLost, Farewell
from orchestrator.cli.jobtext import JobText, read_job_text
from orchestrator.cli.options import api, as_json, farewell, json_line, show_json
from orchestrator.cli.places import Session
from orchestrator.cli.table import table
from orchestrator.model import exits

Json = dict[str, Any]
_SHOWN_OF_A_KIND = 5

_file = click.argument("file", type=click.Path(path_type=Path))
_set = click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the file.")


@click.command(short_help="Hand in a job file.")
@_file
@_set
@click.option("-f", "--follow", is_flag=True, help="Follow its events to its end.")
@click.option("--dry-run", is_flag=True, help="Hand nothing in; do as `orch plan` does.")
@as_json
@click.pass_obj
def submit(
    session: Session, file: Path, settings: tuple[str, ...], follow: bool, dry_run: bool, as_json: bool
) -> int:
    """Hand in a job file. Your defaults are in ~/.config/orch/defaults.toml.

    With -f the exit code says whether the job succeeded. With -f and --json, first the job and then each
    event is an object on a line of its own.

    \b
    Example:  orch submit job.toml --set train.env.SEED=2 -f
    """
    if dry_run and follow:
        raise click.UsageError("--dry-run hands nothing in: there is nothing to follow")
    if dry_run:
        _tell_plan(session, read_job_text(file, settings), as_json)
        return exits.OK
    daemon = api(session)
    answer = _hand_in(session, daemon, read_job_text(file, settings))
    job = answer["job"]
    _warn(answer["warnings"])
    if follow:
        return _follow(session, daemon, job, _json_lines if as_json else tell_events)
    if as_json:
        show_json(job)
        return exits.OK
    click.echo(f"Job {job['name']} is submitted as {job['id']}.")
    click.echo(f"Watch it:  {session.command('events', job['id'], '-f')}")
    return exits.OK


def _hand_in(session: Session, daemon: Api, text: JobText) -> Json:
    # The key is made before the first try: however often the request is sent, it is one job (B136).
    body = {"toml": text.toml, "idempotency_key": uuid.uuid4().hex}
    look = f"whether it was handed in:  {session.command('ps')}"
    try:
        with text.naming_faults():
            answer: Json = daemon.post_again("/v1/jobs", body)
    except AnswerLost as lost:
        raise type(lost)(*lost.lines, look) from None
    except KeyboardInterrupt:
        raise Farewell(f"Interrupted before the daemon answered; {look}") from None
    return answer


def _follow(session: Session, daemon: Api, job: Json, tell: Callable[[Iterator[Json]], None]) -> int:
    try:
        if tell is _json_lines:
            json_line(job)
        else:
            click.echo(f"Job {job['name']} is submitted as {job['id']}.")
        tell(following.events(daemon, job["id"], 0, follow=True))
        state = daemon.waiting().get(job_path(job["id"]))["state"]
    except KeyboardInterrupt:
        raise farewell(session, job["id"], ("events", job["id"], "-f")) from None
    return exits.OK if state == "succeeded" else exits.FAILED


def _json_lines(events: Iterator[Json]) -> None:
    for event in events:
        json_line(event)


@click.command(short_help="Say what would be chosen for a job file.")
@_file
@_set
@as_json
@click.pass_obj
def plan(session: Session, file: Path, settings: tuple[str, ...], as_json: bool) -> None:
    """Say what would be chosen for a job file, why, and at what price. Nothing is launched.

    \b
    Example:  orch plan job.toml
    """
    _tell_plan(session, read_job_text(file, settings), as_json)


def _tell_plan(session: Session, text: JobText, as_json: bool) -> None:
    with text.naming_faults():
        answer = api(session).post_again("/v1/plan", {"toml": text.toml})
    if as_json:
        show_json(answer)
        return
    for stage in answer["stages"]:
        click.echo("\n".join([*stage_lines(stage), ""]))
    for stage_name, variables in answer["environment"].items():
        for name, value in variables.items():
            click.echo(f"{stage_name}.env.{name} = {value}")
    _warn(answer["warnings"])


def stage_lines(stage: Json) -> list[str]:
    """What would be chosen for a stage, and what else there is: of each verdict the cheapest pools."""
    instances = "1 instance" if stage["instances"] == 1 else f"{stage['instances']} instances"
    by_verdict: dict[str, list[Json]] = {}
    for one in stage["considered"]:
        by_verdict.setdefault(one["verdict"], []).append(one)
    shown = [one for alike in by_verdict.values() for one in alike[:_SHOWN_OF_A_KIND]]
    rows = [(one["usd_per_hour"], one["pool"], one["verdict"]) for one in shown]
    return [
        f"{stage['stage']}: {instances}; {stage['reason']}",
        *_price_lines(stage["choice"]),
        table(("USD/H", "POOL", "VERDICT"), rows, shorten=("POOL", "VERDICT")),
        *(_more(verdict, len(alike) - _SHOWN_OF_A_KIND) for verdict, alike in by_verdict.items() if _hidden(alike)),
    ]


def _price_lines(choice: Json | None) -> list[str]:
    if choice is None:
        return []
    bid = "" if choice["bid_usd_per_hour"] is None else f"; the bid is {choice['bid_usd_per_hour']} USD/h"
    return [f"{choice['usd_per_hour']} USD/h an instance, on demand {choice['on_demand_usd_per_hour']} USD/h{bid}"]


def _hidden(alike: list[Json]) -> bool:
    return len(alike) > _SHOWN_OF_A_KIND


def _more(verdict: str, number: int) -> str:
    return f"and {number} more: {verdict}"


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)

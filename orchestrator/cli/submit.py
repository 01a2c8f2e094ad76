"""`orch submit` and `orch plan`."""

import os
import uuid
from pathlib import Path
from typing import Any

import click

from orchestrator.cli import follow as following
from orchestrator.cli.client import Api, job_path
from orchestrator.cli.events import event_line
from orchestrator.cli.failures import Failure, Faults
from orchestrator.cli.options import api, as_json, farewell, show_json
from orchestrator.cli.places import Session, user_config_dir
from orchestrator.cli.table import table
from orchestrator.model import exits

_file = click.argument("file", type=click.Path(path_type=Path))
_set = click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the file.")


@click.command(short_help="Hand in a job file.")
@_file
@_set
@click.option("-f", "--follow", is_flag=True, help="Follow its events to its end.")
@as_json
@click.pass_obj
def submit(session: Session, file: Path, settings: tuple[str, ...], follow: bool, as_json: bool) -> int:
    """Hand in a job file. Your defaults are in ~/.config/orch/defaults.toml.

    \b
    Example:  orch submit job.toml --set train.env.SEED=2 -f
    """
    daemon = api(session)
    # Made before the first try: however often the request is sent, it is one job (B136).
    body = {"toml": _text(file, settings), "idempotency_key": uuid.uuid4().hex}
    answer = _ask(file, lambda: daemon.post_again("/v1/jobs", body))
    job = answer["job"]
    _warn(answer["warnings"])
    if as_json and not follow:
        show_json(job)
        return exits.OK
    click.echo(f"Job {job['name']} is submitted as {job['id']}.")
    if not follow:
        click.echo(f"Watch it:  {session.command('events', job['id'], '-f')}")
        return exits.OK
    return _follow(session, daemon, job["id"])


def _follow(session: Session, daemon: Api, job: str) -> int:
    try:
        for event in following.events(daemon, job, 0, follow=True):
            click.echo(event_line(event))
    except KeyboardInterrupt:
        raise farewell(session, job, ("events", job, "-f")) from None
    state = daemon.get(job_path(job))["state"]
    return exits.OK if state == "succeeded" else exits.FAILED


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
    daemon = api(session)
    answer = _ask(file, lambda: daemon.post("/v1/plan", {"toml": _text(file, settings)}))
    if as_json:
        show_json(answer)
        return
    for stage in answer["stages"]:
        click.echo("\n".join(_stage_lines(stage)))
    for stage_name, variables in answer["environment"].items():
        for name, value in variables.items():
            click.echo(f"{stage_name}.env.{name} = {value}")
    _warn(answer["warnings"])


def _stage_lines(stage: dict[str, Any]) -> list[str]:
    count = stage["instances"]
    plural = "instance" if count == 1 else "instances"
    rows = [(one["usd_per_hour"], one["pool"], one["verdict"]) for one in stage["considered"]]
    return [
        f"{stage['stage']}: {count} {plural}; {stage['reason']}",
        table(("USD/H", "POOL", "VERDICT"), rows),
        "",
    ]


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


# ---------------------------------------------------------------- the file


def _text(file: Path, settings: tuple[str, ...]) -> str:
    """The file with the user's defaults and `--set`."""
    text = _read(file)
    defaults = user_config_dir(os.environ) / "defaults.toml"
    if not settings and not defaults.exists():
        return text
    from orchestrator.model.faults import BadFile
    from orchestrator.model.overrides import apply_overrides, merge_defaults

    try:
        if defaults.exists():
            text = merge_defaults(text, _read(defaults))
        return apply_overrides(text, settings)
    except BadFile as bad:
        raise Faults(f"{file}:{fault}" for fault in bad.faults) from None


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Failure(exits.BAD_FILE, f"{file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Faults([f"{file}:{line}: the file is not UTF-8"]) from None


def _ask(file: Path, ask: Any) -> Any:
    """The daemon's answer; faults of the file are told with its name."""
    try:
        return ask()
    except Faults as faults:
        raise Faults(f"{file}:{line}" if line[:1].isdigit() else f"{file}: {line}" for line in faults.lines) from None

"""`orch config`, `orch doctor`, `orch daemon`, `orch bundle`."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.failures import Failure, Faults, NotRunning, fault_line
from orchestrator.cli.options import api, as_json, show_json
from orchestrator.cli.places import Session, config_path
from orchestrator.model import exits

_config = click.option("--config", "file", type=click.Path(path_type=Path), help="[$ORCH_CONFIG, or the usual one]")

_state = click.option(
    "--state", type=click.Path(file_okay=False, path_type=Path), help="[$ORCH_STATE, or the usual one]"
)


@click.group(short_help="Check a config file.")
def config() -> None:
    """The daemon's config file."""


@config.command(short_help="Check a config file.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@as_json
def check(file: Path | None, as_json: bool) -> None:
    """Check a config file, and say what is wrong with it.

    \b
    Example:  orch config check /etc/orch/config.toml
    """
    from orchestrator.cli.local import check_config

    path = config_path(None if file is None else str(file), os.environ, os.geteuid())
    faults = check_config(path)
    if as_json:
        show_json({"file": str(path) if path else None, "faults": faults})
    if faults:
        raise Faults([] if as_json else (fault_line(str(path or "the defaults"), fault) for fault in faults))
    if not as_json:
        click.echo(f"{path or 'The embedded defaults'}: nothing is wrong.")


@click.command(short_help="Look for what would stop a job.")
@as_json
@click.pass_obj
def doctor(session: Session, as_json: bool) -> int:
    """Look for what would stop a job, and say how to mend it.

    \b
    Example:  orch doctor
    """
    findings = _findings(session)
    if as_json:
        show_json(findings)
    else:
        for one in findings:
            click.echo("\n".join(_finding_lines(one)))
    return exits.OK if all(one["ok"] for one in findings) else exits.FAILED


def _finding_lines(one: dict[str, Any]) -> list[str]:
    told = f"{'ok  ' if one['ok'] else 'BAD '} {one['subject']}: {one['message']}"
    return [told, f"     to mend it: {one['mend']}"] if one["mend"] else [told]


def _findings(session: Session) -> list[dict[str, Any]]:
    """The daemon's; where none runs, that, and what can be seen without one."""
    try:
        health = api(session).get("/v1/health")
    except NotRunning as away:
        from orchestrator.cli.local import preflight

        mend = "start it with `orch daemon`, or name its socket with --socket"
        missing = _finding(False, f"none runs: {away.lines[0].partition('; ')[0]}", mend)
        return [missing, *preflight(config_path(None, os.environ, os.geteuid()))]
    about = f"version {health['version']}, pid {health['pid']}, state in {health['state_dir']}"
    return [_finding(True, about, ""), *api(session).get("/v1/doctor")["findings"]]


def _finding(ok: bool, message: str, mend: str) -> dict[str, Any]:
    return {"subject": "daemon", "ok": ok, "message": message, "mend": mend}


@click.command(short_help="Run orchd here, in the foreground.")
@_config
@_state
def daemon(file: Path | None, state: Path | None) -> int:
    """Run orchd here, in the foreground. SIGTERM ends it and leaves instances running; SIGHUP reloads.

    \b
    Example:  orch daemon --state ./state
    """
    from orchestrator.cli.local import run_daemon

    return run_daemon(config_path(None if file is None else str(file), os.environ, os.geteuid()), state)


@click.command(short_help="Make the agent's bundle, for machines that have only Python.")
@_config
@_state
@click.option("--python", metavar="VERSION", default="{}.{}".format(*sys.version_info), show_default=True)
@click.option("--processor", metavar="NAME", default=os.uname().machine, show_default=True)
@as_json
def bundle(file: Path | None, state: Path | None, python: str, processor: str, as_json: bool) -> None:
    """Make the agent's bundle, for machines that have only Python, and put it into the object store.

    VERSION is the machines' Python, 3.10 or newer; NAME is their processor, x86_64 or aarch64.

    \b
    Example:  orch bundle --python 3.10
    """
    from orchestrator.cli.local import CannotBundle, keep_bundle

    config = config_path(None if file is None else str(file), os.environ, os.geteuid())
    try:
        digest = keep_bundle(config, state, python, processor)
    except CannotBundle as error:
        raise Failure(exits.FAILED, str(error)) from None
    if as_json:
        show_json({"digest": digest, "key": f"bundles/{digest}.tar"})
        return
    click.echo(f"bundles/{digest}.tar is in the object store. To use it, say in the config file:")
    click.echo(f'bundle = "{digest}"')

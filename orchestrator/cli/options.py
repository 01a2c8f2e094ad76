"""Options and endings that commands share."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchestrator.cli.client import Api, connect
from orchestrator.cli.failures import Farewell
from orchestrator.cli.places import Session

F = TypeVar("F", bound=Callable[..., Any])


def as_json(command: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def api(session: Session) -> Api:
    return connect(session.socket)


def show_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


def json_line(value: Any) -> None:
    """One object a line, for streams."""
    click.echo(json.dumps(value))


def farewell(session: Session, job: str, back: tuple[str, ...]) -> Farewell:
    """Ctrl-C while following: the job goes on, and these commands come back to it or end it (B132)."""
    return Farewell(
        f"Job {job} goes on without you.",
        f"Come back to it:  {session.command(*back)}",
        f"Cancel it:        {session.command('cancel', job)}",
    )

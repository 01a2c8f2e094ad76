"""`orch events` and `orch explain`."""

from collections.abc import Iterator
from typing import Any

import click

from orchestrator.cli import follow as following
from orchestrator.cli.client import job_path
from orchestrator.cli.options import api, as_json, farewell, json_line, show_json
from orchestrator.cli.places import Session
from orchestrator.cli.table import clock

# What explains nothing that another event does not.
_DULL = frozenset({"checkpoint.committed", "shard.committed", "agent.reported"})


@click.command(short_help="Print what happened to a job, or to all.")
@click.argument("job", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@as_json
@click.pass_obj
def events(session: Session, job: str | None, follow: bool, as_json: bool) -> None:
    """Print what happened to a job, or to all jobs.

    \b
    Example:  orch events resnet50 -f
    """
    try:
        for event in following.events(api(session), job, 0, follow=follow):
            if as_json:
                json_line(event)
            else:
                click.echo(event_line(event))
    except KeyboardInterrupt:
        if job is None:
            raise
        raise farewell(session, job, ("events", job, "-f")) from None


def event_line(event: dict[str, Any]) -> str:
    """Time, name, sentence."""
    alarm = "ALARM " if event["data"].get("alarm") else ""
    return f"{clock(event['at'])}  {event['name']:<26} {alarm}{event['reason']}"


@click.command(short_help="Tell a job's history in words.")
@click.argument("job")
@as_json
@click.pass_obj
def explain(session: Session, job: str, as_json: bool) -> None:
    """Tell a job's history in words, and why it is where it is now.

    \b
    Example:  orch explain resnet50
    """
    detail = api(session).get(job_path(job))
    told = list(_telling(session, detail["id"]))
    if as_json:
        show_json({"job": detail["id"], "state": detail["state"], "reason": detail["reason"], "history": told})
        return
    for event in told:
        alarm = "ALARM: " if event["data"].get("alarm") else ""
        click.echo(f"{clock(event['at'])}  {alarm}{event['reason']}")
    click.echo(f"\nNow {detail['state']}: {detail['reason']}")


def _telling(session: Session, job: str) -> Iterator[dict[str, Any]]:
    for event in following.events(api(session), job, 0, follow=False):
        if event["name"] not in _DULL:
            yield event

"""`orch events` and `orch explain`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import click

from orchestrator.cli import follow as following
from orchestrator.cli.client import Api, job_id, job_path
from orchestrator.cli.options import api, as_json, farewell, json_line, show_json
from orchestrator.cli.places import Session
from orchestrator.cli.table import clock, day

Event = dict[str, Any]

# What explains nothing that another event does not.
_DULL = frozenset({"checkpoint.committed", "shard.committed", "agent.reported"})


@click.command(short_help="Print what happened to a job, or to all.")
@click.argument("job", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@as_json
@click.pass_obj
def events(session: Session, job: str | None, follow: bool, as_json: bool) -> None:
    """Print what happened to a job, or to all jobs. Times are in UTC.

    With --json each event is an object on a line of its own.

    \b
    Example:  orch events resnet50 -f
    """
    daemon = api(session)
    try:
        found = following.events(daemon, job and job_id(daemon, job), 0, follow=follow)
        if as_json:
            for event in found:
                json_line(event)
        else:
            tell_events(found)
    except KeyboardInterrupt:
        if job is None:
            raise
        raise farewell(session, job, ("events", job, "-f")) from None


def tell_events(events: Iterable[Event]) -> None:
    """A line an event as it comes, under its day."""
    for today, of_the_day in groupby(events, lambda event: day(event["at"])):
        click.echo(today)
        for event in of_the_day:
            click.echo(event_line(event))


def event_line(event: Event) -> str:
    """Time, name, sentence."""
    return f"{clock(event['at'])}  {event['name']:<26} {_sentence(event)}"


def _sentence(event: Event) -> str:
    return f"{'ALARM: ' if event['data'].get('alarm') else ''}{event['reason']}"


@click.command(short_help="Tell a job's history in words.")
@click.argument("job")
@as_json
@click.pass_obj
def explain(session: Session, job: str, as_json: bool) -> None:
    """Tell a job's history in words, and why it is where it is now. Times are in UTC.

    \b
    Example:  orch explain resnet50
    """
    daemon = api(session)
    job = job_id(daemon, job)
    history = list(_telling(daemon, job))
    detail = daemon.get(job_path(job))  # asked last, so that the end is not older than the history
    if as_json:
        show_json({"job": detail["id"], "state": detail["state"], "reason": detail["reason"], "history": history})
        return
    click.echo("\n".join([*history_lines(history), "", *now_lines(detail)]))


def _telling(daemon: Api, job: str) -> Iterator[Event]:
    for event in following.events(daemon, job, 0, follow=False):
        if event["name"] not in _DULL:
            yield event


def history_lines(events: Iterable[Event]) -> list[str]:
    """Timestamped sentences under their days; what is said several times in a row is said once."""
    lines: list[str] = []
    for today, of_the_day in groupby(events, lambda event: day(event["at"])):
        lines.append(today)
        lines.extend(_said(list(same)) for _, same in groupby(of_the_day, _sentence))
    return lines


def _said(same: list[Event]) -> str:
    number = max(Counter(event["name"] for event in same).values())
    times = f" ({number} times)" if number > 1 else ""
    return f"{clock(same[0]['at'])}  {_sentence(same[0])}{times}"


def now_lines(detail: dict[str, Any]) -> list[str]:
    """Where the job is now, and why; what a person should look at."""
    alarms = [f"An alarm is on: {alarm}." for alarm in detail["alarms"]]
    return [f"Now {detail['state']}: {detail['reason']}", *alarms, *_troubles(detail)]


def _troubles(detail: dict[str, Any]) -> list[str]:
    """What living agents say stands in their way."""
    attempts = [attempt for stage in detail["stages"] for attempt in stage["attempts"]]
    alive = [one for attempt in attempts for one in attempt["instances"] if one["phase"] != "terminated"]
    troubled = [one for one in alive if one["report"] and one["report"]["trouble"]]
    return [f"The agent on {one['id']} says: {one['report']['trouble']}" for one in troubled]

"""`orch drill`."""

from collections.abc import Callable, Iterator
from typing import Any

import click

from orchestrator.cli import follow as following
from orchestrator.cli.client import Api, job_id, job_path
from orchestrator.cli.events import event_line
from orchestrator.cli.failures import AnswerLost, Farewell
from orchestrator.cli.options import api, as_json, farewell, show_json
from orchestrator.cli.places import Session
from orchestrator.model import exits

Drill = dict[str, Any]
LOOK_EVERY_S = 1.0

# Told while a drill is under way: what the hand-over consists of.
_TOLD = ("instance.", "attempt.", "launch.", "job.")


@click.command(short_help="Reclaim a running job on purpose.")
@click.argument("job")
@click.option("--window", type=click.FloatRange(min=0, min_open=True), help="Seconds of notice.  [the provider's]")
@click.option("--unannounced", is_flag=True, help="Take the instance without a notice.")
@as_json
@click.pass_obj
def drill(session: Session, job: str, window: float | None, unannounced: bool, as_json: bool) -> int:
    """Reclaim a running job's instance on purpose, and report whether its state survived.

    The job gets a notice with the provider's window; then the instance is taken. It is refused where no
    attempt trains or one is under notice already.

    \b
    Example:  orch drill resnet50
    """
    daemon = api(session)
    if window is not None and unannounced:
        raise click.UsageError("--window is the length of a notice, and --unannounced gives none")
    job = job_id(daemon, job)
    before = _last_event(daemon, job)
    found = _ask(session, daemon, job, {"window_s": window, "announced": not unannounced})
    tell = (lambda _line: None) if as_json else click.echo
    tell(_began(found))
    try:
        found = _judged(daemon.waiting(), found, before, tell)
    except KeyboardInterrupt:
        raise _farewell(session, found) from None
    if as_json:
        show_json(found)
    tell(verdict(found))
    return exits.OK if found["state"] == "survived" else exits.FAILED


def _last_event(daemon: Api, job: str) -> int:
    seqs = [event["seq"] for event in following.events(daemon, job, 0, follow=False)]
    return max(seqs, default=0)


def _ask(session: Session, daemon: Api, job: str, body: dict[str, object]) -> Drill:
    try:
        drill: Drill = daemon.post(job_path(job, "drill"), body)["drill"]
    except AnswerLost as lost:
        raise type(lost)(*lost.lines, f"the drill may be under way:  {session.command('show', job)}") from None
    return drill


def _began(found: Drill) -> str:
    when = f"in {found['window_s']:.0f} s" if found["window_s"] else "now, without a notice"
    return f"Attempt {found['attempt']} loses instance {found['instance']} {when}. Waiting for training to go on."


def _judged(daemon: Api, found: Drill, after: int, tell: Callable[[str], object]) -> Drill:
    """The drill once it has a verdict; meanwhile what happens is told."""
    while found["state"] == "running":
        answer = daemon.get(job_path(found["job"], "events"), after=after, wait_s=LOOK_EVERY_S)
        after = answer["last"]
        for line in _lines(answer["events"]):
            tell(line)
        wait_s = LOOK_EVERY_S if answer["ended"] else 0
        found = daemon.get(job_path(found["job"], "drills", found["id"]), wait_s=wait_s)["drill"]
    return found


def _lines(events: list[dict[str, Any]]) -> Iterator[str]:
    return (event_line(event) for event in events if event["name"].startswith(_TOLD))


def verdict(found: Drill) -> str:
    """What was given, what was committed, what training went on from."""
    given = f"was given {found['window_s']:.0f} s" if found["window_s"] else "lost its instance without a notice"
    step = found["committed_step"]
    committed = "" if step is None else f"; it had committed step {step}"
    reason = found["reason"].rstrip(".")
    return f"Attempt {found['attempt']} {given}{committed}; {reason}: {found['state']}."


def _farewell(session: Session, found: Drill) -> Farewell:
    usual = farewell(session, found["job"], ("show", found["job"]))
    return Farewell("The drill goes on without you; `show` tells its verdict.", *usual.lines)

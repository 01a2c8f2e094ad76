"""`orch demo`: a training job loses three instances before your eyes, and no work."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.places import Session

if TYPE_CHECKING:
    from orchestrator.cli.demo_run import Outcome, Tools
    from orchestrator.cli.demo_view import View


@click.command(short_help="Watch a training job survive three lost instances.")
@click.option("--stop", is_flag=True, help="End the demos' daemons and instances, and remove their files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_obj
def demo(session: Session, stop: bool, as_json: bool) -> None:  # click's flags
    """Watch a training job survive three lost instances.

    A daemon of its own rents pretended instances on this machine: no cloud account is needed. Two of them are
    reclaimed with a notice and one without. In the end the weights are compared, byte for byte, with those of
    a run that nobody disturbed. The daemon stays up, so that you can look around, until `orch demo --stop`;
    where several are up, that ends all that nobody watches, and with --socket the one it names.

    \b
    Example:  orch demo
              orch demo --stop
    """
    if stop:
        _stop(session.socket_option, as_json)
    elif as_json:
        _run_for_script()
    else:
        _run_for_person()


# ---------------------------------------------------------------- running


def _run_for_script() -> None:
    import json

    from orchestrator.cli.demo_summary import as_json
    from orchestrator.cli.demo_view import Lines

    outcome = _run(Lines(sys.stderr))
    click.echo(json.dumps(as_json(outcome.summary)))
    _check(outcome)


def _run_for_person() -> None:
    from orchestrator.cli.demo_summary import lines
    from orchestrator.cli.demo_view import Lines, Picture

    outcome = _run(Picture() if sys.stdout.isatty() else Lines(sys.stdout))
    click.echo("\n".join(["", *lines(outcome.summary), "", *_what_next(outcome)]))
    _check(outcome)


def _run(view: "View") -> "Outcome":
    from orchestrator.cli.demo_run import run_demo

    return run_demo(os.environ, _tools(view))


def _tools(view: "View") -> "Tools":
    from orchestrator.cli.client import connect
    from orchestrator.cli.demo_run import Tools
    from orchestrator.cli.local import living_instances

    return Tools(connect, living_instances, view, _program())


def _program() -> tuple[str, ...]:
    from orchestrator.cli.program import program

    return program(sys.argv[0], Path.cwd())


def _check(outcome: "Outcome") -> None:
    from orchestrator.cli.demo_summary import failure

    failed = failure(outcome.summary, str(outcome.demo.log))
    if failed is not None:
        raise failed


def _what_next(outcome: "Outcome") -> list[str]:
    from orchestrator.cli.demo_run import next_commands
    from orchestrator.cli.program import shortest

    job_file = shortest(outcome.example / "job.toml", Path.cwd())
    commands = next_commands(outcome, _program(), job_file)
    return [
        "The daemon is still up. To try next:",
        *(line for text, why in commands for line in (f"  # {why}", f"  {text}")),
    ]


# ---------------------------------------------------------------- ending


def _stop(socket: str | None, as_json: bool) -> None:
    import json

    ended = _end(socket)
    watched = _watched()
    if as_json:
        click.echo(json.dumps({"ended": list(ended), "watched": watched}))
        return
    for home, left in ended.items():
        alive = f"{left} instance{'' if left == 1 else 's'} still lived"
        click.echo(f"Ended {home}: {alive}, none does now; its files are removed.")
    for home in watched:
        click.echo(f"{home} is still being watched: press Ctrl-C there, or name its socket with --socket.")
    if not ended and not watched:
        click.echo("No demo is up.")


def _end(socket: str | None) -> dict[str, int]:
    """The directories of the demos that were ended, with how many instances each still had."""
    from orchestrator.cli.demo_end import chosen, end_demo
    from orchestrator.cli.local import living_instances, terminate_instances

    return {str(one.home): end_demo(one, living_instances, terminate_instances) for one in chosen(os.environ, socket)}


def _watched() -> list[str]:
    from orchestrator.cli.demo_places import all_demos

    return [str(one.home) for one in all_demos(os.environ) if one.is_watched()]

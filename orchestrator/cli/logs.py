"""`orch logs`."""

import sys
from collections.abc import Iterable
from typing import Any

import click

from orchestrator.cli import follow as following
from orchestrator.cli.client import job_id
from orchestrator.cli.options import api, as_json, farewell, json_line
from orchestrator.cli.places import Session

_LONGEST_LINE = 64 * 1024  # characters that wait for the end of their line


@click.command(short_help="Print what a job's stages printed.")
@click.argument("job")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--attempt", type=click.IntRange(min=1), help="Of this attempt alone.")
@click.option("--stage", type=click.Choice(["preprocess", "train"]), help="Of this stage alone.")
@as_json
@click.pass_obj
def logs(session: Session, job: str, follow: bool, attempt: int | None, stage: str | None, as_json: bool) -> None:
    """Print what a job's stages printed, each line with its stage and the number of its attempt.

    Of an instance that dies without a notice the last half second may be missing; of a trainer that prints
    faster than can be sent, what it printed last before a reclaim.
    With --json each piece is an object on a line of its own.

    \b
    Example:  orch logs resnet50 -f
    """
    daemon = api(session)
    try:
        pieces = following.printed(daemon, job_id(daemon, job), attempt, stage, follow=follow)
        if as_json:
            for piece in pieces:
                json_line(piece)
        else:
            print_pieces(pieces)
    except KeyboardInterrupt:
        raise farewell(session, job, ("logs", job, "-f")) from None


def print_pieces(pieces: Iterable[dict[str, Any]]) -> None:
    """Lines with their label; one that is cut by a piece's end waits for its rest."""
    rests: dict[str, str] = {}
    try:
        for piece in pieces:
            label = label_of(piece)
            *whole, rests[label] = _lines(rests.get(label, "") + piece["text"])
            _print(label, whole)
            sys.stdout.flush()
    finally:
        for label, rest in rests.items():
            _print(label, [rest] if rest else [])


def _lines(text: str) -> list[str]:
    """The whole lines, and last what is not whole yet; one without an end is cut."""
    *whole, rest = text.split("\n")
    return [*whole, rest] if len(rest) <= _LONGEST_LINE else [*whole, rest, ""]


def _print(label: str, lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{label} | {_as_seen(line)}\n")


def _as_seen(line: str) -> str:
    """What a terminal would show of a line that a progress bar wrote over and over."""
    return line.rstrip("\r").rpartition("\r")[2]


def label_of(piece: dict[str, Any]) -> str:
    """Which stage, which stream of it, which node, which attempt."""
    name = piece["stage"] if piece["stream"] == piece["stage"] else f"{piece['stage']}/{piece['stream']}"
    node = f"@{piece['rank']}" if piece["rank"] and piece["stage"] == "train" else ""
    return f"{name}{node} {piece['attempt']}"

"""`orch logs`."""

import sys
from collections.abc import Iterable
from typing import Any

import click

from orchestrator.cli import follow as following
from orchestrator.cli.options import api, as_json, farewell, json_line
from orchestrator.cli.places import Session


@click.command(short_help="Print what a job's stages printed.")
@click.argument("job")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--attempt", type=click.IntRange(min=1), help="Of this attempt alone.")
@click.option("--stage", type=click.Choice(["preprocess", "train"]), help="Of this stage alone.")
@as_json
@click.pass_obj
def logs(session: Session, job: str, follow: bool, attempt: int | None, stage: str | None, as_json: bool) -> None:
    """Print what a job's stages printed, each line with where it comes from.

    When an instance dies without a notice, what it printed in its last half second may be missing.

    \b
    Example:  orch logs resnet50 -f
    """
    pieces = following.printed(api(session), job, attempt, stage, follow=follow)
    try:
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
    for piece in pieces:
        label = label_of(piece)
        *whole, rests[label] = (rests.get(label, "") + piece["text"]).split("\n")
        for line in whole:
            sys.stdout.write(f"{label} | {line}\n")
        sys.stdout.flush()
    for label, rest in rests.items():
        if rest:
            sys.stdout.write(f"{label} | {rest}\n")


def label_of(piece: dict[str, Any]) -> str:
    """Which stage, which attempt, which stream."""
    name = piece["stage"] if piece["stream"] == piece["stage"] else f"{piece['stage']}/{piece['stream']}"
    return f"{name} {piece['attempt']}"

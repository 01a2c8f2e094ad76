"""The edge between our code and a person: every ending becomes an exit code and clear lines."""

import os
import sys
from collections.abc import Sequence

import click

from orchestrator.cli.commands import root
from orchestrator.cli.failures import Failure, ReaderLeft
from orchestrator.model import exits


def run(argv: Sequence[str] | None) -> int:
    """Run one command line. Never raises; the answer is the exit code."""
    try:
        _never_choke_on_a_character()
        return _run(argv)
    except (ReaderLeft, BrokenPipeError):
        return _reader_left()
    except (KeyboardInterrupt, click.Abort):
        return exits.INTERRUPTED
    except Exception as bug:  # noqa: BLE001  the last resort: a line and a file, never a traceback
        return _own_bug(bug)


def _run(argv: Sequence[str] | None) -> int:
    try:
        code = root.main(args=argv, prog_name="orch", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except Failure as failure:
        sys.stdout.flush()
        return _tell(failure)
    return code if isinstance(code, int) else exits.OK


def _never_choke_on_a_character() -> None:
    """A terminal that cannot show a character shows its number instead."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _tell(failure: Failure) -> int:
    for line in failure.lines:
        print(f"{failure.prefix}{line}", file=sys.stderr)
    return failure.code


def _reader_left() -> int:
    """`orch ps | head`: the reader has enough. What is still buffered goes nowhere, quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    return exits.READER_LEFT


def _own_bug(bug: Exception) -> int:
    from orchestrator.cli.bugs import write_down

    path = write_down(bug, os.environ)
    print(f"orch: internal error: {_brief(bug)}; the traceback is in {path}", file=sys.stderr)
    return exits.INTERNAL


def _brief(bug: Exception) -> str:
    first = next(iter(str(bug).splitlines()), "")
    return f"{type(bug).__name__}: {first}" if first else type(bug).__name__

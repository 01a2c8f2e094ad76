"""`orch`: what a person types, and what they read.

In come a command line and the daemon's answers over its unix socket; out go tables, sentences, JSON
and exit codes (`orchestrator.model.exits`). It decides nothing about jobs. It imports `model` alone;
`local.py` loads other rooms, lazily, for the commands that run on this machine without a daemon.
Every command is loaded when it is typed: `orch --help` costs little more than Python itself.
"""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run `orch` with these words, or those of the process, and exit with its code."""
    import sys

    try:
        from orchestrator.cli.boundary import run
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(argv))

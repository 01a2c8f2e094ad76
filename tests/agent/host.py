"""An instance's agent reduced to its one command: runs it, stops it, and says what became of it.

    python host.py DIRECTORY STOP_AFTER_S LINE

Prints one JSON object: `code`, `stopped_at` (Unix time), `stop_took_s`, `zombies` (when the stop was asked for),
`left` (living at the end).
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from orchestrator.agent import processes
from orchestrator.agent.command import Command

TICK_S = 0.02
GRACE_S = 10.0


def main(directory: Path, stop_after_s: float, line: str) -> None:
    processes.become_subreaper()
    command = Command(line, {**os.environ, "HERE": str(directory)}, directory, directory / "printed")
    _until(lambda: command.poll() is not None, stop_after_s)
    zombies = _zombies()
    stopped_at, stopped_mono = time.time(), time.monotonic()
    command.stop("SIGTERM")
    _until(command.has_stopped, GRACE_S)
    took_s = time.monotonic() - stopped_mono
    said = {"stopped_at": stopped_at, "stop_took_s": took_s, "zombies": zombies}
    code = command.end()
    left = len(processes.tree_of(os.getpid())) - 1
    print(json.dumps({"code": code, **said, "left": left}))


def _until(holds: Callable[[], bool], within_s: float) -> None:
    until = time.monotonic() + within_s
    while time.monotonic() < until and not holds():
        time.sleep(TICK_S)


def _zombies() -> int:
    """Dead children of ours that nobody has collected."""
    found = 0
    for entry in Path("/proc").iterdir():
        try:
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        found += state == "Z" and int(parent) == os.getpid()
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])

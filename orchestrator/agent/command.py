"""A user's command as a process: started in a session of its own, signalled, ended, waited for."""

import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from orchestrator.agent import processes

PARTING_S = 1.0


class Command:
    """`/bin/sh -c LINE`, with all that descends from it."""

    def __init__(self, line: str, environment: Mapping[str, str], directory: Path, output: Path) -> None:
        self.started_mono = time.monotonic()
        self._targets: list[int] = []
        self._deserted_mono: float | None = None
        with output.open("ab") as printed:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", line],
                env=dict(environment),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code once it has ended; negative: the signal that ended it."""
        code = self._process.poll()
        processes.reap([self.pid])
        return code

    def stop(self, signal_name: str) -> None:
        """Ask whom it concerns to stop: the trainer itself, also behind wrappers."""
        self._targets = processes.trainers_of(self.pid)
        processes.send(self._targets, getattr(signal, signal_name))

    def has_stopped(self) -> bool:
        """Whether the command has gone, or all that were asked to stop have and a moment has passed.

        In that moment `train.py | tee log` writes its last lines, and a script does what it does afterwards.
        """
        if self.poll() is not None:
            return True
        if any(processes.is_living(pid) for pid in self._targets):
            return False
        if self._deserted_mono is None:
            self._deserted_mono = time.monotonic()
        return time.monotonic() - self._deserted_mono >= PARTING_S

    def end(self) -> int:
        """End what is left of it, by force. Its exit code.

        An agent runs one command at a time and adopts its orphans: all below us is the command's.
        """
        processes.kill_below([self.pid])
        code = self._process.wait()
        processes.reap([])
        return code

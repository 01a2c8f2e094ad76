"""Everything that runs for one instance, and the end of it.

Two ways to belong: to descend from the instance's init, which adopts every orphan below it
(PR_SET_CHILD_SUBREAPER); or to carry `ORCH_INSTANCE=<id>` in the environment it was started with,
which is what is left to go by where init itself was killed.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MARKER = "ORCH_INSTANCE"
_GONE = (psutil.NoSuchProcess, psutil.AccessDenied)
# A process in the middle of an exec shows no environment for a moment: one look is no proof.
_LOOKS = 2
_BETWEEN_LOOKS_S = 0.01


def marked(instance: str) -> list[psutil.Process]:
    """Every live process that carries the instance's marker, except the caller. Zombies are dead."""
    return _alive(_marked(instance))


def below_init(instance: str) -> list[psutil.Process]:
    """For init alone: whatever descends from it or carries the marker."""
    descendants = psutil.Process().children(recursive=True)
    known = {process.pid for process in descendants}
    return _alive(descendants) + [process for process in marked(instance) if process.pid not in known]


def kill_own(instance: str, within_s: float) -> bool:
    """For init alone: end everything below it and reap it. False: something outlived `within_s`."""
    return _kill(lambda: below_init(instance), reap, within_s)


def kill_leftovers(instance: str, within_s: float) -> bool:
    """End what an instance left whose init is dead. False: something outlived `within_s`."""
    return _kill(lambda: marked(instance), dict, within_s)


def reap() -> dict[int, int]:
    """Collect every dead child of the caller: pid to exit code, negative where a signal ended it."""
    ended: dict[int, int] = {}
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended


def _kill(find: Callable[[], list[psutil.Process]], reaping: Callable[[], object], within_s: float) -> bool:
    until = time.monotonic() + within_s
    looks = 0
    while looks < _LOOKS:
        victims = find()
        _kill_each(victims)
        reaping()
        looks = 0 if victims else looks + 1
        if victims and time.monotonic() >= until:
            return False
        time.sleep(_BETWEEN_LOOKS_S)
    return True


def _kill_each(victims: list[psutil.Process]) -> None:
    for victim in victims:
        with suppress(*_GONE):
            victim.kill()


def _marked(instance: str) -> Iterator[psutil.Process]:
    wanted = f"{MARKER}={instance}".encode()
    for process in psutil.process_iter():
        if wanted in _environ(process.pid).split(b"\0"):
            yield process


def _environ(pid: int) -> bytes:
    # psutil parses the whole environment into a dict; a comparison of bytes is all that is needed.
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone, or somebody else's
        return b""


def _alive(processes: Iterator[psutil.Process] | list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if process.pid != os.getpid() and _lives(process)]


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except _GONE:
        return False

"""How demos end: daemon first, so that nothing new is launched; then every instance; then the files."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.cli.demo_daemon import daemon_pids
from orchestrator.cli.demo_places import Demo, all_demos, remove
from orchestrator.cli.failures import Failure
from orchestrator.model import exits

_LEAVES_WITHIN_S = 15.0
_GONE_WITHIN_S = 20.0
_LOOK_EVERY_S = 0.1

Alive = Callable[[Path], list[str]]  # a cloud's living instances
Terminate = Callable[[Path], None]  # end them all


def chosen(env: Mapping[str, str], socket: str | None) -> list[Demo]:
    """The demo of this socket; without one, all that nobody watches. Raises Failure where there is none."""
    demos = all_demos(env)
    if socket is not None:
        found = [demo for demo in demos if demo.socket == Path(socket).absolute()]
        if not found:
            raise Failure(exits.NOT_FOUND, f"no demo has the socket {socket}")
        return found
    return [demo for demo in demos if not demo.is_watched()]


def end_demo(demo: Demo, alive: Alive, terminate: Terminate) -> int:
    """End it; how many instances it still had. Raises Failure where something will not go."""
    for pid in daemon_pids(demo):
        _end_daemon(pid, demo)
    left = len(alive(demo.cloud))
    terminate(demo.cloud)
    if not _until(lambda: not alive(demo.cloud), _GONE_WITHIN_S):
        raise Failure(exits.FAILED, f"instances of {demo.home} will not end; nothing of it was removed")
    remove(demo)
    return left


def _end_daemon(pid: int, demo: Demo) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(pid, number)
        if _until(lambda: pid not in daemon_pids(demo), _LEAVES_WITHIN_S):
            return
    raise Failure(exits.FAILED, f"the daemon of {demo.home}, pid {pid}, will not end")


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _until(holds: Callable[[], bool], within_s: float) -> bool:
    until = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_EVERY_S)
    return True

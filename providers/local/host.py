"""The machine under the instances: starts their inits, and buries those whose init is dead.

Whoever gets the lock on an instance's `alive` knows that no init lives, and is the one who must act:
start the init of an instance that never booted, or end what a dead one left. A launcher that is
killed in the middle is healed by the next call of anybody.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import structlog

from providers.local import life, processes
from providers.local.record import Ended, InstanceDirectory, held_lock

_log = structlog.get_logger(__name__)

# A new session, and a parent that is gone at once: init is nobody's child and on nobody's terminal.
_DETACH = "import os, sys; os.setsid(); os.fork() and os._exit(0); os.execv(sys.argv[1], sys.argv[1:])"
_SPAWN_WITHIN_S = 20.0
_KILL_WITHIN_S = 5.0


def settle(home: InstanceDirectory) -> None:
    """Make the instance either alive or recorded as ended. Raises OSError, subprocess.SubprocessError.

    Where something that a dead init left cannot be killed, nothing is recorded: it is not gone yet.
    """
    if home.ended() is not None:
        return
    lock = held_lock(home.alive)
    if lock is None:
        return
    try:
        _settle_locked(home, lock)
    finally:
        os.close(lock)


def import_root() -> Path:
    """Where our packages lie, so that init and agent run the very code that launched them."""
    return Path(__file__).parents[2]


def _settle_locked(home: InstanceDirectory, lock: int) -> None:
    if home.ended() is not None:
        return
    if home.has("boot.json"):
        _bury(home)
    elif end := life.ending(home.reclaim(), home.has("terminate.json"), time.monotonic()):
        home.record_end(Ended(time.time(), end.reason, end.reclaimed))
    else:
        _spawn_init(home, lock)


def _bury(home: InstanceDirectory) -> None:
    if not processes.kill_leftovers(home.id, _KILL_WITHIN_S):
        _log.warning("instance.leftovers_will_not_die", instance=home.id, within_s=_KILL_WITHIN_S)
        return
    end = life.ending_without_init(home.reclaim(), home.has("terminate.json"), time.monotonic())
    home.record_end(Ended(time.time(), end.reason, end.reclaimed))
    _log.info("instance.buried", instance=home.id, reason=end.reason)


def _spawn_init(home: InstanceDirectory, lock: int) -> None:
    init = [sys.executable, "-P", "-m", "providers.local.init", str(home.path), str(lock)]
    environment = {**home.instance()["environment"], "PYTHONPATH": str(import_root())}
    with (home.path / "init.log").open("ab") as output:
        subprocess.run(
            [sys.executable, "-IS", "-c", _DETACH, *init],
            check=True,
            cwd=home.path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(lock,),
            timeout=_SPAWN_WITHIN_S,
        )

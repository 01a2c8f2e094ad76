"""Processes of this instance: found by their environment, signalled where it helps, ended, and reaped."""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
# Who passes no signal on, and whose own end would tell nothing of the trainer's.
_WRAPPERS = frozenset(
    {"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox", "uv", "poetry", "pipenv", "conda", "env", "time"}
)
# The ends of a pipe, `train.py | tee log`: they end by themselves, and ended early they take the trainer along.
_LISTENERS = frozenset({"tee", "cat", "ts", "sed", "grep", "awk", "gawk", "mawk", "logger", "tail", "head"})
KILL_ROUND_S = 0.05


def become_subreaper() -> None:
    """Orphans below us become our children, so that none stays a zombie."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap(managed: Iterable[int]) -> None:
    """Collect every dead child but those that somebody else waits for."""
    ours = set(managed)
    with suppress(ChildProcessError):
        while (dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if dead.si_pid in ours:
                return
            os.waitpid(dead.si_pid, os.WNOHANG)


def parents() -> dict[int, int]:
    """Every living process and its parent, zombies left out."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            stat = _stat(int(entry.name))
            if stat is not None and stat[0] != "Z":
                found[int(entry.name)] = stat[1]
    return found


def is_living(pid: int) -> bool:
    """Whether it is there and no zombie."""
    stat = _stat(pid)
    return stat is not None and stat[0] != "Z"


def _stat(pid: int) -> tuple[str, int] | None:
    """State and parent. The name in the middle may hold anything, so it is read from the end."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, parent = text.rpartition(")")[2].split()[:2]
    return state, int(parent)


def tree_of(root: int) -> list[int]:
    """The living process and all that descend from it, parents first."""
    parent_of = parents()
    if root not in parent_of:
        return []
    tree = [root]
    for pid in tree:
        tree.extend(child for child, parent in parent_of.items() if parent == pid)
    return tree


def trainers_of(root: int) -> list[int]:
    """Whom a signal is meant for: below shells and other wrappers, the topmost that are none (B059)."""
    parent_of = parents()
    if root not in parent_of:
        return []
    below = [child for child, parent in parent_of.items() if parent == root]
    if not below or _name(root) not in _WRAPPERS:
        return [root]
    speakers = [child for child in below if _name(child) not in _LISTENERS]
    return [trainer for child in speakers or below for trainer in trainers_of(child)]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def kill_below(managed: Iterable[int] = ()) -> None:
    """End all that descends from this process, again until nothing is found."""
    _kill_until_gone(lambda: tree_of(os.getpid())[1:], managed)


def kill_marked(instance: str, spared: Iterable[int] = ()) -> int:
    """End everything that carries this instance in its environment, ourselves and our ancestors spared.

    How many were found at first.
    """
    kept = {*_line_of(os.getpid()), *spared}
    marker = f"ORCH_INSTANCE={instance}".encode()

    def find() -> list[int]:
        return [pid for pid in parents() if pid not in kept and marker in _environment(pid)]

    found = len(find())
    _kill_until_gone(find, ())
    return found


def _kill_until_gone(find: Callable[[], list[int]], managed: Iterable[int]) -> None:
    while found := find():
        send(found, signal.SIGKILL)
        reap(managed)
        time.sleep(KILL_ROUND_S)


def _line_of(pid: int) -> list[int]:
    """The process and its ancestors."""
    parent_of = parents()
    line = [pid]
    while (parent := parent_of.get(line[-1], 0)) > 0:
        line.append(parent)
    return line


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []

"""One instance as it lies on disk. Standard library only: `init` reads it before anything else.

    <state_dir>/instances/<id>/
        instance.json     what was launched: order, price, times; written once, with the directory
        recipe.json       what the agent reads
        alive             its lock is held while the instance's init lives; nothing else means alive
        boot.json         init has started; an instance boots once
        running.json      booted: the agent may run, the metadata service answers
        reclaim.json      when it will be taken, and whether and when that shows
        rebalance.json    advice that a reclaim is likelier
        terminate.json    the end was asked for
        ended.json        everything of it is dead; written once, last
        wake              FIFO: a byte wakes init; `t` asks for the end even where the disk is full
        init.log agent.log work/ bundle/

Times named `_mono` are seconds of CLOCK_MONOTONIC, which all processes of one boot share.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

WAKE = b"w"
TERMINATE = b"t"
_RESERVED_BYTES = 4096


@dataclass(frozen=True)
class Reclaim:
    """The provider will take the instance at `take_mono`; it says so from `notice_mono` on, if announced."""

    handle: str
    take_mono: float
    take_at: float  # the same moment as seconds since 1970, for showing
    notice_mono: float
    announced: bool

    def shows(self, now_mono: float) -> bool:
        return self.announced and now_mono >= self.notice_mono

    def due(self, now_mono: float) -> bool:
        return now_mono >= self.take_mono

    def left_s(self, now_mono: float) -> float:
        return self.take_mono - now_mono


@dataclass(frozen=True)
class Ended:
    """How an instance ended. `at` is seconds since 1970, when everything of it was dead."""

    at: float
    reason: str
    reclaimed: bool


@dataclass(frozen=True)
class InstanceDirectory:
    """The paths of one instance, and the few ways its files are read and written."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def work(self) -> Path:
        return self.path / "work"

    @property
    def bundle(self) -> Path:
        return self.path / "bundle"

    @property
    def alive(self) -> Path:
        return self.path / "alive"

    @property
    def wake(self) -> Path:
        return self.path / "wake"

    def instance(self) -> dict[str, Any]:
        """What was launched. Raises FileNotFoundError."""
        record = read_json(self.path / "instance.json")
        if record is None:
            raise FileNotFoundError(self.path / "instance.json")
        return record

    def ended(self) -> Ended | None:
        record = read_json(self.path / "ended.json")
        return None if record is None else Ended(**record)

    def reclaim(self) -> Reclaim | None:
        record = read_json(self.path / "reclaim.json")
        return None if record is None else Reclaim(**record)

    def advised_at(self) -> float | None:
        """When rebalancing was advised, in seconds since 1970."""
        record = read_json(self.path / "rebalance.json")
        return None if record is None else float(record["at"])

    def acknowledged(self) -> str | None:
        """The handle of the reclaim whose notice was handled."""
        record = read_json(self.path / "acknowledged.json")
        return None if record is None else str(record["handle"])

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def write(self, name: str, record: dict[str, Any]) -> None:
        write_json(self.path / name, record)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def reserve_end(self) -> None:
        """Keep room for ended.json, so that an instance with a full disk can still be recorded dead."""
        _write_durably(self.path / "ended.reserved", b" " * _RESERVED_BYTES)

    def record_end(self, ended: Ended) -> None:
        """Record the end, once: whoever comes second changes nothing. The caller holds `alive`."""
        if self.ended() is not None:
            return
        reserved = self.path / "ended.reserved"
        data = json.dumps(asdict(ended)).encode().ljust(_RESERVED_BYTES)
        _write_in_place(reserved, data)
        reserved.replace(self.path / "ended.json")
        sync_directory(self.path)

    def poke(self, message: bytes = WAKE) -> bool:
        """Wake init. False where nobody listens."""
        try:
            fd = os.open(self.wake, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # ENXIO: no init; ENOENT: not booted yet
            return False
        try:
            return os.write(fd, message) == len(message)
        except BlockingIOError:  # full of wake-ups that init has not read: it will wake anyway
            return message == WAKE
        finally:
            os.close(fd)


def new_reclaim(handle: str, after_s: float, window_s: float, announced: bool) -> Reclaim:
    """A reclaim `after_s` from now, shown `window_s` before that, or from now where less is left."""
    now_mono = time.monotonic()
    take_mono = now_mono + after_s
    return Reclaim(
        handle=handle,
        take_mono=take_mono,
        take_at=time.time() + after_s,
        notice_mono=max(now_mono, take_mono - window_s),
        announced=announced,
    )


def held_lock(path: Path) -> int | None:
    """Take the lock on `path` without waiting: its descriptor, or None where somebody holds it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


@contextlib.contextmanager
def waited_lock(path: Path) -> Iterator[None]:
    """Hold the lock on `path`, waiting for it. Holders keep it for milliseconds."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def read_json(path: Path) -> dict[str, Any] | None:
    """The file's object, or None where there is no file. Writers replace files whole."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    record: dict[str, Any] = json.loads(text)
    return record


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Replace the file whole; it and its name survive a power cut."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}.draft")
    try:
        _write_durably(draft, json.dumps(record, indent=1).encode())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def _write_durably(path: Path, data: bytes) -> None:
    _write_all(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), data)


def _write_in_place(path: Path, data: bytes) -> None:
    _write_all(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), data)


def _write_all(fd: int, data: bytes) -> None:
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())

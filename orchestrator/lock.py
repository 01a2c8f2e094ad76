"""One daemon a state directory: a kernel lock on the directory itself, which no file's deletion undoes."""

import fcntl
import os
from pathlib import Path


class Held(Exception):
    """Another daemon holds the directory; the sentence names it."""


def hold(directory: Path) -> int:
    """Lock the directory for as long as this process lives. Returns the descriptor. Raises Held."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(descriptor)
        os.close(descriptor)
        raise Held(f"orchd {holder} already works in {directory}") from None
    return descriptor


def _holder(descriptor: int) -> str:
    """The kernel's own word on who holds the lock: a line of /proc/locks names pid and inode."""
    status = os.fstat(descriptor)
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if "FLOCK" in words and file in words and "->" not in words:
            return f"(pid {words[words.index(file) - 1]})"
    return "(of another pid namespace)"

"""The local cloud's preflight: what would stop a job on this machine, found before a job meets it."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from orchestrator.model.pools import GIB
from providers.base import Finding
from providers.local.host import import_root
from providers.local.metadata import LOOPBACK
from providers.local.record import held_lock
from providers.local.settings import Settings

_UNIX_PATH_BYTES = 107  # sun_path, less its final zero
_LONGEST_BELOW_INSTANCES = "/instances/i-0123456789ab/work/agent.sock"
_LEAST_DISK_BYTES = GIB
_IMPORT_WITHIN_S = 30.0


def findings(settings: Settings) -> list[Finding]:
    """One line for each thing looked at, good or bad."""
    checks: tuple[Callable[[Settings], Finding], ...] = (
        _directory,
        _room,
        _paths,
        _processes,
        _ports,
        _agent,
    )
    found = [check(settings) for check in checks]
    return [replace(finding, mend="") if finding.ok else finding for finding in found]


def _directory(settings: Settings) -> Finding:
    subject = "state_dir"
    try:
        with tempfile.NamedTemporaryFile(dir=settings.state_dir) as file:
            lock = held_lock(Path(file.name))
            second = held_lock(Path(file.name))
    except OSError as error:
        message = f"{settings.state_dir} cannot be written: {error.strerror}"
        return Finding(subject, False, message, "name a local directory of your own")
    _close(lock, second)
    if lock is None or second is not None:
        message = f"locks on {settings.state_dir} do not hold"
        return Finding(subject, False, message, "use a directory on a local file system")
    return Finding(subject, True, f"{settings.state_dir} can be written and locked")


def _room(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.state_dir).free
    message = f"{free / GIB:.1f} GiB are free in {settings.state_dir}"
    return Finding("disk", free >= _LEAST_DISK_BYTES, message, "instances work there: free at least 1 GiB")


def _paths(settings: Settings) -> Finding:
    longest = len(os.fsencode(settings.state_dir)) + len(_LONGEST_BELOW_INSTANCES)
    message = f"unix socket paths below state_dir reach {longest} of {_UNIX_PATH_BYTES} bytes"
    return Finding("paths", longest <= _UNIX_PATH_BYTES, message, "choose a shorter state_dir")


def _processes(_: Settings) -> Finding:
    try:
        readable = Path("/proc/self/environ").read_bytes() is not None
    except OSError:
        readable = False
    message = "/proc shows processes and their environments" if readable else "/proc cannot be read"
    return Finding("processes", readable, message, "the local provider needs Linux with /proc mounted")


def _ports(_: Settings) -> Finding:
    try:
        with socket.create_server((LOOPBACK, 0)):
            return Finding("metadata", True, f"a port on {LOOPBACK} can be had")
    except OSError as error:
        return Finding("metadata", False, f"no port on {LOOPBACK} can be had: {error.strerror}", "free some ports")


def _agent(settings: Settings) -> Finding:
    if settings.agent_command is not None:
        return Finding("agent", True, f"the agent is {' '.join(settings.agent_command)}")
    mend = "install orch for this Python, set `python` in [providers.local], or boot from a bundle"
    command = [
        str(settings.python),
        "-c",
        "import importlib.util as u; u.find_spec('orchestrator.agent.__main__') or exit(1)",
    ]
    environment = {**os.environ, "PYTHONPATH": str(import_root())}
    try:
        found = subprocess.run(command, env=environment, capture_output=True, timeout=_IMPORT_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("agent", False, f"{settings.python} cannot be run: {error}", mend)
    if found.returncode != 0:
        return Finding("agent", False, f"{settings.python} cannot find orchestrator.agent", mend)
    return Finding("agent", True, f"{settings.python} can run the agent")


def _close(*descriptors: int | None) -> None:
    for descriptor in descriptors:
        if descriptor is not None:
            os.close(descriptor)

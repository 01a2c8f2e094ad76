"""The demo's daemon: its config, its start, and whether it still lives."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.cli.demo_places import Demo
from orchestrator.cli.failures import Failure
from orchestrator.model import exits

STARTS_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.1

# What the market does to the first GPU instances: seconds from launch to being taken.
NOTICE_WINDOW_S = 8
RECLAIMS = ((15.0, True), (17.0, True), (14.0, False))


def config_text(demo: Demo, examples: Path) -> str:
    """The demo's config file: the defaults, and a market that takes three instances."""
    script = ",\n".join(
        f'    {{ launch = {launch}, instance_type = "local.gpu-1", after_s = {after_s}, '
        f"notice = {str(notice).lower()} }}"
        for launch, (after_s, notice) in enumerate(RECLAIMS, start=1)
    )
    return f"""\
[providers.local]
state_dir = {json.dumps(str(demo.cloud))}
notice_window_s = {NOTICE_WINDOW_S}
environment = {{ DIGITS = {json.dumps(str(examples / "digits"))} }}

[providers.local.market]
reclaims = "script"
script = [
{script},
]
"""


def start_daemon(demo: Demo, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start `orch daemon` in a session of its own: it outlives the demo and hears no Ctrl-C of it."""
    words = ("daemon", "--config", str(demo.config), "--state", str(demo.state))
    with demo.log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", *words],
            env=own_environment(env),
            cwd=demo.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def own_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would tell the daemon of another state or config."""
    return {name: value for name, value in env.items() if not name.startswith("ORCH_")}


def wait_until_ready(
    daemon: "subprocess.Popen[bytes]",
    demo: Demo,
    answers: Callable[[], bool],
    within_s: float = STARTS_WITHIN_S,
) -> None:
    """Return once the daemon answers. Raises Failure where it ends or stays silent."""
    until = time.monotonic() + within_s
    while not answers():
        check_alive(daemon, demo)
        if time.monotonic() > until:
            raise Failure(exits.FAILED, f"the demo's daemon is silent after {within_s:.0f} s; its log: {demo.log}")
        time.sleep(_LOOK_EVERY_S)


def check_alive(daemon: "subprocess.Popen[bytes]", demo: Demo) -> None:
    """Raises Failure where the daemon has ended."""
    code = daemon.poll()
    if code is None:
        return
    raise Failure(exits.FAILED, f"the demo's daemon ended ({_how(code, demo)})", f"its log: {demo.log}")


def _how(code: int, demo: Demo) -> str:
    if code < 0:
        return f"killed by signal {-code}"
    last = last_line(demo.log)
    return f"exit code {code}, its last words: {last}" if last else f"exit code {code}"


def last_line(log: Path) -> str:
    """What the log says last; empty where there is none."""
    try:
        lines = log.read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def has_what_it_needs() -> bool:
    """Whether the example's libraries are installed."""
    from importlib.util import find_spec

    return find_spec("numpy") is not None and find_spec("sklearn") is not None


def daemon_pids(demo: Demo) -> list[int]:
    """The daemons that work in the demo's state, whoever started them."""
    import psutil

    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "daemon" in words and str(demo.state) in words and process.pid != os.getpid():
            found.append(process.pid)
    return found

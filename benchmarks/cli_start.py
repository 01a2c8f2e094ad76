"""What it costs to type `orch`: wall time of `orch --help` and `orch ps`, against `python3 -c pass`.

    python benchmarks/cli_start.py [ROUNDS]

The three are run in turn, each round of them in another order, so that a busy moment hits all alike. `ps` asks a
stand-in daemon on a unix socket, in this process, that knows twenty jobs. Prints JSON: milliseconds, and ratios of
medians; exits 1 where a ratio is above its limit.
"""

import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

LIMITS = {"orch --help": 5.0, "orch ps": 8.0}
WARM_UP_ROUNDS = 3

_JOB = {
    "id": "0123456789ab",
    "name": "resnet50",
    "state": "running",
    "stage": "train",
    "step": 1200,
    "total_steps": 2000,
    "reclaims": 2,
    "cost_usd": "3.1200",
    "created_at": "2026-12-01T10:00:00+00:00",
}
_ANSWER = json.dumps({"jobs": [_JOB] * 20}).encode()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(_ANSWER)))
        self.end_headers()
        self.wfile.write(_ANSWER)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


@contextmanager
def standing_in() -> Iterator[Path]:
    """The socket of a stand-in daemon."""
    directory = tempfile.mkdtemp(prefix="orch-")
    socket = Path(directory) / "orchd.sock"
    with _Server(str(socket), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield socket
        server.shutdown()
    shutil.rmtree(directory)


def commands(socket: Path) -> Mapping[str, list[str]]:
    """What is measured, by name. `orch` is the installed script where there is one."""
    script = Path(sys.executable).with_name("orch")
    orch = [str(script)] if script.exists() else [sys.executable, "-m", "orchestrator.cli"]
    return {
        "python3 -c pass": [sys.executable, "-c", "pass"],
        "orch --help": [*orch, "--help"],
        "orch ps": [*orch, "--socket", str(socket), "ps"],
    }


def wall_ms(command: list[str]) -> float:
    """One run, from before its start to after its end."""
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1000


def measure(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every run after the warm-up."""
    shuffle = random.Random(0).shuffle
    with standing_in() as socket:
        named = list(commands(socket).items())
        taken: dict[str, list[float]] = {name: [] for name, _ in named}
        for _ in range(WARM_UP_ROUNDS + rounds):
            shuffle(named)
            for name, command in named:
                taken[name].append(wall_ms(command))
    return {name: times[WARM_UP_ROUNDS:] for name, times in taken.items()}


def report(taken: Mapping[str, list[float]]) -> dict[str, Any]:
    """Medians, spread, and ratios of medians to the bare interpreter's."""
    medians = {name: statistics.median(times) for name, times in taken.items()}
    bare = medians["python3 -c pass"]
    ratios = {name: round(medians[name] / bare, 2) for name in LIMITS}
    return {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "rounds": len(taken["python3 -c pass"]),
        "median_ms": {name: round(median, 1) for name, median in medians.items()},
        "p90_ms": {name: round(statistics.quantiles(times, n=10)[-1], 1) for name, times in taken.items()},
        "ratio": ratios,
        "limit": LIMITS,
        "ok": all(ratios[name] <= limit for name, limit in LIMITS.items()),
    }


def main() -> int:
    found = report(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
    print(json.dumps(found, indent=2))
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())

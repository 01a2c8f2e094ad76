"""A real daemon on a real machine's corner: its config, its life and death, and what its cloud's ledger says."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from providers.local import LedgerEntry, ledger, open_provider
from providers.local.record import InstanceDirectory, utc
from tests.daemon.trainer import next_weights

ORCH = (sys.executable, "-m", "orchestrator.cli")
TRAINER = Path(__file__).with_name("trainer.py")
STARTS_WITHIN_S = 30.0
Script = Sequence[dict[str, Any]]

JOB = """\
name = "chain"

[train]
command = "{python} {trainer} {steps} {pace_s}"
env = {{ TRAINER_JOURNAL = "{journal}" }}

[train.resources]
gpu = {{ model = ["A100"], count = 1 }}

[checkpoint]
path = "/checkpoints"

[output]
path = "/output"
"""


@dataclass
class Orchd:
    """One daemon with a directory of its own. It may be killed and started as often as one likes."""

    home: Path
    process: "subprocess.Popen[bytes] | None" = None
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.home / "s"

    @property
    def socket(self) -> Path:
        return self.state / "orchd.sock"

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    @property
    def log(self) -> Path:
        return self.home / "orchd.log"

    @property
    def journal(self) -> Path:
        return self.home / "journal"

    def configure(self, script: Script = (), top: str = "", local: str = "", timings: str = "") -> None:
        rules = ", ".join(_inline(rule) for rule in script)
        market = f'market = {{ reclaims = "script", script = [{rules}] }}' if script else ""
        self.config.write_text(
            f"{top}\n[timings]\n{timings}\n[providers.local]\nnotice_window_s = 6\n{local}\n{market}\n"
        )

    def start(self, **env: str) -> None:
        """Returns once it answers."""
        process = self.spawn(**env)
        self.wait_for(
            lambda: process.poll() is not None or self.orch("ps").returncode == 0, "it answers", STARTS_WITHIN_S
        )
        assert process.poll() is None, self._why()

    def spawn(self, **env: str) -> "subprocess.Popen[bytes]":
        words = ("daemon", "--config", str(self.config), "--state", str(self.state))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*ORCH, *words], stdout=log, stderr=log, env={**os.environ, **env})
        return self.process

    def kill(self, number: int = signal.SIGKILL) -> int:
        """The exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(30)

    def orch(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [*ORCH, "--socket", str(self.socket), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def json(self, *words: str) -> Any:
        ended = self.orch(*words, "--json")
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def submit(self, steps: int = 100, pace_s: float = 0.05, python: str = sys.executable, more: str = "") -> str:
        """The job's id."""
        file = self.home / "job.toml"
        places = {"python": python, "trainer": TRAINER, "journal": self.journal}
        file.write_text(JOB.format(steps=steps, pace_s=pace_s, **places) + more)
        return str(self.json("submit", str(file))["id"])

    def state_of(self, job: str) -> str:
        return str(self.json("show", job)["state"])

    def wait_for(self, holds: Callable[[], Any], what: str, within_s: float = 60.0) -> Any:
        """What `holds` says once it is true."""
        until = time.monotonic() + within_s
        while not (found := holds()):
            assert time.monotonic() < until, f"not within {within_s} s: {what}\n{self._why()}"
            time.sleep(0.05)
        return found

    def wait_until(self, job: str, *states: str, within_s: float = 90.0) -> str:
        return str(self.wait_for(lambda: (s := self.state_of(job)) in states and s, f"{job} is {states}", within_s))

    def _why(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])

    def ledger(self) -> list[LedgerEntry]:
        """What really was, whatever our own books say."""
        return ledger(self.state / "local") if (self.state / "local").exists() else []

    def alive(self) -> list[LedgerEntry]:
        return [entry for entry in self.ledger() if entry.ended_at is None]

    def notice_at(self, instance: str) -> datetime | None:
        """When the cloud began to say that it takes the instance; None where it never said so."""
        home = InstanceDirectory(self.state / "local" / "instances" / instance)
        reclaim = home.reclaim()
        if reclaim is None or not reclaim.announced:
            return None
        return utc(reclaim.take_at - (reclaim.take_mono - reclaim.notice_mono))

    def starts(self) -> list[dict[str, Any]]:
        """What each trainer said at its start."""
        return [json.loads(line) for line in self.journal.read_text().splitlines()] if self.journal.exists() else []

    def weights(self, job: str) -> str:
        """What the job's output holds."""
        into = self.home / f"pulled-{time.monotonic_ns()}"
        assert self.orch("pull", job, str(into)).returncode == 0
        return (into / "weights").read_text()

    def close(self) -> None:
        """End the daemon, then whatever its cloud still runs."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        alive = [entry.instance for entry in self.alive()]
        if alive:
            provider = open_provider({"state_dir": str(self.state / "local")})
            provider.terminate(alive)
            self.wait_for(lambda: not self.alive(), "the cloud is empty")


def undisturbed(steps: int) -> str:
    """The weights of a run that nothing happened to."""
    weights = ""
    for step in range(1, steps + 1):
        weights = next_weights(weights, step)
    return weights


def most_alive_at_once(entries: Sequence[LedgerEntry], stage: str = "train") -> int:
    mine = [entry for entry in entries if entry.tags.stage == stage]
    return max((sum(other.alive_at(entry.launched_at) for other in mine) for entry in mine), default=0)


def processes_of(home: Path) -> list[int]:
    """Every process that works below this directory, whoever its parent is now."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(home / "s" / "local"):
                found.append(int(entry.name))
    return found


def _inline(rule: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in rule.items()) + " }"

"""Running `orch` in tests: in this process, where that is enough, and as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.cli.boundary import run
from tests.cli.standin import StandIn, stand_in

ORCH = (sys.executable, "-m", "orchestrator.cli")


@dataclass(frozen=True)
class Ending:
    """How a command line ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    """A stand-in for the daemon, and an environment in which `orch` finds it."""
    with stand_in() as one:
        monkeypatch.setenv("ORCH_SOCKET", str(one.socket))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setattr("orchestrator.cli.client._jittered", lambda pause_s: pause_s / 20)
        yield one


@pytest.fixture
def orch(house: StandIn, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ending]:
    """`orch` with these words, in this process, against the stand-in."""

    def ended(*words: str) -> Ending:
        assert house.socket.exists()
        code = run(list(words))
        out, err = capsys.readouterr()
        return Ending(code, out, err)

    return ended


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    path = tmp_path / "job.toml"
    path.write_text('name = "digits"\n\n[train]\ncommand = "python train.py"\n')
    return path


def process(*words: str, **env: str) -> "subprocess.Popen[str]":
    """`orch` with these words, as a process of its own that may be interrupted."""
    return subprocess.Popen(
        [*ORCH, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )


def outcome(*words: str, **env: str) -> Ending:
    """The same, run to its end."""
    started = process(*words, **env)
    out, err = started.communicate(timeout=30)
    return Ending(started.returncode, out, err)

"""A user's command under the agent's hand: who hears the stop signal, and what is left afterwards."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOST = Path(__file__).with_name("host.py")

# Writes when it heard SIGTERM, saves for a moment, prints, and leaves well.
TRAINER = """\
import pathlib, signal, sys, time
here = pathlib.Path(__file__).parent
def stop(number, frame):
    (here / "heard").write_text(str(time.time()))
    time.sleep(0.2)
    print("saved", flush=True)
    (here / "saved").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
(here / "ready").touch()
print("training", flush=True)
while True:
    time.sleep(0.01)
"""

# Five hundred daemons are born through a child that leaves at once, and die.
DOUBLE_FORKS = """\
import os, time
for _ in range(500):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
time.sleep(60)
"""


def run(directory: Path, line: str, stop_after_s: float) -> Any:
    words = [sys.executable, str(HOST), str(directory), str(stop_after_s), line]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=HOST.parents[2])
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def heard_after_s(here: Path, ended: Any) -> float:
    return float((here / "heard").read_text()) - float(ended["stopped_at"])


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAINER)
    script = f'echo setting up\nif true; then\n  "{sys.executable}" "$HERE/train.py"\nfi\necho after\n'
    (tmp_path / "run.sh").write_text(script)
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        'exec "{python}" "$HERE/train.py"',
        '"{python}" "$HERE/train.py"; echo ended',
        "bash run.sh",
        "bash -c 'sh run.sh; true'",
        'env WORKERS=2 "{python}" "$HERE/train.py"',
    ],
)
def test_the_trainer_itself_hears_the_stop_signal_behind_any_wrapper(here: Path, line: str) -> None:
    """B059"""
    ended = run(here, line.format(python=sys.executable), stop_after_s=1.5)
    assert (here / "saved").exists()
    assert heard_after_s(here, ended) < 1.0
    assert ended["left"] == 0


def test_a_trainer_that_prints_into_a_pipe_keeps_its_reader_while_it_saves(here: Path) -> None:
    run(here, f'"{sys.executable}" -u train.py | tee log', stop_after_s=1.5)
    assert (here / "saved").exists()
    assert (here / "log").read_text() == "training\nsaved\n"


@pytest.mark.parametrize("line", ["bash run.sh", '"{python}" train.py', "sleep 0.05; exec {python} train.py"])
def test_a_stop_right_after_the_start_ends_it_within_the_grace(here: Path, line: str) -> None:
    """B063"""
    ended = run(here, line.format(python=sys.executable), stop_after_s=0.05)
    assert ended["stop_took_s"] < 5.0
    assert ended["left"] == 0


def test_a_trainer_that_leaves_500_orphans_behind_leaves_no_zombie(here: Path) -> None:
    """B072"""
    (here / "forks.py").write_text(DOUBLE_FORKS)
    ended = run(here, f'exec "{sys.executable}" forks.py', stop_after_s=4.0)
    assert ended["zombies"] == 0
    assert ended["left"] == 0


def test_what_hides_in_a_session_of_its_own_is_ended_too(here: Path) -> None:
    ended = run(here, "setsid sleep 600 & setsid setsid sleep 600 & exit 7", stop_after_s=1.0)
    assert (ended["code"], ended["left"]) == (7, 0)

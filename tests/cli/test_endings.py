"""How real processes end: exit codes, one clear line, Ctrl-C, readers that leave."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from orchestrator.model import exits
from tests.cli.conftest import ORCH, outcome, process
from tests.cli.standin import JOB, StandIn, chunk


def test_an_unknown_job_is_one_line_and_its_code(house: StandIn) -> None:
    ended = outcome("show", "nope")
    assert (ended.code, ended.out) == (exits.NOT_FOUND, "")
    assert ended.err == "orch: no job 'nope'; `orch ps --all` lists them\n"


def test_a_daemon_that_does_not_run_is_one_line_and_its_code(house: StandIn) -> None:
    ended = outcome("--socket", "/nowhere/orchd.sock", "ps")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (exits.NO_DAEMON, "", 1)
    assert "no daemon listens on /nowhere/orchd.sock" in ended.err
    assert "`orch daemon`" in ended.err


def test_a_bad_file_is_a_line_a_fault_and_its_code(house: StandIn, job_file: Path) -> None:
    faults = [
        {"path": "train.comand", "line": 4, "message": 'unknown key; did you mean "command"?'},
        {"path": "train.command", "line": None, "message": "is missing"},
    ]
    house.house.refusals["/v1/jobs"] = (422, {"error": "the job file is wrong", "faults": faults})
    ended = outcome("submit", str(job_file))
    assert ended.code == exits.BAD_FILE
    assert ended.err.splitlines() == [
        f'{job_file}:4: train.comand: unknown key; did you mean "command"?',
        f"{job_file}: train.command: is missing",
    ]


def test_a_file_that_is_not_there_is_one_line(house: StandIn) -> None:
    ended = outcome("submit", "nowhere.toml")
    assert (ended.code, ended.err) == (
        exits.BAD_FILE,
        "orch: nowhere.toml cannot be read: No such file or directory\n",
    )


def test_what_is_refused_now_has_its_code(house: StandIn) -> None:
    house.house.refusals[f"/v1/jobs/{JOB}/drill"] = (409, {"error": "no attempt is training now"})
    ended = outcome("drill", "digits")
    assert (ended.code, ended.err) == (exits.REFUSED, "orch: no attempt is training now\n")


@pytest.mark.parametrize("words", [("shwo",), ("show",), ("logs", "x", "--attempt", "0"), ("ps", "--nope")])
def test_a_wrong_command_line_has_its_code(words: tuple[str, ...]) -> None:
    ended = outcome(*words)
    assert ended.code == exits.USAGE
    assert "Traceback" not in ended.err


def test_a_command_that_is_misspelt_is_told_the_right_one() -> None:
    assert "did you mean 'show'?" in outcome("shwo").err


def test_our_own_fault_is_a_line_and_a_file_with_the_traceback(house: StandIn, tmp_path: Path) -> None:
    house.house.detail = {"id": JOB}
    ended = outcome("show", "digits")
    assert ended.code == exits.INTERNAL
    assert len(ended.err.splitlines()) == 1
    assert "orch: internal error: KeyError" in ended.err
    assert "Traceback" in (tmp_path / "state/orch/cli-errors.log").read_text()


# ---------------------------------------------------------------- Ctrl-C


def _interrupted(house: StandIn, *words: str) -> tuple[int, list[str], str]:
    """Exit code, lines and errors of `orch` when Ctrl-C is pressed while it follows."""
    house.house.ended = False
    following = process(*words)
    assert house.house.parked.wait(20)
    following.send_signal(signal.SIGINT)
    out, err = following.communicate(timeout=10)
    return following.returncode, out.splitlines(), err


def test_ctrl_c_while_following_leaves_the_job_and_names_the_commands(house: StandIn, job_file: Path) -> None:
    """B132 The job goes on, the hints are exact, the exit code is 130."""
    code, lines, err = _interrupted(house, "submit", str(job_file), "-f")
    assert code == exits.INTERRUPTED
    assert f"Job digits is submitted as {JOB}." in lines
    assert f"Job {JOB} goes on without you." in err
    assert f"orchestrator.cli events {JOB} -f\n" in err
    assert f"orchestrator.cli cancel {JOB}\n" in err
    assert not house.house.posts(f"/v1/jobs/{JOB}/cancel")
    assert "Traceback" not in err


def test_the_commands_that_ctrl_c_names_work_as_printed(house: StandIn) -> None:
    """B132 Also where the daemon was named by an option."""
    _, _, err = _interrupted(house, "--socket", str(house.socket), "events", "digits", "-f")
    back = next(line for line in err.splitlines() if line.startswith("Come back to it:"))
    house.house.ended = True
    again = subprocess.run(
        back.partition(":")[2], shell=True, capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, timeout=20
    )
    assert (again.returncode, again.stderr) == (0, "")
    assert "Job digits is submitted." in again.stdout


def test_ctrl_c_while_all_events_are_followed_is_no_job_s_farewell(house: StandIn) -> None:
    code, _, err = _interrupted(house, "events", "-f")
    assert (code, "goes on" in err) == (exits.INTERRUPTED, False)


# ---------------------------------------------------------------- readers that leave


@pytest.mark.parametrize("words", [("ps",), ("--help",), ("events", "digits"), ("logs", "digits"), ("ps", "--help")])
def test_a_reader_that_leaves_is_no_fault(house: StandIn, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    left = subprocess.run([*ORCH, *words], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=20)
    os.close(writing)
    assert (left.returncode, left.stderr) == (exits.READER_LEFT, "")


def test_a_follower_ends_when_its_reader_leaves(house: StandIn) -> None:
    house.house.ended = False
    following = process("events", "digits", "-f")
    assert following.stdout is not None
    for _ in ("the day", "the event"):
        following.stdout.readline()
    following.stdout.close()
    assert house.house.parked.wait(20)
    house.house.events.append({**house.house.events[0], "seq": 2})
    assert following.wait(timeout=20) == exits.READER_LEFT


def test_an_ascii_terminal_gets_all_it_can_show(house: StandIn) -> None:
    house.house.chunks = [chunk("Zürich\n")]
    ended = outcome("logs", "digits", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (ended.code, ended.out) == (exits.OK, "train 1 | Z\\xfcrich\n")


# ---------------------------------------------------------------- what it costs to start


def test_help_and_ps_load_nothing_heavy(house: StandIn) -> None:
    for words in (["--help"], ["ps"]):
        code = f"import sys; from orchestrator.cli.boundary import run; run({words}); print(*sys.modules)"
        ran = subprocess.run([ORCH[0], "-c", code], capture_output=True, text=True, timeout=20)
        loaded = set(ran.stdout.splitlines()[-1].split())
        assert not loaded & {"rich", "pydantic", "httpx", "structlog", "tomllib", "blake3", "orchestrator.cli.local"}
    assert "http.client" in loaded


def test_a_daemon_that_is_not_there_is_told_at_once(house: StandIn) -> None:
    began = time.monotonic()
    outcome("--socket", "/nowhere/orchd.sock", "ps")
    assert time.monotonic() - began < 5

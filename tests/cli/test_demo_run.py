"""The demo's course, against a stand-in for the daemon's answers."""

import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import tomllib

from orchestrator.cli.demo_daemon import (
    check_alive,
    config_text,
    last_line,
    own_environment,
    wait_until_ready,
)
from orchestrator.cli.demo_frame import Frame
from orchestrator.cli.demo_places import Demo, all_demos, new_demo, remove
from orchestrator.cli.demo_run import Outcome, Watcher, next_commands, watch
from orchestrator.cli.demo_summary import summarise
from orchestrator.cli.failures import Failure
from orchestrator.model import exits
from providers.local.settings import read_settings
from tests.cli.demo_scenes import attempt, event, job


class StandIn:
    """Answers as a daemon whose job ends at its third look."""

    def __init__(self, end: str) -> None:
        self._end = end
        self._looks = 0

    def get(self, path: str, /, **_query: object) -> Any:
        if not path.endswith("/events"):
            state = self._end if self._looks >= 3 else "running"
            return job(attempt(1), state=state, reason="So it is.")
        self._looks += 1
        events = [event(self._looks, "attempt.created", f"Look {self._looks}.")]
        return {"events": events, "last": self._looks, "ended": self._looks == 3}

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        raise AssertionError(path, body)

    def fetch(self, path: str, /, **query: object) -> bytes:
        raise AssertionError(path, query)


class Seen:
    """A view that remembers."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.frames: list[Frame] = []

    def __enter__(self) -> "Seen":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def tell(self, sentence: str) -> None:
        self.told.append(sentence)

    def show(self, frame: Frame) -> None:
        self.frames.append(frame)


def watcher(view: Seen, left_s: float = 60.0) -> Watcher:
    began = datetime(2026, 1, 1, tzinfo=timezone.utc)
    return Watcher(view, began, Demo(Path("/h"), Path("/h/state")), time.monotonic() + left_s)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.cli.demo_run._LOOK_EVERY_S", 0.0)


def test_every_event_is_told_once_and_every_look_is_shown() -> None:
    view = Seen()
    watch(StandIn("succeeded"), "j", watcher(view))
    assert view.told == ["   2.5 s  Look 1.", "   2.5 s  Look 2.", "   2.5 s  Look 3."]
    assert len(view.frames) == 3


def test_a_job_that_fails_fails_the_demo_with_its_reason_and_the_log() -> None:
    with pytest.raises(Failure) as failed:
        watch(StandIn("failed"), "j", watcher(Seen()))
    assert failed.value.code == exits.FAILED
    assert "it is failed: So it is." in failed.value.lines[0]
    assert "/h/orchd.log" in failed.value.lines[1]


def test_a_job_that_does_not_end_in_time_fails_the_demo() -> None:
    with pytest.raises(Failure, match="has not ended"):
        watch(StandIn("succeeded"), "j", watcher(Seen(), left_s=-1.0))


# ---------------------------------------------------------------- the daemon


def ended_process(code: int) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"])
    process.wait()
    return process


def demo_in(home: Path) -> Demo:
    return Demo(home, home / "state")


def test_a_daemon_that_dies_is_told_with_its_last_word(tmp_path: Path) -> None:
    demo = demo_in(tmp_path)
    demo.log.write_text("first\norchd: the disk is full\n\n")
    with pytest.raises(Failure) as failed:
        wait_until_ready(ended_process(3), demo, lambda: False)
    assert failed.value.lines[0] == ("the demo's daemon ended (exit code 3, its last words: orchd: the disk is full)")
    assert str(demo.log) in failed.value.lines[1]


def test_a_daemon_that_lives_is_not_reported(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        check_alive(process, demo_in(tmp_path))
    finally:
        process.kill()
        process.wait()


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert last_line(tmp_path / "none") == ""


def test_the_market_takes_two_with_a_notice_and_one_without(tmp_path: Path) -> None:
    table = tomllib.loads(config_text(demo_in(tmp_path), tmp_path))["providers"]["local"]
    rules = read_settings(table).market.rules()
    assert [rule.notice for rule in rules] == [True, True, False]
    assert {rule.instance_type for rule in rules} == {"local.gpu-1"}
    assert all(rule.after_s > table["notice_window_s"] for rule in rules)


def test_another_daemons_settings_do_not_reach_the_demos_own() -> None:
    assert own_environment({"ORCH_STATE": "/x", "ORCH_CONFIG": "/y", "PATH": "/bin"}) == {"PATH": "/bin"}


# ---------------------------------------------------------------- places


def test_two_demos_have_places_of_their_own_and_are_watched_while_they_run(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    with new_demo(env) as one, new_demo(env) as other:
        assert one.socket != other.socket
        assert one.is_watched()
        assert set(all_demos(env)) == {one, other}
    assert not one.is_watched()
    remove(one)
    assert all_demos(env) == [other]


def test_a_socket_path_is_never_longer_than_the_kernel_takes(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / ("deep/" * 30))}
    with new_demo(env) as demo:
        assert len(str(demo.socket)) <= 100
        assert all_demos(env) == [demo]
    remove(demo)
    assert not demo.state.exists()


def test_the_commands_to_try_next_name_the_demos_own_socket(tmp_path: Path) -> None:
    accounts = job()["accounts"]
    outcome = Outcome(summarise(accounts, "a", "a", 0), demo_in(tmp_path), tmp_path)
    commands = next_commands(outcome, (".venv/bin/orch",), "examples/digits/job.toml")
    assert all(text.startswith(f".venv/bin/orch --socket {outcome.demo.socket} ") for text, _ in commands)
    assert commands[-1][0].endswith(" demo --stop")

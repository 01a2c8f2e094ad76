"""Checks of the house, and the table of commands itself."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from orchestrator.cli.commands import HOUSE, JOBS, root
from orchestrator.cli.places import config_path, socket_path
from orchestrator.model import exits
from tests.cli.conftest import Ending
from tests.cli.standin import StandIn

Orch = Callable[..., Ending]
BAD = {"subject": "object store", "ok": False, "message": "it refuses", "mend": "look at its permissions"}


def test_a_good_config_is_told_so(orch: Orch, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'state_dir = "{tmp_path / "state"}"\n')
    ended = orch("config", "check", str(path))
    assert (ended.code, ended.out) == (exits.OK, f"{path}: nothing is wrong.\n")
    assert not (tmp_path / "state").exists(), "a check makes nothing"


def test_every_fault_of_a_config_is_a_line_with_its_place(orch: Orch, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('stat_dir = "x"\n\n[log]\nlevle = "info"\n')
    ended = orch("config", "check", str(path))
    assert ended.code == exits.BAD_FILE
    assert [line.split(" ")[:2] for line in ended.err.splitlines()] == [
        [f"{path}:1:", "stat_dir:"],
        [f"{path}:4:", "log.levle:"],
    ]
    told = json.loads(orch("config", "check", str(path), "--json").out)
    assert [(fault["path"], fault["line"]) for fault in told["faults"]] == [("stat_dir", 1), ("log.levle", 4)]


def test_a_config_that_is_not_there_is_told_so(orch: Orch) -> None:
    ended = orch("config", "check", "/nowhere.toml")
    assert (ended.code, "cannot be read" in ended.err) == (exits.BAD_FILE, True)


def test_a_fault_in_a_provider_s_table_is_found(orch: Orch, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[providers.local]\nnotice_windw_s = 3\n[providers.aws]\n")
    assert (orch("config", "check", str(path)).code, orch("config", "check", str(path)).out) == (exits.BAD_FILE, "")


def test_a_check_needs_no_right_to_the_state(orch: Orch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "config.toml"
    path.write_text(f'state_dir = "{tmp_path}/file/state"\n')
    assert orch("config", "check", str(path)).code == exits.OK


def test_doctor_asks_the_daemon_and_fails_where_something_is_wrong(orch: Orch, house: StandIn) -> None:
    assert orch("doctor").out == "ok   daemon: version 0.1.0, pid 7, state in /var/lib/orch\n"
    house.house.findings = [BAD]
    ended = orch("doctor")
    assert ended.code == exits.FAILED
    assert ended.out.splitlines()[1:] == [
        "BAD  object store: it refuses",
        "     to mend it: look at its permissions",
    ]


def test_doctor_without_a_daemon_says_so_and_checks_this_machine(
    orch: Orch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCH_STATE", str(tmp_path / "st"))
    ended = orch("--socket", "/nowhere/orchd.sock", "doctor", "--json")
    findings = json.loads(ended.out)
    assert ended.code == exits.FAILED
    assert findings[0]["subject"] == "daemon"
    assert findings[0]["message"].startswith("none runs: no daemon listens on /nowhere/orchd.sock")
    assert {"disk", "agent"} <= {one["subject"] for one in findings}


def test_doctor_says_where_the_state_cannot_be_opened(
    orch: Orch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ORCH_STATE", str(tmp_path / "file/state"))
    ended = orch("--socket", "/nowhere/orchd.sock", "doctor")
    assert ended.code == exits.FAILED
    assert "file/state/local cannot be used: Not a directory" in ended.out


def test_the_daemon_is_given_what_the_command_line_names(
    orch: Orch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[object] = []
    monkeypatch.setattr("orchestrator.daemon.main", lambda config, state: given.extend((config, state)) or 6)
    ended = orch("daemon", "--config", str(tmp_path / "c.toml"), "--state", str(tmp_path))
    assert (ended.code, given) == (6, [tmp_path / "c.toml", tmp_path])


# ---------------------------------------------------------------- where things are


def test_an_option_wins_over_the_environment_and_that_over_the_usual_place() -> None:
    env = {"ORCH_SOCKET": "/e/sock", "ORCH_STATE": "/e/state", "ORCH_CONFIG": "/e/config.toml", "HOME": "/h"}
    assert socket_path("/o/sock", env, 1000) == "/o/sock"
    assert socket_path(None, env, 1000) == "/e/sock"
    assert socket_path(None, {"ORCH_STATE": "/e/state"}, 1000) == "/e/state/orchd.sock"
    assert socket_path(None, {"HOME": "/h"}, 1000) == "/h/.local/state/orch/orchd.sock"
    assert socket_path(None, {"HOME": "/root"}, 0) == "/var/lib/orch/orchd.sock"
    assert config_path(None, env, 1000) == Path("/e/config.toml")
    assert config_path("/o/config.toml", env, 1000) == Path("/o/config.toml")


# ---------------------------------------------------------------- the table of commands


def _leaves() -> list[tuple[str, ...]]:
    return [("config", "check") if name == "config" else (name,) for name in (*JOBS, *HOUSE)]


@pytest.mark.parametrize("words", _leaves())
def test_every_command_s_help_shows_an_example(orch: Orch, words: tuple[str, ...]) -> None:
    ended = orch(*words, "--help")
    assert ended.code == exits.OK
    assert f"Example:  orch {' '.join(words)}" in ended.out


@pytest.mark.parametrize("words", [words for words in _leaves() if words != ("daemon",)])
def test_every_command_that_prints_speaks_json(orch: Orch, words: tuple[str, ...]) -> None:
    assert "--json" in orch(*words, "--help").out


def test_the_help_lists_every_command_and_each_can_be_loaded(orch: Orch) -> None:
    told = orch("--help").out
    ctx = click.Context(root)
    for name, place in (JOBS | HOUSE).items():
        assert f"  {name} " in told
        assert place.line in " ".join(told.split())
        assert root.get_command(ctx, name) is not None

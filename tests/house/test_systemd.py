"""The unit that ships: systemd understands all of it, and what it says is what the daemon does."""

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "systemd" / "orchd.service"
ANALYZE = shutil.which("systemd-analyze")


def _service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(UNIT.read_text())
    return unit["Service"]


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
def test_systemd_has_nothing_to_say_about_it(tmp_path: Path) -> None:
    text = UNIT.read_text()
    here = text.replace("/opt/orch/.venv/bin/orch", sys.executable).replace(
        "file:///opt/orch", f"file://{UNIT.parents[1]}"
    )
    assert here.count(sys.executable) == 1
    (tmp_path / UNIT.name).write_text(here)
    assert ANALYZE is not None
    ended = subprocess.run([ANALYZE, "verify", str(tmp_path / UNIT.name)], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, ""), "an unknown key is told on stderr alone"


def test_the_daemons_death_and_restart_leave_its_instances_alone() -> None:
    service = _service()
    assert service["KillMode"] == "process"
    assert service["OOMPolicy"] == "continue"
    assert service["Restart"] == "always"
    assert "PrivateTmp" not in service


def test_readiness_reload_and_watchdog_are_those_that_the_daemon_speaks() -> None:
    service = _service()
    assert (service["Type"], service["NotifyAccess"], service["WatchdogSec"]) == ("notify", "main", "60")
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"


def test_the_state_is_where_the_daemon_looks_for_it() -> None:
    service = _service()
    assert service["StateDirectory"] == "orch"
    assert service["Environment"] == "ORCH_STATE=%S/orch"

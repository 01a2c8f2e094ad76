"""The daemon as a process: it starts, hears signals, holds its state alone, and says why it cannot."""

import json
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

from orchestrator.model import exits
from tests.daemon.scenes import Orchd, undisturbed


def test_a_job_trains_on_a_real_instance_and_its_output_can_be_pulled(orchd: Orchd) -> None:
    orchd.start()
    job = orchd.submit(steps=30, pace_s=0.01)
    orchd.wait_until(job, "succeeded")
    assert orchd.weights(job) == undisturbed(30)
    orchd.wait_for(lambda: not orchd.alive(), "the instance has ended")


def test_sigterm_leaves_cleanly_and_leaves_instances_running(orchd: Orchd) -> None:
    orchd.start()
    job = orchd.submit(steps=100)
    orchd.wait_for(orchd.starts, "the trainer runs")
    assert orchd.kill(signal.SIGTERM) == exits.OK
    assert not orchd.socket.exists()
    assert len(orchd.alive()) == 1
    orchd.start()
    orchd.wait_until(job, "succeeded")
    assert [one["attempt"] for one in orchd.starts()] == [1]


def test_a_second_daemon_on_the_same_state_names_the_holder(orchd: Orchd) -> None:
    """B089 A kernel lock on the directory: no file whose loss lets a second one in."""
    orchd.start()
    first = orchd.process
    assert first is not None
    for file in orchd.state.glob("*.pid"):
        file.unlink()
    second = orchd.spawn()
    assert second.wait(30) == exits.REFUSED
    assert f"orchd: orchd (pid {first.pid}) already works in {orchd.state}" in orchd.log.read_text()
    assert orchd.orch("ps").returncode == 0
    orchd.process = first


def test_two_daemons_started_at_once_are_one(orchd: Orchd) -> None:
    """B089"""
    both = [orchd.spawn(), orchd.spawn()]
    orchd.wait_for(lambda: orchd.orch("ps").returncode == 0, "one answers")
    orchd.wait_for(lambda: any(one.poll() is not None for one in both), "the other leaves")
    ended = [one.poll() for one in both]
    assert sorted(ended, key=str) == [exits.REFUSED, None]
    orchd.process = both[ended.index(None)]


def test_sighup_reads_the_config_again(orchd: Orchd) -> None:
    orchd.start()
    orchd.configure(top="[caps]\nmax_instances = 7")
    assert orchd.process is not None
    orchd.process.send_signal(signal.SIGHUP)
    orchd.wait_for(lambda: "config.reloaded" in orchd.log.read_text(), "the reload is told")
    assert orchd.orch("ps").returncode == 0


def test_a_wrong_config_at_sighup_changes_nothing(orchd: Orchd) -> None:
    orchd.start()
    orchd.configure(top="[caps]\nmax_instanses = 7")
    assert orchd.process is not None
    orchd.process.send_signal(signal.SIGHUP)
    orchd.wait_for(lambda: "config.refused" in orchd.log.read_text(), "the refusal is told")
    assert "max_instances" in orchd.log.read_text()
    assert orchd.orch("ps").returncode == 0


@pytest.mark.parametrize(
    ("top", "code", "says"),
    [
        ("[caps]\nmax_instanses = 7", exits.BAD_FILE, "config.toml:2: caps.max_instanses: unknown key"),
        ('database = "sqlite:////proc/orch.db"', exits.FAILED, "/proc/orch.db"),
        ('object_store = "file:///proc/objects"', exits.FAILED, "file:///proc/objects"),
        (f'bundle = "{"0" * 64}"', exits.FAILED, "`orch bundle` makes one"),
        ("[providers.mars]", exits.FAILED, "installed: local"),
        ("not toml", exits.BAD_FILE, "config.toml:1: this is not TOML"),
    ],
)
def test_what_stands_in_the_way_is_one_line_and_an_exit_code(orchd: Orchd, top: str, code: int, says: str) -> None:
    orchd.config.write_text(top + "\n")
    assert orchd.spawn().wait(30) == code
    told = [line for line in orchd.log.read_text().splitlines() if line.startswith("orchd: ")]
    assert len(told) == 1
    assert says in told[0]
    assert "Traceback" not in orchd.log.read_text()


def test_every_line_of_the_log_is_one_json_object_with_an_event_and_a_time(orchd: Orchd) -> None:
    orchd.start()
    orchd.wait_until(orchd.submit(steps=10, pace_s=0.0), "succeeded")
    orchd.kill(signal.SIGTERM)
    lines = [json.loads(line) for line in orchd.log.read_text().splitlines()]
    assert all({"event", "level", "timestamp"} <= line.keys() for line in lines)
    assert {"daemon.started", "daemon.stopping", "daemon.stopped"} <= {line["event"] for line in lines}


def test_systemd_hears_ready_signs_of_life_reload_and_stopping(orchd: Orchd) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        address = orchd.home / "notify"
        systemd.bind(str(address))
        systemd.settimeout(30)
        process = orchd.spawn(NOTIFY_SOCKET=str(address), WATCHDOG_USEC="400000")
        assert systemd.recv(4096).decode().splitlines() == ["READY=1", f"MAINPID={process.pid}"]
        assert systemd.recv(4096) == b"WATCHDOG=1"
        process.send_signal(signal.SIGHUP)
        heard = [systemd.recv(4096).decode() for _ in range(8)]
        assert any(one.startswith("RELOADING=1\nMONOTONIC_USEC=") for one in heard)
        assert "READY=1" in heard
        process.send_signal(signal.SIGTERM)
        while (said := systemd.recv(4096)) == b"WATCHDOG=1":
            pass
        assert said == b"STOPPING=1"


def test_a_full_disk_under_the_store_is_told_and_the_daemon_goes_on(orchd: Orchd, tmp_path: Path) -> None:
    """The kernel's ENOSPC, from a small file system."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small file system needs root and mount")
    orchd.state.mkdir()
    if os.system(f"mount -t tmpfs -o size=3m tmpfs {orchd.state} 2>/dev/null") != 0:
        pytest.skip("this machine mounts no tmpfs")
    try:
        orchd.start()
        _fill(orchd.state / "ballast")
        refused = orchd.orch("submit", str(_job(orchd)))
        assert refused.returncode == exits.REFUSED
        assert "disk is full" in refused.stderr
        (orchd.state / "ballast").unlink()
        assert orchd.orch("submit", str(_job(orchd))).returncode == 0
    finally:
        orchd.close()
        os.system(f"umount -l {orchd.state}")


def _job(orchd: Orchd) -> Path:
    file = orchd.home / "sleep.toml"
    file.write_text('name = "sleep"\n[train]\ncommand = "true"\n')
    return file


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return

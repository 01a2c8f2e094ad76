"""The example trainer keeps what it promises to whoever watches the demo."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from orchestrator.model.jobfile import read_job

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
WITHIN_S = 60.0


def environment(home: Path, **extra: str) -> dict[str, str]:
    places = {
        "ORCH_DATA": str(home / "data"),
        "ORCH_CHECKPOINTS": str(home / "checkpoints"),
        "ORCH_OUTPUT": str(home / "output"),
        "ORCH_PROGRESS_FILE": str(home / "progress.json"),
        "DIGITS_STEPS": "60",
        "DIGITS_SAVE_EVERY": "7",
    }
    return {"PATH": os.environ["PATH"], **places, **extra}


def start(home: Path, **extra: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, str(DIGITS / "train.py")]
    return subprocess.Popen(command, env=environment(home, **extra), stdout=subprocess.PIPE)


def train(home: Path, **extra: str) -> str:
    trainer = start(home, **extra)
    output, _ = trainer.communicate(timeout=WITHIN_S)
    assert trainer.returncode == 0
    return output.decode()


def reached(home: Path) -> int:
    try:
        return int(json.loads((home / "progress.json").read_text())["step"])
    except FileNotFoundError:
        return 0


def wait_for_step(home: Path, step: int) -> None:
    until = time.monotonic() + WITHIN_S
    while reached(home) < step:
        assert time.monotonic() < until
        time.sleep(0.01)


def new_home(path: Path, data: Path) -> Path:
    path.mkdir()
    (path / "data").symlink_to(data)
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random pictures in the shape of a prepared shard, two shards as the agent lays them out."""
    directory = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(1)
    for shard in range(2):
        place = directory / f"{shard:05d}"
        place.mkdir()
        arrays = {"train_x": random.random((64, 64)), "train_y": random.integers(0, 10, 64)}
        arrays |= {"test_x": random.random((16, 64)), "test_y": random.integers(0, 10, 16)}
        np.savez(place / f"digits-{shard:05d}.npz", **arrays)
    return directory


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    home = new_home(tmp_path_factory.mktemp("undisturbed") / "home", data)
    train(home)
    return (home / "output/weights.npz").read_bytes()


def test_a_stopped_trainer_saves_its_last_step_and_ends_with_the_weights_of_an_undisturbed_run(
    tmp_path: Path, data: Path, undisturbed: bytes
) -> None:
    home = new_home(tmp_path / "home", data)
    for step in (10, 30):
        trainer = start(home, DIGITS_PACE_S="0.02")
        wait_for_step(home, step)
        trainer.send_signal(signal.SIGTERM)
        trainer.communicate(timeout=WITHIN_S)
        assert trainer.returncode == 143
        assert (home / f"checkpoints/step-{reached(home):08d}.npz").exists()
    train(home)
    assert (home / "output/weights.npz").read_bytes() == undisturbed


def test_a_killed_trainer_goes_on_from_its_newest_checkpoint_to_the_same_weights(
    tmp_path: Path, data: Path, undisturbed: bytes
) -> None:
    home = new_home(tmp_path / "home", data)
    trainer = start(home, DIGITS_PACE_S="0.02")
    wait_for_step(home, 16)
    trainer.kill()
    trainer.communicate(timeout=WITHIN_S)
    assert "starts at step 0 " not in train(home)
    assert (home / "output/weights.npz").read_bytes() == undisturbed


def test_a_file_that_never_got_its_name_is_not_a_checkpoint(tmp_path: Path, data: Path, undisturbed: bytes) -> None:
    home = new_home(tmp_path / "home", data)
    (home / "checkpoints").mkdir()
    (home / "checkpoints/step-00000050.npz.tmp").write_bytes(b"torn")
    assert "starts at step 0 " in train(home)
    assert (home / "output/weights.npz").read_bytes() == undisturbed


def test_a_trainer_that_finds_everything_done_only_writes_its_weights(
    tmp_path: Path, data: Path, undisturbed: bytes
) -> None:
    home = new_home(tmp_path / "home", data)
    train(home)
    (home / "output/weights.npz").unlink()
    assert "starts at step 60 of 60" in train(home)
    assert (home / "output/weights.npz").read_bytes() == undisturbed


def test_progress_names_step_total_loss_and_accuracy(tmp_path: Path, data: Path) -> None:
    home = new_home(tmp_path / "home", data)
    train(home)
    told = json.loads((home / "progress.json").read_text())
    assert (told["step"], told["total_steps"]) == (60, 60)
    assert set(told) == {"step", "total_steps", "loss", "accuracy"}


def test_only_a_few_checkpoints_stay_on_the_instance(tmp_path: Path, data: Path) -> None:
    home = new_home(tmp_path / "home", data)
    train(home)
    names = sorted(path.name for path in (home / "checkpoints").iterdir())
    assert names == ["step-00000049.npz", "step-00000056.npz", "step-00000060.npz"]


def test_the_trainer_starts_without_scikit_learn() -> None:
    """Its start is part of every hand-over."""
    command = [sys.executable, "-X", "importtime", "-c", "import train"]
    imports = subprocess.run(command, cwd=DIGITS, capture_output=True, text=True, check=True).stderr
    assert "numpy" in imports
    assert "sklearn" not in imports
    assert "scipy" not in imports


def test_a_shard_is_the_same_bytes_whoever_prepares_it(tmp_path: Path) -> None:
    made = []
    for number in range(2):
        output = tmp_path / str(number)
        output.mkdir()
        env = {"PATH": os.environ["PATH"], "ORCH_SHARD": "1", "ORCH_SHARDS": "6", "ORCH_OUTPUT": str(output)}
        subprocess.run([sys.executable, str(DIGITS / "prepare.py")], env=env, check=True, capture_output=True)
        made.append((output / "digits-00001.npz").read_bytes())
    assert made[0] == made[1]


def test_the_example_job_is_a_right_one_without_a_warning() -> None:
    read = read_job((DIGITS / "job.toml").read_text())
    assert read.warnings == ()
    assert read.spec.preprocess is not None
    assert (read.spec.preprocess.shards, read.spec.preprocess.instances) == (6, 3)


def test_without_its_programs_the_job_fails_at_once_and_says_what_is_missing() -> None:
    for command in _commands():
        run = subprocess.run(["/bin/sh", "-c", command], env={}, capture_output=True, text=True)
        assert run.returncode == 2
        assert "DIGITS: is not set, see examples/README.md" in run.stderr


def _commands() -> list[str]:
    spec = read_job((DIGITS / "job.toml").read_text()).spec
    assert spec.preprocess is not None
    return [spec.preprocess.command, spec.train.command]

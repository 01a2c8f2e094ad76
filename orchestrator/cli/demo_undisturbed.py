"""The run to compare with: the example's programs as plain processes, one after another, nothing of ours.

They find the variables that an instance would have: `OPENBLAS_CORETYPE` alone, say, changes the last bits of sums.

python -m orchestrator.cli.demo_undisturbed EXAMPLE_DIRECTORY WORK_DIRECTORY
"""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomllib

from orchestrator.cli.demo_places import Demo
from orchestrator.cli.failures import Failure
from orchestrator.cli.local import instance_environment
from orchestrator.model import exits

_NICENESS = 15  # the job that is watched goes first
_ENDS_WITHIN_S = 120.0


@contextmanager
def running(demo: Demo, example: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The comparison run, in the background; ended with whoever leaves early."""
    demo.undisturbed.mkdir()
    words = ("-m", "orchestrator.cli.demo_undisturbed", str(example), str(demo.undisturbed))
    with (demo.undisturbed / "output.log").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def weights_sha256(process: "subprocess.Popen[bytes]", demo: Demo) -> str:
    """Wait for the run to end; the digest of its weights. Raises Failure."""
    output = demo.undisturbed / "output.log"
    try:
        code = process.wait(timeout=_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        raise Failure(exits.FAILED, f"the undisturbed run has not ended; its output: {output}") from None
    if code != 0:
        raise Failure(exits.FAILED, f"the undisturbed run failed with exit code {code}; its output: {output}")
    return hashlib.sha256((demo.undisturbed / "output/weights.npz").read_bytes()).hexdigest()


# ---------------------------------------------------------------- in the process itself


def main(example: Path, work: Path) -> None:
    """Prepare all shards, then train. Raises CalledProcessError."""
    os.nice(_NICENESS)
    began = time.monotonic()
    job = tomllib.loads((example / "job.toml").read_text())
    for name in ("data", "checkpoints", "output"):
        (work / name).mkdir()
    shards = job["preprocess"]["shards"]
    for shard in range(shards):
        _run(example / "prepare.py", preprocess_environment(job, work, shard))
    _run(example / "train.py", train_environment(job, work))
    print(f"ended after {time.monotonic() - began:.1f} s", flush=True)


def preprocess_environment(job: Mapping[str, Any], work: Path, shard: int) -> dict[str, str]:
    """What orch would tell the program of one shard."""
    stage = job["preprocess"]
    places = {
        "ORCH_SHARD": str(shard),
        "ORCH_SHARDS": str(stage["shards"]),
        "ORCH_OUTPUT": str(work / "data"),
    }
    return {**instance_environment(), **stage.get("env", {}), **places}


def train_environment(job: Mapping[str, Any], work: Path) -> dict[str, str]:
    """What orch would tell the trainer, but at full speed."""
    places = {f"ORCH_{name.upper()}": str(work / name) for name in ("data", "checkpoints", "output")}
    return {**instance_environment(), **job["train"].get("env", {}), "DIGITS_PACE_S": "0", **places}


def _run(program: Path, env: Mapping[str, str]) -> None:
    subprocess.run([sys.executable, str(program)], env=env, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

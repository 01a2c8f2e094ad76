"""A trainer whose weights are a chain of digests: however often it is stopped, it ends at the same one.

    python trainer.py STEPS PACE_S

`TRAINER_JOURNAL` names a file that gets a line at each start; two trainers at once would show in it, because
each holds a lock for as long as it lives.
"""

import fcntl
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import IO

SAVE_EVERY = 10


def main(steps: int, pace_s: float) -> int:
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
    checkpoints, output = Path(os.environ["ORCH_CHECKPOINTS"]), Path(os.environ["ORCH_OUTPUT"])
    step, weights = newest(checkpoints)
    held = announce(Path(os.environ["TRAINER_JOURNAL"]), step)
    while step < steps and not asked:
        step, weights = step + 1, next_weights(weights, step + 1)
        Path(os.environ["ORCH_PROGRESS_FILE"]).write_text(json.dumps({"step": step, "total_steps": steps}))
        if step % SAVE_EVERY == 0 or step == steps:
            save(checkpoints, step, weights)
        time.sleep(pace_s)
    if step < steps:
        save(checkpoints, step, weights)
        return 0
    (output / "weights").write_text(weights)
    held.close()
    return 0


def next_weights(weights: str, step: int) -> str:
    return hashlib.sha256(f"{weights}/{step}".encode()).hexdigest()


def newest(checkpoints: Path) -> tuple[int, str]:
    found = sorted((int(path.name.partition("-")[2]), path) for path in checkpoints.glob("step-*"))
    return (found[-1][0], found[-1][1].read_text()) if found else (0, "")


def save(checkpoints: Path, step: int, weights: str) -> None:
    draft = checkpoints / ".draft"
    draft.write_text(weights)
    draft.replace(checkpoints / f"step-{step}")


def announce(journal: Path, step: int) -> IO[str]:
    """Hold the lock, and say where we start, or that somebody else trains."""
    lock = journal.with_suffix(".lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = "alone"
    except BlockingIOError:
        found = "another trainer lives"
    with journal.open("a") as file:
        file.write(json.dumps({"attempt": int(os.environ["ORCH_ATTEMPT"]), "step": step, "found": found}) + "\n")
    return lock


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))

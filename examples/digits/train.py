"""Trains a small network on the prepared digits, and can be interrupted at any moment.

It knows nothing of orch but a few directories: it saves into `ORCH_CHECKPOINTS` and starts from the newest
file there. The same steps give the same weights, byte for byte, however often it was stopped on the way: the
pictures of a step depend on its number alone, and a checkpoint holds all that the next step needs.

`DIGITS_STEPS`, `DIGITS_SAVE_EVERY` (in steps) and `DIGITS_PACE_S` (the least seconds a step takes, so that a
person can watch) may be set.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Sums that are split among threads depend on how many there are. Set before numpy is loaded.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

SEED = 2027
BATCH = 32
HIDDEN = 48
LEARNING_RATE = 0.02
MOMENTUM = 0.9
KEEP = 3
PRINT_EVERY = 50
STOPPED = 128 + signal.SIGTERM

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Plan:
    """How to train: steps in all, steps between checkpoints, the least seconds a step takes."""

    steps: int
    save_every: int
    pace_s: float


@dataclass(frozen=True)
class Places:
    data: Path
    checkpoints: Path
    output: Path
    progress: Path | None


class StopRequest:
    """Set by SIGTERM; the step in hand is finished first."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._hear)

    def _hear(self, _number: int, _frame: object) -> None:
        self.asked = True


def main() -> int:
    stop = StopRequest()
    plan, places = read_plan(), read_places()
    data = load_data(places.data)
    done, state = newest_checkpoint(places.checkpoints) or (0, first_state())
    print(f"starts at step {done} of {plan.steps} with {len(data['train_x'])} pictures", flush=True)
    for step in paced(range(done + 1, plan.steps + 1), plan.pace_s):
        loss = train_step(state, data, step)
        accuracy = test_accuracy(state, data)
        report(places.progress, plan, step, loss, accuracy)
        if stop.asked or step % plan.save_every == 0 or step == plan.steps:
            save(places.checkpoints, step, state)
        if stop.asked:
            print(f"stopped after step {step}, which is saved", flush=True)
            return STOPPED
    write_weights(places.output, state)
    print(f"finished: {test_accuracy(state, data):.1%} of the test pictures are read rightly", flush=True)
    return 0


def read_plan() -> Plan:
    env = os.environ.get
    return Plan(
        steps=int(env("DIGITS_STEPS", "900")),
        save_every=int(env("DIGITS_SAVE_EVERY", "20")),
        pace_s=float(env("DIGITS_PACE_S", "0")),
    )


def read_places() -> Places:
    """Directories from the command line; those that are left out from orch's variables."""
    env = os.environ.get
    parser = argparse.ArgumentParser(description="Trains a small network on prepared digits.")
    for name in ("data", "checkpoints", "output"):
        known = env(f"ORCH_{name.upper()}")
        parser.add_argument(f"--{name}", type=Path, default=known, required=known is None)
    named = parser.parse_args()
    progress = env("ORCH_PROGRESS_FILE")
    return Places(named.data, named.checkpoints, named.output, Path(progress) if progress else None)


def paced(steps: range, pace_s: float) -> Iterator[int]:
    """The steps, each at least `pace_s` after the one before."""
    for step in steps:
        due = time.monotonic() + pace_s
        yield step
        time.sleep(max(0.0, due - time.monotonic()))


# ---------------------------------------------------------------- data


def load_data(directory: Path) -> Arrays:
    """All shards below the directory, in the order of their names."""
    shards = [dict(np.load(path)) for path in sorted(directory.rglob("digits-*.npz"), key=lambda p: p.name)]
    if not shards:
        raise SystemExit(f"there are no digits-*.npz below {directory}")
    return {name: np.concatenate([shard[name] for shard in shards]) for name in shards[0]}


# ---------------------------------------------------------------- the network


def first_state() -> Arrays:
    """Weights and their velocities. The velocities are part of a checkpoint: without them steps differ."""
    random = np.random.default_rng(SEED)
    weights = {
        "w1": random.normal(0.0, 64**-0.5, (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": random.normal(0.0, HIDDEN**-0.5, (HIDDEN, 10)),
        "b2": np.zeros(10),
    }
    return weights | {f"velocity_{name}": np.zeros_like(value) for name, value in weights.items()}


def train_step(state: Arrays, data: Arrays, step: int) -> float:
    """One step of gradient descent with momentum, in place. The loss before it."""
    chosen = np.random.default_rng([SEED, step]).integers(0, len(data["train_x"]), BATCH)
    loss, gradients = gradients_of(state, data["train_x"][chosen], data["train_y"][chosen])
    for name, gradient in gradients.items():
        velocity = MOMENTUM * state[f"velocity_{name}"] - LEARNING_RATE * gradient
        state[f"velocity_{name}"] = velocity
        state[name] = state[name] + velocity
    return loss


def gradients_of(state: Arrays, x: np.ndarray, y: np.ndarray) -> tuple[float, Arrays]:
    hidden, shares = forward(state, x)
    rows = np.arange(len(y))
    loss = float(-np.log(np.maximum(shares[rows, y], 1e-12)).mean())
    error = shares.copy()
    error[rows, y] -= 1.0
    error /= len(y)
    back = (error @ state["w2"].T) * (hidden > 0.0)
    return loss, {"w1": x.T @ back, "b1": back.sum(0), "w2": hidden.T @ error, "b2": error.sum(0)}


def forward(state: Arrays, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hidden layer, and the share that each of the ten digits gets."""
    hidden = np.maximum(x @ state["w1"] + state["b1"], 0.0)
    scores = hidden @ state["w2"] + state["b2"]
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return hidden, shares / shares.sum(1, keepdims=True)


def test_accuracy(state: Arrays, data: Arrays) -> float:
    _, shares = forward(state, data["test_x"])
    return float((shares.argmax(1) == data["test_y"]).mean())


# ---------------------------------------------------------------- files


def newest_checkpoint(directory: Path) -> tuple[int, Arrays] | None:
    found = sorted(directory.glob("step-*.npz"))
    if not found:
        return None
    return int(found[-1].stem.removeprefix("step-")), dict(np.load(found[-1]))


def save(directory: Path, step: int, state: Arrays) -> None:
    """A file that is there is whole: it gets its name last."""
    directory.mkdir(parents=True, exist_ok=True)
    _write_whole(directory / f"step-{step:08d}.npz", state)
    for old in sorted(directory.glob("step-*.npz"))[:-KEEP]:
        old.unlink()


def write_weights(directory: Path, state: Arrays) -> None:
    """Numpy dates the members of an archive 1980, so the same weights are the same bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    _write_whole(directory / "weights.npz", {n: a for n, a in state.items() if not n.startswith("velocity_")})


def _write_whole(path: Path, arrays: Arrays) -> None:
    draft = path.with_name(f"{path.name}.tmp")
    with draft.open("wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def report(path: Path | None, plan: Plan, step: int, loss: float, accuracy: float) -> None:
    if step % PRINT_EVERY == 0 or step == plan.steps:
        print(f"step {step:>5}/{plan.steps}  loss {loss:.4f}  accuracy {accuracy:.1%}", flush=True)
    if path is None:
        return
    draft = path.with_name(f"{path.name}.tmp")
    told = {"step": step, "total_steps": plan.steps, "loss": round(loss, 5), "accuracy": round(accuracy, 4)}
    draft.write_text(json.dumps(told))
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main())

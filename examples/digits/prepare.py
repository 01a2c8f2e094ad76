"""Prepares one shard of scikit-learn's handwritten digits.

Every `ORCH_SHARDS`-th picture belongs to the shard: scaled to 0..1, every fifth kept for testing, the others
also shifted by a pixel in a random direction. The same shard is the same bytes, whoever prepares it.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

SEED = 2026
BRIGHTEST = 16.0
SHIFTED_COPIES = 3


def main() -> None:
    shard, shards = int(os.environ["ORCH_SHARD"]), int(os.environ["ORCH_SHARDS"])
    pictures, labels = load_digits(return_X_y=True)
    arrays = prepare(pictures[shard::shards], labels[shard::shards], np.random.default_rng([SEED, shard]))
    path = Path(os.environ["ORCH_OUTPUT"]) / f"digits-{shard:05d}.npz"
    np.savez(path, **arrays)
    print(f"shard {shard} of {shards}: {len(arrays['train_x'])} pictures to train on", flush=True)


def prepare(pictures: np.ndarray, labels: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Pictures are rows of 64 pixels, 0..16; the answer's are rows of 64 float64, 0..1."""
    pictures = pictures.astype(np.float64) / BRIGHTEST
    for_test = np.arange(len(pictures)) % 5 == 0
    train_x, train_y = pictures[~for_test], labels[~for_test].astype(np.int64)
    copies = [train_x, *(shifted(train_x, random) for _ in range(SHIFTED_COPIES))]
    return {
        "train_x": np.concatenate(copies),
        "train_y": np.tile(train_y, len(copies)),
        "test_x": pictures[for_test],
        "test_y": labels[for_test].astype(np.int64),
    }


def shifted(pictures: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Each picture moved by -1, 0 or 1 pixel down and right; what leaves on one side is dark on the other."""
    moved = np.zeros((len(pictures), 8, 8))
    for row, (picture, (down, right)) in enumerate(
        zip(pictures.reshape(-1, 8, 8), random.integers(-1, 2, (len(pictures), 2)), strict=True)
    ):
        padded = np.pad(picture, 1)
        moved[row] = padded[1 - down : 9 - down, 1 - right : 9 - right]
    return moved.reshape(-1, 64)


if __name__ == "__main__":
    main()

"""What in a directory is a checkpoint."""

from pathlib import Path

import pytest

from orchestrator.checkpoint.candidates import candidates, step_of


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("step-120", 120),
        ("checkpoint-500", 500),
        ("model-00000120.npz", 120),
        ("epoch=3-step=500.ckpt", 500),
        ("500.pt", 500),
        ("500", 500),
        ("global_step1000", 1000),
        ("v2-weights.500", 500),
        ("weights.safetensors", None),
        ("latest", None),
        ("step-12.tmp", None),
        ("tmp-12", None),
        (".step-12", None),
        ("step-12.part", None),
        ("step-12.tmp-8131", None),
        ("step-12~", None),
        ("checkpoint-500.incomplete", None),
    ],
)
def test_the_step_is_the_last_number_of_a_finished_name(name: str, step: int | None) -> None:
    assert step_of(name) == step


def test_they_come_by_step_and_what_bears_one_step_is_one(tmp_path: Path) -> None:
    for name in ("model-9.pt", "model-10.pt", "optim-10.pt", "notes.txt", "model-11.pt.tmp"):
        (tmp_path / name).touch()
    found = candidates(tmp_path)
    assert [(one.step, [path.name for path in one.paths]) for one in found] == [
        (9, ["model-9.pt"]),
        (10, ["model-10.pt", "optim-10.pt"]),
    ]


def test_a_directory_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert candidates(tmp_path / "nowhere") == []

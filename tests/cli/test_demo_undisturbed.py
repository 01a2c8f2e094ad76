"""The run that the demo compares with is like the job's in all that may change a bit of the weights."""

from pathlib import Path

import pytest
import tomllib

from orchestrator.cli.demo_undisturbed import preprocess_environment, train_environment

JOB = tomllib.loads((Path(__file__).parents[2] / "examples/digits/job.toml").read_text())


def test_it_finds_what_an_instance_finds_and_nothing_of_the_users_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("ORCH_STATE", "/elsewhere")
    for found in (preprocess_environment(JOB, tmp_path, 0), train_environment(JOB, tmp_path)):
        assert {"OPENBLAS_CORETYPE", "ORCH_STATE"} & found.keys() == set()
        assert {"PATH", "HOME"} <= found.keys()
    assert train_environment(JOB, tmp_path)["DIGITS_STEPS"] == JOB["train"]["env"]["DIGITS_STEPS"]

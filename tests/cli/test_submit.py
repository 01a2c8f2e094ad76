"""Handing in a job file: defaults, overrides, whose each fault is; and `orch plan`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tomllib

from orchestrator.model import exits
from tests.cli.conftest import Ending
from tests.cli.standin import JOB, StandIn, detail, event

Orch = Callable[..., Ending]


@pytest.fixture
def defaults(house: StandIn, tmp_path: Path) -> Path:
    path = tmp_path / "config/orch/defaults.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[train.env]\nUSER_TOKEN = "mine"\nSEED = "1"\n')
    return path


def _sent(house: StandIn) -> dict[str, object]:
    return tomllib.loads(house.house.posts("/v1/jobs")[-1]["toml"])


def test_a_file_goes_out_as_it_was_written(orch: Orch, house: StandIn, job_file: Path) -> None:
    ended = orch("submit", str(job_file))
    assert ended.code == exits.OK
    assert house.house.posts("/v1/jobs")[0]["toml"] == job_file.read_text()
    assert ended.out.startswith(f"Job digits is submitted as {JOB}.\nWatch it:")
    assert ended.err == "warning: no checkpoints are kept\n"


def test_settings_win_over_the_file_and_the_file_over_the_defaults(
    orch: Orch, house: StandIn, job_file: Path, defaults: Path
) -> None:
    job_file.write_text(job_file.read_text() + '[train.env]\nSEED = "2"\nLR = "0.1"\n')
    orch("submit", str(job_file), "--set", "train.env.LR=0.2")
    assert _sent(house)["train"] == {
        "command": "python train.py",
        "env": {"SEED": "2", "LR": "0.2", "USER_TOKEN": "mine"},
    }


def test_a_fault_is_told_where_a_person_can_mend_it(orch: Orch, house: StandIn, job_file: Path, defaults: Path) -> None:
    faults = [
        {"path": "train.command", "line": 4, "message": "is wrong"},
        {"path": "train.nodes", "line": 9, "message": "is not supported yet"},
        {"path": "train.env.USER_TOKEN", "line": 7, "message": "is too long"},
        {"path": "checkpoint.path", "line": None, "message": "is missing"},
    ]
    house.house.refusals["/v1/jobs"] = (422, {"error": "the job file is wrong", "faults": faults})
    ended = orch("submit", str(job_file), "--set", "train.nodes=2")
    assert ended.err.splitlines() == [
        f"{job_file}:4: train.command: is wrong",
        "--set train.nodes=2: is not supported yet",
        f"{defaults}: train.env.USER_TOKEN: is too long",
        f"{job_file}: checkpoint.path: is missing",
    ]


def test_a_setting_without_a_value_is_refused_before_anything_is_sent(
    orch: Orch, house: StandIn, job_file: Path
) -> None:
    ended = orch("submit", str(job_file), "--set", "train.nodes")
    assert ended.code == exits.BAD_FILE
    assert ended.err.startswith("--set train.nodes: write KEY=VALUE")
    assert not house.house.asked


def test_each_file_that_is_no_toml_is_named_with_its_line(orch: Orch, job_file: Path, defaults: Path) -> None:
    job_file.write_text("name = \n")
    assert orch("submit", str(job_file)).err.startswith(f"{job_file}:1: this is not TOML")
    defaults.write_text("[train\n")
    assert orch("submit", str(job_file)).err.startswith(f"{defaults}:1: this is not TOML")


def test_a_file_that_is_not_text_is_told_so(orch: Orch, job_file: Path) -> None:
    job_file.write_bytes(b'name = "x"\ncomment = "\xff"\n')
    ended = orch("submit", str(job_file))
    assert (ended.code, ended.err) == (exits.BAD_FILE, f"{job_file}:2: the file is not UTF-8\n")


def test_a_directory_is_no_job_file(orch: Orch, tmp_path: Path) -> None:
    ended = orch("submit", str(tmp_path))
    assert (ended.code, "cannot be read: Is a directory" in ended.err) == (exits.BAD_FILE, True)


@pytest.mark.parametrize(("state", "code"), [("succeeded", exits.OK), ("failed", exits.FAILED)])
def test_a_followed_submission_ends_as_its_job_does(
    orch: Orch, house: StandIn, job_file: Path, state: str, code: int
) -> None:
    house.house.detail = detail(state=state)
    ended = orch("submit", str(job_file), "-f")
    assert ended.code == code
    assert ended.out.splitlines() == [
        f"Job digits is submitted as {JOB}.",
        "2026-12-01",
        "10:00:00  job.submitted              Job digits is submitted.",
    ]


def test_json_that_is_followed_is_an_object_a_line(orch: Orch, house: StandIn, job_file: Path) -> None:
    house.house.events = [event(1, "job.submitted", "Submitted."), event(2, "job.failed", "No.")]
    lines = [json.loads(line) for line in orch("submit", str(job_file), "-f", "--json").out.splitlines()]
    assert [line.get("name") for line in lines] == ["digits", "job.submitted", "job.failed"]


def test_json_alone_is_the_job(orch: Orch, job_file: Path) -> None:
    assert json.loads(orch("submit", str(job_file), "--json").out)["id"] == JOB


# ---------------------------------------------------------------- plan


def test_a_plan_says_what_is_chosen_why_and_at_what_price(orch: Orch, house: StandIn, job_file: Path) -> None:
    ended = orch("plan", str(job_file))
    assert ended.code == exits.OK
    assert "train: 1 instance; local/local-b/local.gpu-1/spot at 1.2500 USD/h: the cheapest" in ended.out
    assert "1.2500 USD/h an instance, on demand 4.1000 USD/h; the bid is 4.1000 USD/h" in ended.out
    assert "train.env.SEED = 2" in ended.out
    assert not house.house.posts("/v1/jobs")


def test_a_plan_shows_the_cheapest_of_each_verdict_and_counts_the_rest(orch: Orch, job_file: Path) -> None:
    lines = orch("plan", str(job_file)).out.splitlines()
    assert sum("too small" in line for line in lines) == 6
    assert "and 2 more: too small" in lines
    assert len(json.loads(orch("plan", str(job_file), "--json").out)["stages"][0]["considered"]) == 8


def test_a_plan_tells_the_file_s_faults_as_submit_does(orch: Orch, house: StandIn, job_file: Path) -> None:
    faults = [{"path": "train.comand", "line": 4, "message": "unknown key"}]
    house.house.refusals["/v1/plan"] = (422, {"error": "the job file is wrong", "faults": faults})
    ended = orch("plan", str(job_file))
    assert (ended.code, ended.err) == (exits.BAD_FILE, f"{job_file}:4: train.comand: unknown key\n")

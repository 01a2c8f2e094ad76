"""Fetching a job's output: verified, whole or not at all, and never outside its directory."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli.failures import Failure
from orchestrator.cli.pull import place_of
from orchestrator.model import exits
from tests.cli.conftest import Ending
from tests.cli.standin import JOB, WEIGHTS, StandIn, output

Orch = Callable[..., Ending]


def _downloads(house: StandIn) -> int:
    return sum(path.endswith("/output/file") for _, path, _ in house.house.asked)


def test_the_output_is_fetched_whole_into_directories_of_its_own(orch: Orch, house: StandIn, tmp_path: Path) -> None:
    house.house.files = {"model/weights.npz": WEIGHTS, "empty": b""}
    house.house.listed = [output(path, data) for path, data in house.house.files.items()]
    ended = orch("pull", "digits", str(tmp_path / "out"))
    assert (ended.code, ended.out) == (
        exits.OK,
        f"2 files, 312.5 KiB, in {tmp_path / 'out'}; 2 fetched, all verified.\n",
    )
    assert (tmp_path / "out/model/weights.npz").read_bytes() == WEIGHTS
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == ["empty", "model", "weights.npz"]


def test_what_is_there_already_is_not_fetched_again(orch: Orch, house: StandIn, tmp_path: Path) -> None:
    orch("pull", "digits", str(tmp_path))
    assert "0 fetched, all verified" in orch("pull", "digits", str(tmp_path)).out
    assert _downloads(house) == 1


def test_a_file_that_differs_is_replaced_only_by_force(orch: Orch, tmp_path: Path) -> None:
    mine = tmp_path / "weights.npz"
    mine.write_text("mine")
    ended = orch("pull", "digits", str(tmp_path))
    assert (ended.code, mine.read_text()) == (exits.REFUSED, "mine")
    assert f"{mine} exists and differs" in ended.err
    assert orch("pull", "digits", str(tmp_path), "--force").code == exits.OK
    assert mine.read_bytes() == WEIGHTS


@pytest.mark.parametrize("wrong", [{"blake3": "0" * 64}, {"size_bytes": 7}])
def test_a_damaged_file_is_never_written(orch: Orch, house: StandIn, tmp_path: Path, wrong: dict[str, object]) -> None:
    house.house.listed = [output(**wrong)]
    ended = orch("pull", "digits", str(tmp_path / "out"))
    assert (ended.code, "arrived damaged" in ended.err) == (exits.FAILED, True)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", "a//b", "a\0b", "link/x"])
def test_a_path_that_leads_out_of_the_directory_is_refused(path: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(Failure, match="leads out of") as refused:
        place_of(inside, path)
    assert refused.value.code == exits.FAILED


def test_one_bad_path_and_nothing_is_fetched(orch: Orch, house: StandIn, tmp_path: Path) -> None:
    house.house.listed = [output(), output("../evil")]
    assert orch("pull", "digits", str(tmp_path / "out")).code == exits.FAILED
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "evil").exists()


def test_a_job_that_has_not_succeeded_has_no_output_yet(orch: Orch, house: StandIn, tmp_path: Path) -> None:
    house.house.refusals[f"/v1/jobs/{JOB}/output"] = (409, {"error": "job 01 is running"})
    ended = orch("pull", "digits", str(tmp_path))
    assert (ended.code, ended.err) == (exits.REFUSED, "orch: job 01 is running\n")


def test_a_directory_that_cannot_be_made_is_told(orch: Orch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = orch("pull", "digits", str(tmp_path / "file/out"))
    assert (ended.code, "cannot be written: Not a directory" in ended.err) == (exits.FAILED, True)


def test_files_get_the_permissions_that_the_user_s_files_get(orch: Orch, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        orch("pull", "digits", str(tmp_path))
    finally:
        os.umask(before)
    assert (tmp_path / "weights.npz").stat().st_mode & 0o777 == 0o640


def test_pull_as_json_says_what_was_fetched(orch: Orch, tmp_path: Path) -> None:
    told = json.loads(orch("pull", "digits", str(tmp_path), "--json").out)
    assert (told["fetched"], [file["path"] for file in told["files"]]) == (["weights.npz"], ["weights.npz"])

"""Shards and outputs: committed once, whoever comes second; fetched verified."""

from pathlib import Path

import pytest

from orchestrator.checkpoint import (
    commit_shard,
    committed_shards,
    complete,
    fetch_dataset,
    open_output_file,
    read_output,
)
from orchestrator.checkpoint.tree import Damaged
from orchestrator.objectstore import NotFound
from orchestrator.objectstore.memory import MemoryStore
from tests.checkpoint.scenes import PREFIX, Attempt


def _shard(home: Path, name: str, content: str) -> Path:
    directory = home / name
    directory.mkdir()
    (directory / "part.txt").write_text(content)
    return directory


def test_of_two_workers_with_one_shard_the_first_is_kept(tmp_path: Path) -> None:
    store = MemoryStore()
    commit_shard(store, "j", 0, _shard(tmp_path, "one", "first"))
    commit_shard(store, "j", 0, _shard(tmp_path, "two", "second"))
    assert committed_shards(store, "j", 2) == {0}
    fetch_dataset(store, "j", 1, tmp_path / "data")
    assert (tmp_path / "data" / "00000" / "part.txt").read_text() == "first"


def test_a_shard_that_is_missing_or_damaged_is_told_and_nothing_half_stays(tmp_path: Path) -> None:
    store = MemoryStore()
    commit_shard(store, "j", 0, _shard(tmp_path, "one", "first"))
    with pytest.raises(NotFound, match="shard 1 of job j is not committed"):
        fetch_dataset(store, "j", 2, tmp_path / "data")
    chunk = next(key for key in store.objects if "/chunks/" in key)
    store.objects[chunk] = b"damaged"
    with pytest.raises(Damaged):
        fetch_dataset(store, "j", 1, tmp_path / "again")
    assert list((tmp_path / "again").iterdir()) == []


def test_an_output_is_there_with_the_stages_good_end_and_not_before(tmp_path: Path) -> None:
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.log.open()
    assert read_output(attempt.store, PREFIX) == []
    output = _shard(tmp_path, "output", "the weights")
    seq = complete(attempt.log, 0, output)
    assert complete(attempt.log, 0, output) == seq
    (file,) = read_output(attempt.store, PREFIX)
    assert (file.path, file.size_bytes) == ("part.txt", 11)
    assert b"".join(open_output_file(attempt.store, PREFIX, "part.txt")) == b"the weights"
    with pytest.raises(KeyError):
        open_output_file(attempt.store, PREFIX, "nothing")

"""A checkpoint comes back byte for byte, or an older one does on proof, or nothing does and a person is called."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.checkpoint import (
    Candidate,
    Changed,
    DamagedLog,
    NoTrustworthyCheckpoint,
    Unstorable,
    prefetch,
    restore,
    retain,
    save,
)
from orchestrator.checkpoint import tree as room
from orchestrator.checkpoint.entries import StoredFile
from orchestrator.objectstore import Unavailable
from orchestrator.objectstore.faulty import FaultyStore
from orchestrator.objectstore.memory import MemoryStore
from tests.checkpoint.scenes import PREFIX, Attempt, chunk_keys

NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=20
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)
TREES = st.recursive(st.binary(max_size=300), lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=10)


def _write(tree: object, path: Path) -> None:
    if isinstance(tree, bytes):
        path.write_bytes(tree)
        path.chmod(0o640)
        return
    path.mkdir()
    assert isinstance(tree, dict)
    for name, inner in tree.items():
        _write(inner, path / name)


def _read(path: Path) -> object:
    return path.read_bytes() if path.is_file() else {inner.name: _read(inner) for inner in path.iterdir()}


@settings(max_examples=60)
@given(TREES)
def test_any_tree_comes_back_as_it_was(tree: object) -> None:
    with tempfile.TemporaryDirectory() as home:
        attempt = Attempt(MemoryStore(), Path(home))
        attempt.directory.mkdir()
        attempt.log.open()
        place = attempt.directory / "step-1"
        _write(tree, place)
        save(attempt.log, attempt.directory, Candidate(1, (place,)))
        into = Path(home) / "into"
        restored = restore(attempt.log, into)
        assert restored is not None
        assert restored.paths == ("step-1",)
        assert _read(into / "step-1") == tree


def test_a_file_longer_than_a_chunk_and_links_inside_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "CHUNK_BYTES", 1000)
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.log.open()
    content = os.urandom(10_500).hex()
    candidate = attempt.write(1, content)
    (candidate.paths[0] / "latest").symlink_to("weights")
    save(attempt.log, attempt.directory, candidate)
    restore(attempt.log, attempt.directory)
    assert (attempt.directory / "step-1" / "latest").read_text() == content
    assert (attempt.directory / "step-1" / "latest").is_symlink()


def test_what_did_not_change_is_not_sent_again(tmp_path: Path) -> None:
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.log.open()
    assert attempt.save(1, "the same").uploaded_bytes == len("the same")
    assert attempt.save(2, "the same").uploaded_bytes == 0


@pytest.fixture
def two(tmp_path: Path) -> Attempt:
    """An attempt that has committed steps 10 and 20."""
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.log.open()
    attempt.save(10, "ten")
    attempt.save(20, "twenty")
    return attempt


def _memory(attempt: Attempt) -> MemoryStore:
    assert isinstance(attempt.store, MemoryStore)
    return attempt.store


def _damage(store: MemoryStore, content: bytes, by: "bytes | None") -> None:
    for key in chunk_keys(store):
        if store.objects[key] == content:
            if by is None:
                del store.objects[key]
            else:
                store.objects[key] = by


@pytest.mark.parametrize("by", [None, b"", b"twentx", b"twenty and more"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(
    two: Attempt, tmp_path: Path, by: "bytes | None"
) -> None:
    _damage(_memory(two), b"twenty", by)
    second = Attempt(two.store, tmp_path, 2)
    restored = second.restore()
    assert restored is not None
    assert (restored.step, second.content(10)) == (10, "ten")
    third = Attempt(two.store, tmp_path, 3)
    again = third.restore()
    assert again is not None
    assert again.step == 10, "what was passed over is off the path for good"


def test_where_none_is_whole_nothing_is_restored_and_what_is_there_stays(two: Attempt, tmp_path: Path) -> None:
    for content in (b"ten", b"twenty"):
        _damage(_memory(two), content, None)
    second = Attempt(two.store, tmp_path, 2)
    second.directory.mkdir()
    (second.directory / "mine").touch()
    with pytest.raises(NoTrustworthyCheckpoint, match=r"step 20: .* is absent; step 10: .* is absent"):
        second.restore()
    assert (second.directory / "mine").exists()


@pytest.mark.parametrize("entry", [b"", b"{garbage", b'{"kind": "of a newer version"}'])
def test_a_log_with_an_entry_that_cannot_be_read_is_not_passed_over(two: Attempt, tmp_path: Path, entry: bytes) -> None:
    _memory(two).objects[f"{PREFIX}/log/{2:012d}"] = entry
    with pytest.raises(DamagedLog, match="000000000002 is damaged, or was written by a newer version"):
        Attempt(two.store, tmp_path, 2).restore()


def test_a_store_that_fails_is_no_proof(two: Attempt, tmp_path: Path) -> None:
    failing = FaultyStore(two.store, lambda call, key: "unavailable" if call == "get" and "/chunks/" in key else None)
    second = Attempt(failing, tmp_path, 2)
    with pytest.raises(Unavailable):
        second.restore()
    assert len([key for key in _memory(two).objects if "/log/" in key]) == 4, "nothing was chosen"


def test_a_log_without_checkpoints_is_a_fresh_start_and_leaves_nothing_old(tmp_path: Path) -> None:
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.directory.mkdir()
    (attempt.directory / "step-99").write_text("of another life")
    assert attempt.restore() is None
    assert list(attempt.directory.iterdir()) == []


def test_a_tree_that_is_written_to_meanwhile_is_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.log.open()
    candidate = attempt.write(10, "ten")
    put = room.Chunks.put

    def write_meanwhile(chunks: room.Chunks, data: bytes) -> str:
        with (candidate.paths[0] / "weights").open("a") as file:
            file.write("!")
        return put(chunks, data)

    monkeypatch.setattr(room.Chunks, "put", write_meanwhile)
    with pytest.raises(Changed):
        save(attempt.log, attempt.directory, candidate)
    assert attempt.log.history.path == ()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../elsewhere", "../step-9/../../x"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.log.open()
    candidate = attempt.write(10, "ten")
    (candidate.paths[0] / "link").symlink_to(target)
    with pytest.raises(Unstorable, match="leads out of its directory"):
        save(attempt.log, attempt.directory, candidate)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", "a//b", "a\0b", "./a"])
def test_an_entry_that_names_a_place_outside_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="does not stay inside"):
        StoredFile(path=path)


def test_a_fifo_is_refused_in_words(tmp_path: Path) -> None:
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.log.open()
    candidate = attempt.write(10, "ten")
    os.mkfifo(candidate.paths[0] / "pipe")
    with pytest.raises(Unstorable, match="neither a file"):
        save(attempt.log, attempt.directory, candidate)


def test_what_is_retired_goes_and_what_is_kept_stays_whole(tmp_path: Path) -> None:
    attempt = Attempt(MemoryStore(), tmp_path)
    attempt.log.open()
    for step in range(1, 7):
        attempt.save(step, "shared" if step % 2 else f"step {step}")
        retain(attempt.log, 2)
    kept = {_memory(attempt).objects[key] for key in chunk_keys(_memory(attempt))}
    assert kept == {b"shared", b"step 6"}
    second = Attempt(attempt.store, tmp_path, 2)
    restored = second.restore()
    assert restored is not None
    assert restored.step == 6


def test_what_a_dead_attempt_sent_and_never_committed_is_collected_by_the_next(two: Attempt, tmp_path: Path) -> None:
    two.store.put(f"{PREFIX}/chunks/1/orphan", b"half of step 30")
    second = Attempt(two.store, tmp_path, 2)
    second.restore()
    second.save(30, "thirty")
    two.store.put(f"{PREFIX}/chunks/2/in-the-making", b"half of step 40")
    retain(second.log, 2)
    assert f"{PREFIX}/chunks/1/orphan" not in _memory(two).objects
    assert f"{PREFIX}/chunks/2/in-the-making" in _memory(two).objects


def test_what_a_standby_fetched_ahead_is_used_where_it_is_whole(two: Attempt, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert prefetch(two.store, PREFIX, cache) == 1
    (held,) = cache.iterdir()
    _damage(_memory(two), b"twenty", None)
    second = Attempt(two.store, tmp_path, 2)
    second.log.open()
    restored = restore(second.log, second.directory, cache)
    assert restored is not None
    assert restored.step == 20
    held.write_bytes(b"damaged")
    third = Attempt(two.store, tmp_path, 3)
    third.log.open()
    again = restore(third.log, third.directory, cache)
    assert again is not None
    assert again.step == 10

"""What every object store keeps to, whatever it is made of."""

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.objectstore import AlreadyExists, NotFound, ObjectStore, Unavailable, make_store, open_store
from orchestrator.objectstore.faulty import FaultyStore
from orchestrator.objectstore.files import FileStore
from orchestrator.objectstore.memory import MemoryStore
from orchestrator.objectstore.patience import insist
from orchestrator.objectstore.probe import ProbeFailed, probe

RACERS = 6


def _files(directory: Path) -> ObjectStore:
    store = FileStore(directory / "objects")
    store.make()
    return store


@pytest.fixture(params=["files", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return _files(tmp_path) if request.param == "files" else MemoryStore()


def test_an_object_is_what_was_put_last(store: ObjectStore) -> None:
    store.put("a/b", b"1")
    store.put("a/b", b"22")
    assert store.get("a/b") == b"22"
    assert store.exists("a/b")


def test_absence_is_told_and_is_not_a_failure(store: ObjectStore) -> None:
    with pytest.raises(NotFound):
        store.get("a/b")
    assert not store.exists("a/b")
    assert store.list("a") == []
    store.delete("a/b")


def test_a_key_is_created_once(store: ObjectStore) -> None:
    store.create("log/1", b"first")
    with pytest.raises(AlreadyExists):
        store.create("log/1", b"second")
    assert store.get("log/1") == b"first"
    store.delete("log/1")
    store.create("log/1", b"third")
    assert store.get("log/1") == b"third"


def test_keys_are_listed_in_order_by_any_prefix(store: ObjectStore) -> None:
    for key in ("jobs/1/b", "jobs/1/a/x", "jobs/10/a", "other"):
        store.put(key, b"")
    assert store.list("jobs/1/") == ["jobs/1/a/x", "jobs/1/b"]
    assert store.list("jobs/1") == ["jobs/1/a/x", "jobs/1/b", "jobs/10/a"]
    assert store.list("") == ["jobs/1/a/x", "jobs/1/b", "jobs/10/a", "other"]


def test_its_conditional_writes_hold(store: ObjectStore) -> None:
    probe(store)
    assert store.list("probe/") == []


class Forgetful(MemoryStore):
    """Says yes to every writer, as stores do that do not know `If-None-Match`."""

    def create(self, key: str, data: bytes) -> None:
        self.put(key, data)


def test_a_store_that_lets_two_writers_win_is_found_out() -> None:
    with pytest.raises(ProbeFailed, match="ignores conditional writes"):
        probe(Forgetful())


# ---------------------------------------------------------------- files


def _create(root: Path, key: str, start: float, won: "multiprocessing.Queue[bytes]") -> None:
    time.sleep(max(0.0, start - time.monotonic()))
    mine = str(os.getpid()).encode() * 1000
    try:
        FileStore(root).create(key, mine)
    except AlreadyExists:
        return
    won.put(mine)


def test_of_many_processes_one_wins_a_key(tmp_path: Path) -> None:
    store = _files(tmp_path)
    context = multiprocessing.get_context("fork")
    won: multiprocessing.Queue[bytes] = context.Queue()
    for number in range(3):
        key, start = f"log/{number}", time.monotonic() + 0.1
        racers = [context.Process(target=_create, args=(tmp_path / "objects", key, start, won)) for _ in range(RACERS)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(20)
        assert store.get(key) == won.get(timeout=5)
    assert won.empty()


@pytest.mark.parametrize("key", ["", "/a", "a//b", "a/", "../a", "a/../b", "a/./b", "ä", "a\0b", "a b"])
def test_a_key_that_could_lead_elsewhere_is_refused(tmp_path: Path, key: str) -> None:
    for call in (_files(tmp_path).get, _files(tmp_path).delete, lambda k: _files(tmp_path).put(k, b"")):
        with pytest.raises(ValueError, match="is no key"):
            call(key)


def test_a_directory_that_nobody_made_a_store_of_is_unavailable_and_never_empty(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    calls: list[Callable[[], object]] = [
        lambda: store.get("a"),
        lambda: store.exists("a"),
        lambda: store.list("a"),
        lambda: store.put("a", b""),
        lambda: store.create("a", b""),
        lambda: store.delete("a"),
    ]
    for call in calls:
        with pytest.raises(Unavailable, match="is it mounted"):
            call()


def test_what_a_killed_writer_left_is_swept_when_it_is_old(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.make()
    for name, age_s in (("old", 2 * 24 * 3600.0), ("young", 60.0)):
        draft = tmp_path / ".drafts" / name
        draft.write_bytes(b"half")
        os.utime(draft, (time.time() - age_s, time.time() - age_s))
    store.make()
    assert [path.name for path in (tmp_path / ".drafts").iterdir()] == ["young"]
    assert store.list("") == []


def test_a_disk_that_fails_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot hold objects"):
        make_store(f"file://{tmp_path}/file")


@pytest.mark.parametrize("url", ["s3://bucket", "file://host/path", "file:relative", "", "/path"])
def test_only_what_is_built_is_opened(url: str) -> None:
    with pytest.raises(ValueError, match="file:///path"):
        open_store(url)


def test_a_path_with_odd_characters_is_found_again(tmp_path: Path) -> None:
    make_store(f"file://{tmp_path}/a%20b%23c").put("k", b"v")
    assert open_store(f"file://{tmp_path}/a%20b%23c").get("k") == b"v"
    assert (tmp_path / "a b#c" / "k").read_bytes() == b"v"


# ---------------------------------------------------------------- patience


def test_a_refused_write_has_no_effect_and_a_lost_answer_has_its_own() -> None:
    inner = MemoryStore()
    faults = iter(["unavailable", "answer_lost"])
    store = FaultyStore(inner, lambda _call, _key: next(faults))  # type: ignore[arg-type, return-value]
    with pytest.raises(Unavailable):
        store.put("a", b"1")
    assert inner.objects == {}
    with pytest.raises(Unavailable):
        store.put("a", b"1")
    assert inner.objects == {"a": b"1"}


@given(st.integers(0, 5))
def test_patience_calls_until_it_is_answered_and_tells_of_each_refusal(refusals: int) -> None:
    told: list[str] = []
    answers = iter([Unavailable(f"no {n}") for n in range(refusals)])

    def call() -> str:
        for error in answers:
            raise error
        return "yes"

    assert insist(call, 60.0, told.append, lambda _s: None) == "yes"
    assert told == [f"no {n}" for n in range(refusals)]


def test_patience_ends() -> None:
    def refuse() -> None:
        raise Unavailable("no")

    with pytest.raises(Unavailable):
        insist(refuse, 0.0, lambda _reason: None, lambda _s: None)


def test_patience_is_for_refusals_alone() -> None:
    def absent() -> None:
        raise NotFound("a")

    with pytest.raises(NotFound):
        insist(absent, 60.0, lambda _reason: None, lambda _s: None)

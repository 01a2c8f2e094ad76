"""Whatever fails between attempts and the store: what was committed is what the next attempt goes on from."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.checkpoint import Fenced, Restored, read_history, retain, save
from orchestrator.checkpoint.entries import Base, Checkpoint, Complete, Entry, Fence, Placed, Retire
from orchestrator.checkpoint.history import fold
from orchestrator.objectstore import Unavailable
from orchestrator.objectstore.faulty import FaultyStore
from orchestrator.objectstore.memory import MemoryStore
from tests.checkpoint.scenes import PREFIX, Attempt


def test_an_older_attempt_can_commit_nothing_after_its_successor_has_opened(tmp_path: Path) -> None:
    store = MemoryStore()
    first, second = Attempt(store, tmp_path, 1), Attempt(store, tmp_path, 2)
    first.log.open()
    first.save(10, "ten")
    second.log.open()
    with pytest.raises(Fenced):
        first.save(20, "twenty")
    with pytest.raises(Fenced):
        first.save(30, "and again")
    restored = second.restore()
    assert restored is not None
    assert restored.step == 10
    assert [key for key in store.objects if "/log/" in key][-1] == f"{PREFIX}/log/{4:012d}"


def test_what_an_older_attempt_commits_while_its_successor_waits_is_what_it_resumes_from(tmp_path: Path) -> None:
    store = MemoryStore()
    first, second = Attempt(store, tmp_path, 1), Attempt(store, tmp_path, 2)
    first.log.open()
    first.save(10, "ten")
    first.save(20, "twenty")
    restored = second.restore()
    assert restored is not None
    assert (restored.step, second.content(20)) == (20, "twenty")


def test_two_disks_of_one_epoch_cannot_both_write(tmp_path: Path) -> None:
    store = MemoryStore()
    Attempt(store, tmp_path, 1, "one").log.open()
    with pytest.raises(Fenced):
        Attempt(store, tmp_path, 1, "two").log.open()


def test_an_agent_that_starts_again_on_its_disk_goes_on(tmp_path: Path) -> None:
    store = MemoryStore()
    Attempt(store, tmp_path, 1, "one").log.open()
    again = Attempt(store, tmp_path, 1, "one")
    again.log.open()
    again.save(10, "ten")
    assert [one.step for one in read_history(store, PREFIX).path] == [10]


def test_a_lost_answer_is_read_back_and_not_written_twice(tmp_path: Path) -> None:
    store = MemoryStore()
    lost = iter(["answer_lost"])

    def plan(call: str, key: str) -> "str | None":
        return next(lost, None) if call == "create" and "/log/" in key else None

    attempt = Attempt(FaultyStore(store, plan), tmp_path)  # type: ignore[arg-type]
    attempt.log.open()
    attempt.save(10, "ten")
    assert [key for key in store.objects if "/log/" in key] == [f"{PREFIX}/log/{n:012d}" for n in (1, 2)]


class Story:
    """Attempts in turn over a store that fails at random; which commits were answered."""

    def __init__(self, home: Path, rng: random.Random) -> None:
        self.rng, self.home, self.memory = rng, home, MemoryStore()
        self.store = FaultyStore.random(self.memory, rng, unavailable=0.1, answer_lost=0.1)
        self.epoch = 0
        self.answered: list[tuple[int, str]] = []
        self.possible: set[tuple[int, str]] = set()
        self.former: Attempt | None = None

    def live(self, saves: int) -> None:
        """One attempt: restore, check, train on, perhaps with a zombie beside it, die without a word."""
        self.epoch += 1
        attempt = Attempt(self.store, self.home, self.epoch)
        step = self._check(attempt)
        for _ in range(saves):
            step += self.rng.randint(1, 10)
            self._save(attempt, step)
            self._zombie()
        self.former = attempt

    def _check(self, attempt: Attempt) -> int:
        restored = self._insist(attempt.restore)
        if restored is None:
            assert not self.answered, "an answered commit is gone"
            return 0
        found = (restored.step, attempt.content(restored.step))
        # The newest answered commit, or a later one whose answer was lost.
        assert found in self.possible
        if self.answered:
            assert restored.step >= self.answered[-1][0]
        self.answered.append(found)
        return restored.step

    def _save(self, attempt: Attempt, step: int) -> None:
        content = f"{attempt.epoch}/{step}"
        self.possible.add((step, content))
        candidate = attempt.write(step, content)
        for _ in range(self.rng.randint(1, 4)):
            try:
                save(attempt.log, attempt.directory, candidate)
                self.answered.append((step, content))
                retain(attempt.log, 2)
                return
            except Unavailable:
                continue

    def _zombie(self) -> None:
        """The former attempt is still there and tries to commit: never with success."""
        if self.former is None or self.rng.random() < 0.5:
            return
        with pytest.raises((Fenced, Unavailable)):
            self.former.save(10**6 + len(self.possible) + self.rng.randint(0, 10**6), "from the past")

    def _insist(self, call: Callable[[], Restored | None]) -> Restored | None:
        while True:
            try:
                return call()
            except Unavailable:
                continue


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 6), min_size=2, max_size=6))
def test_every_answered_commit_is_what_the_next_attempt_finds(seed: int, lives: list[int]) -> None:
    with tempfile.TemporaryDirectory() as home:
        story = Story(Path(home), random.Random(seed))
        for saves in lives:
            story.live(saves)
        story.live(0)


# ---------------------------------------------------------------- the rules, pure

EPOCHS, OWNERS = st.integers(1, 3), st.sampled_from(["a", "b"])


def entries() -> st.SearchStrategy[Entry]:
    signed = {"epoch": EPOCHS, "owner": OWNERS, "nonce": st.just("n")}
    seqs = st.integers(1, 20)
    return st.one_of(
        st.builds(Fence, **signed),
        st.builds(Checkpoint, step=st.integers(0, 99), files=st.just(()), **signed),
        st.builds(Base, seq=seqs, **signed),
        st.builds(Retire, seqs=st.lists(seqs).map(tuple), **signed),
        st.builds(Complete, exit_code=st.just(0), **signed),
    )


@given(st.lists(entries(), max_size=20))
def test_only_who_holds_the_log_is_believed(written: list[Entry]) -> None:
    placed = [Placed(seq, entry) for seq, entry in enumerate(written, 1)]
    history = fold(placed)
    epoch, owner = 0, None
    for one in placed:
        entry = one.entry
        if isinstance(entry, Fence) and entry.epoch > epoch:
            epoch, owner = entry.epoch, entry.owner
        if isinstance(entry, Checkpoint):
            believed = any(known.seq == one.seq for known in (*history.unretired, *history.retired))
            assert believed == ((entry.epoch, entry.owner) == (epoch, owner))
    assert (history.epoch, history.owner) == (epoch, owner)


@given(st.lists(entries(), max_size=20), entries())
def test_what_comes_later_never_brings_back_what_left_the_path(written: list[Entry], later: Entry) -> None:
    placed = [Placed(seq, entry) for seq, entry in enumerate(written, 1)]
    before = {one.seq for one in fold(placed).path}
    after = {one.seq for one in fold([*placed, Placed(len(placed) + 1, later)]).path}
    assert after - before <= {len(placed) + 1}


def test_a_log_is_read_without_a_listing(tmp_path: Path) -> None:
    store = MemoryStore()

    def no_listing(call: str, _key: str) -> "str | None":
        return "unavailable" if call == "list" else None

    attempt = Attempt(FaultyStore(store, no_listing), tmp_path)  # type: ignore[arg-type]
    attempt.log.open()
    attempt.save(10, "ten")
    assert attempt.restore() is not None

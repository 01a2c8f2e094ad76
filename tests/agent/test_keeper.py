"""The thread that commits: it waits for stores, tells of trouble, and does not die of it."""

import errno
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from orchestrator.agent import keeper as room
from orchestrator.agent.keeper import Keeper
from orchestrator.checkpoint import DamagedLog, Fenced, StageLog, read_history
from orchestrator.objectstore.faulty import FaultyStore
from orchestrator.objectstore.memory import MemoryStore

PREFIX = "jobs/j/train"


class BoardDouble:
    def __init__(self) -> None:
        self.said: dict[str, Any] = {"trouble": ""}

    def show(self, **changes: Any) -> None:
        self.said.update(changes)

    def shown(self, name: str) -> Any:
        return self.said.get(name)


class Scene:
    """A keeper at work on a directory."""

    def __init__(self, directory: Path, keep: int = 3) -> None:
        self.directory, self.store, self.board = directory, MemoryStore(), BoardDouble()
        self.refusing: list[str] = []
        faulty = FaultyStore(self.store, lambda call, _key: "unavailable" if call in self.refusing else None)
        self.log = StageLog(faulty, PREFIX, 1, "owner", iter(f"nonce-{n}" for n in range(10**6)).__next__)
        self.log.open()
        self.keeper = Keeper(self.log, directory, keep, self.board, structlog.get_logger())  # type: ignore[arg-type]

    def write(self, step: int, text: str = "weights") -> None:
        draft = self.directory / ".draft"
        draft.write_text(text)
        draft.replace(self.directory / f"step-{step}")

    def steps(self) -> list[int]:
        return [one.entry.step for one in read_history(self.store, PREFIX).unretired]

    def wait_for(self, holds: Callable[[], Any]) -> None:
        until = time.monotonic() + 5.0
        while not holds():
            assert time.monotonic() < until, self.board.said
            time.sleep(0.01)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(room, "SCAN_EVERY_S", 0.01)
    monkeypatch.setattr(room, "BUG_PAUSE_S", 0.01)
    one = Scene(tmp_path)
    yield one
    one.keeper.leave()


def test_each_new_checkpoint_is_committed_and_the_oldest_retired(scene: Scene) -> None:
    scene.keeper.start(None)
    for step in (10, 20, 30, 40):
        scene.write(step, f"weights {step}")
        scene.wait_for(lambda step=step: step in scene.steps())
    scene.wait_for(lambda: scene.steps() == [20, 30, 40])
    assert scene.board.said["committed"].step == 40


def test_a_store_that_refuses_is_told_of_and_waited_for(scene: Scene) -> None:
    scene.refusing = ["create", "put"]
    scene.keeper.start(None)
    scene.write(10)
    scene.wait_for(lambda: "does not answer" in scene.board.said["trouble"])
    scene.refusing = []
    scene.wait_for(lambda: scene.steps() == [10])
    scene.wait_for(lambda: scene.board.said["trouble"] == "")


def test_the_last_checkpoint_has_until_the_deadline_and_not_longer(scene: Scene) -> None:
    scene.keeper.start(None)
    scene.refusing = ["create", "put"]
    scene.write(10)
    began = time.monotonic()
    scene.keeper.finish(for_s=0.3)
    assert time.monotonic() - began < 3.0
    assert scene.steps() == []
    assert "could not be committed in time" in scene.board.said["trouble"]


def test_what_the_trainer_left_at_its_end_is_committed(scene: Scene) -> None:
    scene.keeper.start(None)
    scene.write(10)
    scene.keeper.finish(None)
    assert scene.steps() == [10]


def test_what_was_restored_is_not_committed_again_and_nothing_older_is(scene: Scene) -> None:
    scene.write(20)
    scene.keeper.start(20)
    scene.write(10)
    scene.keeper.finish(None)
    assert scene.steps() == []


def test_a_link_is_refused_once_in_words_and_the_next_checkpoint_is_kept(scene: Scene) -> None:
    (scene.directory / "step-10").symlink_to("/etc/passwd")
    scene.keeper.start(None)
    scene.wait_for(lambda: "step 10 cannot be kept" in scene.board.said["trouble"])
    scene.write(20)
    scene.wait_for(lambda: scene.steps() == [20])


def test_a_number_that_is_no_step_is_refused_in_words(scene: Scene) -> None:
    scene.keeper.start(None)
    scene.write(20261206130235123456)
    scene.wait_for(lambda: "which is no step" in scene.board.said["trouble"])
    assert scene.steps() == []


def test_who_is_fenced_commits_nothing_more(scene: Scene) -> None:
    scene.keeper.start(None)
    StageLog(scene.store, PREFIX, 2, "another", lambda: "nonce").open()
    scene.write(10)
    scene.wait_for(lambda: isinstance(scene.keeper.failure, Fenced))
    scene.keeper.finish(None)
    assert scene.steps() == []


def test_a_log_that_cannot_be_read_any_more_is_a_failure(scene: Scene) -> None:
    scene.keeper.start(None)
    scene.store.put(f"{PREFIX}/log/{2:012d}", b"{garbage")
    scene.write(10)
    scene.wait_for(lambda: isinstance(scene.keeper.failure, DamagedLog))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.EIO, "Input/output error", "/x"), "cannot be read"),
        (RuntimeError("a bug"), "RuntimeError: a bug"),
    ],
)
def test_a_look_that_fails_is_told_of_and_the_keeper_lives_on(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    found = room.candidates

    def fail(_directory: Path) -> Any:
        raise error

    scene.keeper.start(None)
    monkeypatch.setattr(room, "candidates", fail)
    scene.wait_for(lambda: says in scene.board.said["trouble"])
    monkeypatch.setattr(room, "candidates", found)
    scene.write(10)
    scene.wait_for(lambda: scene.steps() == [10])
    scene.wait_for(lambda: scene.board.said["trouble"] == "")

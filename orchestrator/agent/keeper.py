"""The thread that makes checkpoints durable while the trainer goes on."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.agent.board import Board
from orchestrator.checkpoint import (
    Candidate,
    Changed,
    DamagedLog,
    Fenced,
    StageLog,
    Unstorable,
    candidates,
    retain,
    save,
)
from orchestrator.model.wire import Committed
from orchestrator.objectstore import Unavailable
from orchestrator.objectstore.patience import insist

T = TypeVar("T")
SCAN_EVERY_S = 0.2
FOR_EVER_S = 10.0**9
BUG_PAUSE_S = 10.0

Mark = tuple[int, tuple[tuple[str, int, int], ...]]


class Stopped(Exception):
    """The keeper was told to leave in the middle of something."""


class Keeper:
    """Commits the newest candidate of a directory, again and again; retires what is too many.

    `failure` is why nothing more can be committed: another attempt owns the log, or the log is damaged.
    """

    def __init__(self, log: StageLog, directory: Path, keep: int, board: Board, logger: Any) -> None:
        self._log, self._directory, self._keep = log, directory, keep
        self._board, self._logger = board, logger
        self._done: Mark | None = None
        self._refused: set[Mark] = set()
        self._leaving = threading.Event()
        self.failure: Fenced | DamagedLog | None = None
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def start(self, restored_step: int | None) -> None:
        """Begin; what was restored is committed already."""
        found = candidates(self._directory)
        if restored_step is not None and found:
            self._done = _mark(found[-1])
        self._thread.start()

    def finish(self, for_s: float | None) -> None:
        """The trainer is gone: commit what it left, within `for_s`; None: as long as it takes."""
        self._leaving.set()
        self._thread.join()
        self._leaving.clear()
        if self.failure is None:
            self._turn(FOR_EVER_S if for_s is None else for_s)

    def leave(self) -> None:
        """Stop at once, whatever is half done: half of it does not exist."""
        self._leaving.set()

    def _run(self) -> None:
        while not self._leaving.wait(SCAN_EVERY_S) and self.failure is None:
            try:
                self._turn(FOR_EVER_S)
            except Exception as error:
                self._logger.exception("keeper.bug")
                self._board.show(trouble=bug_sentence(error))
                self._leaving.wait(BUG_PAUSE_S)

    def _turn(self, for_s: float) -> None:
        try:
            found = candidates(self._directory)
            if found:
                self._commit(found[-1], for_s)
        except (Changed, Stopped, FileNotFoundError):
            # It is being written to, or we are leaving: the next look sees it again.
            return
        except Unavailable as error:
            self._board.show(trouble=f"the last checkpoint could not be committed in time: {error}")
        except OSError as error:
            self._board.show(trouble=f"checkpoints cannot be read: {error.strerror or error} ({error.filename})")
        except (Fenced, DamagedLog) as error:
            self.failure = error

    def _commit(self, candidate: Candidate, for_s: float) -> None:
        mark = _mark(candidate)
        if mark == self._done or mark in self._refused or self._is_behind(mark):
            return
        try:
            saved = self.insist(lambda: save(self._log, self._directory, candidate), for_s)
        except Unstorable as error:
            self._refused.add(mark)
            self._board.show(trouble=f"step {candidate.step} cannot be kept: {error}")
            return
        self._done = mark
        self._board.show(
            committed=Committed(seq=saved.seq, step=saved.step),
            upload_s=saved.took_s,
            step=max(saved.step, self._board.shown("step") or 0),
        )
        took_s = round(saved.took_s, 3)
        self._logger.info("checkpoint.committed", step=saved.step, seq=saved.seq, took_s=took_s)
        self.insist(lambda: retain(self._log, self._keep), for_s)

    def _is_behind(self, mark: Mark) -> bool:
        return self._done is not None and mark[0] < self._done[0]

    def insist(self, call: Callable[[], T], for_s: float) -> T:
        """Wait for a store that fails, visibly. Raises Unavailable after `for_s`, Stopped when we leave."""
        result = insist(call, for_s, self._tell, self._sleep)
        if self._board.shown("trouble"):
            self._board.show(trouble="")
        return result

    def _tell(self, reason: str) -> None:
        self._board.show(trouble=f"the object store does not answer; trying again: {reason}")

    def _sleep(self, seconds: float) -> None:
        if self._leaving.wait(seconds):
            raise Stopped


def bug_sentence(error: Exception) -> str:
    """Our own error in one line; the log has the traceback."""
    return f"the agent failed: {type(error).__name__}: {' '.join(str(error).split())}"


def _mark(candidate: Candidate) -> Mark:
    """What tells a candidate from itself after it was written again."""
    marks = []
    for path in candidate.paths:
        status = path.stat()
        marks.append((path.name, status.st_ino, status.st_mtime_ns))
    return candidate.step, tuple(marks)

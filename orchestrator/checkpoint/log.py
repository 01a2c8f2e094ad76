"""A stage's log: a create-only chain of entries, the truth about its checkpoints.

Keys are never listed, only probed: the entry after the last known one is there or it is not.
"""

from collections.abc import Callable, Sequence
from typing import TypedDict

from orchestrator.checkpoint.entries import (
    Base,
    Checkpoint,
    Complete,
    Entry,
    Fence,
    Placed,
    Retire,
    StoredFile,
    decode,
    encode,
)
from orchestrator.checkpoint.history import History, fold
from orchestrator.objectstore import AlreadyExists, NotFound, ObjectStore, Unavailable


class Signature(TypedDict):
    """What every entry of ours bears."""

    epoch: int
    owner: str
    nonce: str


class Fenced(Exception):
    """A higher epoch owns the log, or this epoch under another owner: we may commit nothing more."""


class DamagedLog(Exception):
    """An entry that cannot be read: nobody can say what is committed. Call a person."""


def stage_prefix(job: str, stage: str) -> str:
    """Where a stage's log and chunks lie in the object store."""
    return f"jobs/{job}/{stage}"


def entry_key(prefix: str, seq: int) -> str:
    return f"{prefix}/log/{seq:012d}"


def read_on(store: ObjectStore, prefix: str, after: int) -> list[Placed]:
    """The entries after this one, to the tail. Raises DamagedLog, Unavailable."""
    found: list[Placed] = []
    while True:
        key = entry_key(prefix, after + len(found) + 1)
        try:
            found.append(Placed(after + len(found) + 1, decode(store.get(key))))
        except NotFound:
            return found
        except ValueError:
            raise DamagedLog(f"{key} is damaged, or was written by a newer version of orch") from None


def read_history(store: ObjectStore, prefix: str) -> History:
    """What the log says now. Raises DamagedLog, Unavailable."""
    return fold(read_on(store, prefix, 0))


class StageLog:
    """One attempt's pen. Not for two threads at once.

    `nonce` gives a fresh string each time; with it our own entry is told from any other after a lost
    answer.
    """

    def __init__(self, store: ObjectStore, prefix: str, epoch: int, owner: str, nonce: Callable[[], str]) -> None:
        self.store, self.prefix = store, prefix
        self.epoch, self.owner = epoch, owner
        self._nonce = nonce
        self._entries: list[Placed] = []

    @property
    def history(self) -> History:
        """As of our last look."""
        return fold(self._entries)

    def open(self) -> History:
        """Read to the tail, append our fence, read again. Raises Fenced, DamagedLog, Unavailable.

        Called again by the same owner in the same epoch it appends nothing.
        """
        self._read()
        if (self.history.epoch, self.history.owner) != (self.epoch, self.owner):
            self._append(Fence(**self._mine()))
            self._read()
        return self.history

    def append_checkpoint(self, step: int, files: Sequence[StoredFile]) -> int:
        """The commit: the one write that makes a checkpoint exist. Its seq. Raises Fenced, Unavailable."""
        return self._append(Checkpoint(step=step, files=tuple(files), **self._mine()))

    def append_base(self, seq: int) -> int:
        return self._append(Base(seq=seq, **self._mine()))

    def append_retire(self, seqs: Sequence[int]) -> int:
        return self._append(Retire(seqs=tuple(seqs), **self._mine()))

    def append_complete(self, exit_code: int, files: Sequence[StoredFile]) -> int:
        return self._append(Complete(exit_code=exit_code, files=tuple(files), **self._mine()))

    # ------------------------------------------------------------ the rules

    def _mine(self) -> Signature:
        return {"epoch": self.epoch, "owner": self.owner, "nonce": self._nonce()}

    def _read(self) -> None:
        for placed in read_on(self.store, self.prefix, len(self._entries)):
            self._take(placed)
        self._check()

    def _take(self, placed: Placed) -> None:
        assert placed.seq == len(self._entries) + 1
        self._entries.append(placed)

    def _check(self) -> None:
        history = self.history
        if history.epoch > self.epoch:
            raise Fenced(f"epoch {history.epoch} of {history.owner} owns the log; ours is {self.epoch}")
        if history.epoch == self.epoch and history.owner != self.owner:
            raise Fenced(f"epoch {self.epoch} belongs to {history.owner}, not to us")

    def _append(self, entry: Entry) -> int:
        """Try the next place until it is ours, or until somebody fences us."""
        while True:
            self._check()  # a fence that was seen before stays one
            seq = len(self._entries) + 1
            if self._place(seq, entry):
                self._take(Placed(seq, entry))
                return seq
            self._read()

    def _place(self, seq: int, entry: Entry) -> bool:
        """Whether our entry is at `seq`. False: another's is. Raises Unavailable where that is unknown."""
        key, data = entry_key(self.prefix, seq), encode(entry)
        try:
            self.store.create(key, data)
        except AlreadyExists:
            return self.store.get(key) == data
        except Unavailable:
            return self._after_lost_answer(key, data)
        return True

    def _after_lost_answer(self, key: str, data: bytes) -> bool:
        try:
            return self.store.get(key) == data
        except NotFound:
            raise Unavailable(f"{key} could not be written") from None

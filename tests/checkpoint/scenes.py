"""Attempts that write one stage's log, each with its own directory."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.checkpoint import Candidate, Restored, Saved, StageLog, restore, save, stage_prefix
from orchestrator.objectstore import ObjectStore
from orchestrator.objectstore.memory import MemoryStore

PREFIX = stage_prefix("j", "train")


@dataclass
class Attempt:
    """One pen, one directory."""

    store: ObjectStore
    home: Path
    epoch: int = 1
    owner: str = ""
    log: StageLog = field(init=False)

    def __post_init__(self) -> None:
        self.owner = self.owner or f"owner of {self.epoch}"
        nonces = (f"{self.owner} {n}" for n in itertools.count())
        self.log = StageLog(self.store, PREFIX, self.epoch, self.owner, nonces.__next__)

    @property
    def directory(self) -> Path:
        return self.home / f"checkpoints-{self.epoch}"

    def write(self, step: int, content: str) -> Candidate:
        """As a trainer would: a directory renamed into place."""
        draft, place = self.directory / ".draft", self.directory / f"step-{step}"
        draft.mkdir(parents=True, exist_ok=True)
        (draft / "weights").write_text(content)
        draft.rename(place)
        return Candidate(step, (place,))

    def save(self, step: int, content: str) -> Saved:
        return save(self.log, self.directory, self.write(step, content))

    def restore(self) -> Restored | None:
        self.log.open()
        return restore(self.log, self.directory)

    def content(self, step: int) -> str:
        return (self.directory / f"step-{step}" / "weights").read_text()


def chunk_keys(store: MemoryStore) -> list[str]:
    return [key for key in store.objects if "/chunks/" in key]

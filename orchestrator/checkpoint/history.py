"""What a log says, by its rules. Pure.

- An entry of a lower epoch than a fence before it is void.
- An entry whose epoch or owner is not that of the fence it follows is void.
- `base` makes the checkpoint it names the newest; those after it are off the path.
- `retire` gives checkpoints up.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.checkpoint.entries import Base, Checkpoint, Complete, Fence, Placed, Retire


@dataclass(frozen=True)
class Committed:
    """A checkpoint that exists."""

    seq: int
    entry: Checkpoint

    @property
    def step(self) -> int:
        return self.entry.step


@dataclass(frozen=True)
class History:
    """`path`: the checkpoints of the current path, oldest first, without the retired.

    `unretired`: every valid checkpoint that was not given up, on the path or off it. `ever`: whether a
    valid checkpoint was ever committed.
    """

    tail_seq: int = 0
    epoch: int = 0
    owner: str | None = None
    path: tuple[Committed, ...] = ()
    unretired: tuple[Committed, ...] = ()
    retired: tuple[Committed, ...] = ()
    complete: Complete | None = None
    ever: bool = False

    @property
    def newest(self) -> Committed | None:
        return self.path[-1] if self.path else None


class _Fold:
    def __init__(self) -> None:
        self.tail_seq, self.epoch = 0, 0
        self.owner: str | None = None
        self.all: dict[int, Committed] = {}
        self.path: list[int] = []
        self.given_up: set[int] = set()
        self.complete: Complete | None = None

    def take(self, placed: Placed) -> None:
        self.tail_seq = placed.seq
        entry = placed.entry
        if isinstance(entry, Fence):
            if entry.epoch > self.epoch:
                self.epoch, self.owner = entry.epoch, entry.owner
        elif (entry.epoch, entry.owner) == (self.epoch, self.owner):
            self._take_valid(placed)

    def _take_valid(self, placed: Placed) -> None:
        entry = placed.entry
        if isinstance(entry, Checkpoint):
            self.all[placed.seq] = Committed(placed.seq, entry)
            self.path.append(placed.seq)
        elif isinstance(entry, Base):
            self.path = [seq for seq in self.path if seq <= entry.seq]
        elif isinstance(entry, Retire):
            self.given_up.update(entry.seqs)
        elif isinstance(entry, Complete):
            self.complete = entry

    def history(self) -> History:
        kept = {seq: one for seq, one in self.all.items() if seq not in self.given_up}
        return History(
            tail_seq=self.tail_seq,
            epoch=self.epoch,
            owner=self.owner,
            path=tuple(kept[seq] for seq in self.path if seq in kept),
            unretired=tuple(kept.values()),
            retired=tuple(one for seq, one in self.all.items() if seq in self.given_up),
            complete=self.complete,
            ever=bool(self.all),
        )


def fold(entries: Iterable[Placed]) -> History:
    """The history of a log's entries, given in order."""
    folded = _Fold()
    for placed in entries:
        folded.take(placed)
    return folded.history()

"""Making a checkpoint durable: its chunks first, then the one entry that makes it exist."""

import time
from dataclasses import dataclass
from pathlib import Path

from orchestrator.checkpoint.candidates import Candidate
from orchestrator.checkpoint.history import History
from orchestrator.checkpoint.log import StageLog
from orchestrator.checkpoint.tree import Chunks, Unstorable, store_tree
from orchestrator.model.wire import MOST_STEPS


@dataclass(frozen=True)
class Saved:
    """A checkpoint that exists now. `uploaded_bytes` leaves out what was kept already."""

    seq: int
    step: int
    uploaded_bytes: int
    took_s: float


def save(log: StageLog, directory: Path, candidate: Candidate) -> Saved:
    """Commit a candidate of this directory. Nothing is committed where it raises.

    Raises Changed, Unstorable, Fenced, Unavailable.
    """
    if candidate.step > MOST_STEPS:
        raise Unstorable(f"its name ends in {candidate.step}, which is no step: put a smaller number last")
    began_s = time.monotonic()
    chunks = Chunks(log.store, log.prefix, f"chunks/{log.epoch}", known_chunks(log.history))
    files = store_tree(chunks, directory, candidate.paths)
    seq = log.append_checkpoint(candidate.step, files)
    return Saved(seq, candidate.step, chunks.uploaded_bytes, time.monotonic() - began_s)


def known_chunks(history: History) -> dict[str, str]:
    """Digest to key of what unretired checkpoints name: it need not be sent again."""
    keys = (key for one in history.unretired for file in one.entry.files for key in file.chunks)
    return {key.rpartition("/")[2]: key for key in keys}

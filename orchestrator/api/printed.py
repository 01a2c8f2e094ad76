"""What stages printed, kept in files by stream and byte offset: the same piece twice changes nothing."""

import base64
import binascii
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.model.jobs import Intent
from orchestrator.model.wire import LogChunk

_STREAM = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
MAX_PIECE_BYTES = 256 * 1024


class BadChunk(ValueError):
    """A piece of output that cannot be placed; the sentence says why."""


@dataclass(frozen=True)
class Piece:
    """Some of a stream's text."""

    stage: str
    attempt: int
    rank: int
    stream: str
    text: str


class Printed:
    """Files named `<stage>.<attempt>.<rank>.<stream>.log` in a directory a job.

    Blocking: callers run it in a thread.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, intent: Intent, chunk: LogChunk) -> int:
        """Place the piece; the offset that is wanted next. A piece beyond it is not taken."""
        if not _STREAM.fullmatch(chunk.stream) or chunk.offset < 0:
            raise BadChunk(f"no stream can be called {chunk.stream!r} at offset {chunk.offset}")
        name = f"{intent.stage}.{intent.attempt}.{intent.rank}.{chunk.stream}.log"
        path = self._directory / intent.job / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            size = file.seek(0, os.SEEK_END)
            data = chunk.text.encode()
            if chunk.offset > size or chunk.offset + len(data) <= size:
                return size
            return size + file.write(data[size - chunk.offset :])

    def read(self, job: str, cursor: str, attempt: int | None, stage: str | None) -> tuple[list[Piece], str]:
        """What was printed since `cursor`, and the next one. An empty cursor begins at the beginning."""
        offsets = dict(_decoded(cursor))
        pieces = []
        for path in self._streams(job):
            piece = _piece_of(path)
            if attempt not in (None, piece.attempt) or stage not in (None, piece.stage):
                continue
            text, offsets[path.name] = _since(path, offsets.get(path.name, 0))
            if text:
                pieces.append(Piece(piece.stage, piece.attempt, piece.rank, piece.stream, text))
        return pieces, _encoded(offsets)

    def _streams(self, job: str) -> list[Path]:
        found = list((self._directory / job).glob("*.log"))
        return sorted(found, key=_order)


def _order(path: Path) -> tuple[str, int, int, str]:
    piece = _piece_of(path)
    return piece.stage, piece.attempt, piece.rank, piece.stream


def _piece_of(path: Path) -> Piece:
    stage, attempt, rank, stream, _ = path.name.split(".")
    return Piece(stage, int(attempt), int(rank), stream, "")


def _since(path: Path, offset: int) -> tuple[str, int]:
    """Whole characters only: one that is cut by the end is left for the next time."""
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(MAX_PIECE_BYTES)
    text = data.decode(errors="ignore")
    return text, offset + len(text.encode())


def _encoded(offsets: Mapping[str, int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(offsets, sort_keys=True).encode()).decode()


def _decoded(cursor: str) -> dict[str, int]:
    if not cursor:
        return {}
    try:
        offsets = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        return {str(name): max(0, int(offset)) for name, offset in offsets.items()}
    except (binascii.Error, ValueError, AttributeError, TypeError):
        raise BadChunk("the cursor is not one of ours; begin again without it") from None

"""What a log holds. Every entry bears the epoch and owner that wrote it, and a nonce of its own."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, field_validator

from orchestrator.model.frozen import Frozen


class StoredFile(Frozen):
    """One file, link or empty directory of a tree. `chunks` are keys below the stage, in order."""

    path: str
    kind: Literal["file", "link", "directory"] = "file"
    mode: int = 0o644
    size_bytes: int = 0
    blake3: str = ""  # of the whole file
    chunks: tuple[str, ...] = ()
    target: str = ""  # of a link

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        parts = path.split("/")
        if not path or path.startswith("/") or any(part in ("", ".", "..") for part in parts) or "\0" in path:
            raise ValueError(f"{path!r} does not stay inside its directory")
        return path


class _Written(Frozen):
    epoch: int
    owner: str
    nonce: str


class Fence(_Written):
    """From here on, lower epochs can commit nothing."""

    kind: Literal["fence"] = "fence"


class Checkpoint(_Written):
    """A checkpoint exists."""

    kind: Literal["checkpoint"] = "checkpoint"
    step: int
    files: tuple[StoredFile, ...]


class Base(_Written):
    """Training goes on from the checkpoint at `seq`; what came after it is off the path."""

    kind: Literal["base"] = "base"
    seq: int


class Retire(_Written):
    """These checkpoints are given up; their chunks may go."""

    kind: Literal["retire"] = "retire"
    seqs: tuple[int, ...]


class Complete(_Written):
    """The stage ended well, and these are its outputs."""

    kind: Literal["complete"] = "complete"
    exit_code: int
    files: tuple[StoredFile, ...] = ()


Entry = Annotated[Fence | Checkpoint | Base | Retire | Complete, Field(discriminator="kind")]
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


@dataclass(frozen=True)
class Placed:
    """An entry and its place in the log."""

    seq: int
    entry: Entry


def encode(entry: Entry) -> bytes:
    """The bytes of an entry: JSON, the same for the same entry."""
    return _ENTRY.dump_json(entry)


def decode(data: bytes) -> Entry:
    """Raises pydantic.ValidationError, a ValueError."""
    return _ENTRY.validate_json(data)

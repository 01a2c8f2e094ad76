"""A stage's output: committed with the entry that says it ended well, fetched verified."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.checkpoint.entries import StoredFile
from orchestrator.checkpoint.log import StageLog, read_history
from orchestrator.checkpoint.save import known_chunks
from orchestrator.checkpoint.tree import Chunks, get_chunk, store_tree
from orchestrator.objectstore import ObjectStore


@dataclass(frozen=True)
class OutputFile:
    """One file of a stage's output."""

    path: str
    size_bytes: int
    blake3: str


def complete(log: StageLog, exit_code: int, output: Path | None) -> int:
    """Keep all that is in `output`, and append `complete`. Its seq. Twice is once.

    Raises Changed, Unstorable, Fenced, Unavailable.
    """
    if log.history.complete is not None:
        return log.history.tail_seq
    files: list[StoredFile] = []
    if output is not None and output.is_dir():
        chunks = Chunks(log.store, log.prefix, f"chunks/{log.epoch}", known_chunks(log.history))
        files = store_tree(chunks, output, sorted(output.iterdir()))
    return log.append_complete(exit_code, files)


def read_output(store: ObjectStore, prefix: str) -> list[OutputFile]:
    """The files that were committed; none where the stage has not ended well. Raises Unavailable."""
    return [OutputFile(f.path, f.size_bytes, f.blake3) for f in _files(store, prefix)]


def open_output_file(store: ObjectStore, prefix: str, path: str) -> Iterator[bytes]:
    """The file's pieces, each verified. Raises KeyError at once; Damaged, Unavailable on the way."""
    found = {file.path: file for file in _files(store, prefix)}[path]
    return (get_chunk(store, prefix, key) for key in found.chunks)


def _files(store: ObjectStore, prefix: str) -> list[StoredFile]:
    ended = read_history(store, prefix).complete
    return [file for file in ended.files if file.kind == "file"] if ended else []

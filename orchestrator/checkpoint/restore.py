"""Getting a checkpoint back: the newest whole one on the path, every byte verified, or a refusal.

It falls back to an older one only on proof: absent or wrong bytes, seen twice. A store that fails is no
proof: Unavailable goes to the caller, who waits.
"""

import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from orchestrator.checkpoint.entries import Checkpoint
from orchestrator.checkpoint.history import Committed
from orchestrator.checkpoint.log import StageLog, read_history
from orchestrator.checkpoint.tree import Damaged, get_chunk, unpack_tree
from orchestrator.objectstore import ObjectStore

LOOKS = 2
_DRAFT = ".restoring"


class NoTrustworthyCheckpoint(Exception):
    """The log holds checkpoints and none is whole: starting from nothing would lose them. Call a person."""


@dataclass(frozen=True)
class Restored:
    """What training goes on from. `paths` are the names in the directory."""

    seq: int
    step: int
    paths: tuple[str, ...]


def restore(log: StageLog, into: Path, cache: Path | None = None) -> Restored | None:
    """Replace what is in `into` by the newest whole checkpoint, and append the choice as `base`.

    None, with `into` empty: the log has never held a checkpoint. The log is open. Chunks in `cache` are
    verified like any other. Raises NoTrustworthyCheckpoint, Fenced, Unavailable, OSError.
    """
    history = log.history
    proofs = []
    for one in reversed(history.path):
        proof = _fetch(log, one, into, cache)
        if proof is None:
            log.append_base(one.seq)
            return Restored(one.seq, one.step, _tops(one.entry))
        proofs.append(f"step {one.step}: {proof}")
    if history.ever:
        raise NoTrustworthyCheckpoint("; ".join(proofs) or "every checkpoint was given up")
    _empty(into)
    return None


def _fetch(log: StageLog, one: Committed, into: Path, cache: Path | None) -> str | None:
    """None where it was restored; else the proof, seen twice, that it is not whole."""
    proof = None
    for _ in range(LOOKS):
        try:
            _unpack(log, one.entry, into, cache)
        except Damaged as damage:
            proof = str(damage)
        else:
            return None
    return proof


def _unpack(log: StageLog, entry: Checkpoint, into: Path, cache: Path | None) -> None:
    draft = into.parent / f"{into.name}{_DRAFT}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)

    def get(key: str) -> bytes:
        return cached_chunk(cache, key) or get_chunk(log.store, log.prefix, key)

    try:
        unpack_tree(entry.files, get, draft)
        _empty(into)
        for path in draft.iterdir():
            path.rename(into / path.name)
        sync_directory(into)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _empty(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def sync_directory(directory: Path) -> None:
    """Make renames in it durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _tops(entry: Checkpoint) -> tuple[str, ...]:
    return tuple(sorted({file.path.split("/")[0] for file in entry.files}))


# ---------------------------------------------------------------- ahead of time


def prefetch(store: ObjectStore, prefix: str, cache: Path) -> int:
    """Fetch the newest checkpoint's chunks, as a standby may; the log is only read. How many are there.

    A chunk that is gone or damaged is left out: it is a cache, and restore decides. Raises Unavailable.
    """
    newest = read_history(store, prefix).newest
    keys = {key for file in newest.entry.files for key in file.chunks} if newest else set()
    cache.mkdir(parents=True, exist_ok=True)
    there = 0
    for key in sorted(keys):
        with suppress(Damaged):
            if cached_chunk(cache, key) is None:
                _keep(cache, key, get_chunk(store, prefix, key))
            there += 1
    return there


def cached_chunk(cache: Path | None, key: str) -> bytes | None:
    """The chunk where the cache has it whole."""
    if cache is None:
        return None
    try:
        data = (cache / key.rpartition("/")[2]).read_bytes()
    except FileNotFoundError:
        return None
    return data if blake3(data).hexdigest() == key.rpartition("/")[2] else None


def _keep(cache: Path, key: str, data: bytes) -> None:
    path = cache / key.rpartition("/")[2]
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    draft.write_bytes(data)
    draft.replace(path)

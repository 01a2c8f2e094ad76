"""A job's data set: shards, each committed by one create-only manifest."""

import secrets
import shutil
from pathlib import Path

from pydantic import TypeAdapter

from orchestrator.checkpoint.entries import StoredFile
from orchestrator.checkpoint.restore import sync_directory
from orchestrator.checkpoint.tree import Chunks, get_chunk, store_tree, unpack_tree
from orchestrator.objectstore import AlreadyExists, NotFound, ObjectStore

_MANIFEST: TypeAdapter[list[StoredFile]] = TypeAdapter(list[StoredFile])


def _prefix(job: str) -> str:
    return f"jobs/{job}/data"


def _key(job: str, number: int) -> str:
    return f"{_prefix(job)}/shards/{number:05d}"


def commit_shard(store: ObjectStore, job: str, number: int, directory: Path) -> None:
    """Keep what is in `directory` as the shard. Where it was committed before, that one stays.

    Raises Changed, Unstorable, Unavailable.
    """
    chunks = Chunks(store, _prefix(job), "chunks", {})
    files = store_tree(chunks, directory, sorted(directory.iterdir()))
    try:
        store.create(_key(job, number), _MANIFEST.dump_json(files))
    except AlreadyExists:
        return


def committed_shards(store: ObjectStore, job: str, shards: int) -> set[int]:
    """Which of `shards` are committed. Raises Unavailable."""
    return {number for number in range(shards) if store.exists(_key(job, number))}


def fetch_dataset(store: ObjectStore, job: str, shards: int, into: Path) -> None:
    """Every shard, verified, as `into/<number>/`. What is there already was fetched before.

    Raises NotFound where a shard is not committed, Damaged, Unavailable, OSError.
    """
    into.mkdir(parents=True, exist_ok=True)
    for number in range(shards):
        place = into / f"{number:05d}"
        if not place.is_dir():
            _fetch_shard(store, job, number, place)
    sync_directory(into)


def _fetch_shard(store: ObjectStore, job: str, number: int, place: Path) -> None:
    key = _key(job, number)
    try:
        files = _MANIFEST.validate_json(store.get(key))
    except NotFound:
        raise NotFound(f"shard {number} of job {job} is not committed") from None
    draft = place.with_name(f".{place.name}-{secrets.token_hex(8)}")
    draft.mkdir()
    try:
        unpack_tree(files, lambda chunk: get_chunk(store, _prefix(job), chunk), draft)
        draft.rename(place)
    except OSError:
        # Whoever fetched the same shard at the same time has the same bytes: the first one stays.
        if not place.is_dir():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)

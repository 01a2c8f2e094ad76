"""Directories as chunks, and back: every byte read once, hashed, and verified on its way out."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from orchestrator.checkpoint.entries import StoredFile
from orchestrator.objectstore import NotFound, ObjectStore

CHUNK_BYTES = 16 * 1024 * 1024
UPLOADERS = 4


class Changed(Exception):
    """The tree was written to while it was read: nothing of it may be committed."""


class Unstorable(Exception):
    """The tree holds what cannot be kept; the sentence says what."""


class Damaged(Exception):
    """A chunk is absent or its bytes are not those of its name."""


class Chunks:
    """Chunks of a stage by digest. `known` maps digests that are already kept to their keys."""

    def __init__(self, store: ObjectStore, prefix: str, folder: str, known: dict[str, str]) -> None:
        self._store, self._prefix, self._folder = store, prefix, folder
        self._known = known
        self.uploaded_bytes = 0

    def put(self, data: bytes) -> str:
        """Keep the chunk; its key below the prefix. Raises Unavailable."""
        digest = blake3(data).hexdigest()
        if digest in self._known:
            return self._known[digest]
        key = f"{self._folder}/{digest}"
        self._store.put(f"{self._prefix}/{key}", data)
        self._known[digest] = key
        self.uploaded_bytes += len(data)
        return key


def get_chunk(store: ObjectStore, prefix: str, key: str) -> bytes:
    """The chunk, verified against its name. Raises Damaged, Unavailable."""
    try:
        data = store.get(f"{prefix}/{key}")
    except NotFound:
        raise Damaged(f"{key} is absent") from None
    if blake3(data).hexdigest() != key.rpartition("/")[2]:
        raise Damaged(f"{key} does not have the bytes of its name")
    return data


# ---------------------------------------------------------------- in


@dataclass(frozen=True)
class _Seen:
    """What must not change while a tree is read."""

    path: Path
    mark: tuple[int, int, int, int, int]


def store_tree(chunks: Chunks, root: Path, tops: Sequence[Path]) -> list[StoredFile]:
    """Keep `tops`, files or directories below `root`. Raises Changed, Unstorable, Unavailable."""
    try:
        before = _look(tops)
        with ThreadPoolExecutor(UPLOADERS) as pool:
            stored = [_store(chunks, pool, root, seen) for seen in before]
        if _look(tops) != before:
            raise Changed(f"{tops[0] if tops else root} changed while it was read")
    except FileNotFoundError as gone:
        raise Changed(f"{gone.filename} vanished while it was read") from None
    return [file for file in stored if file is not None]


def _look(tops: Sequence[Path]) -> list[_Seen]:
    return [_Seen(path, _mark(path.lstat())) for top in tops for path in _walk(top)]


def _walk(top: Path) -> Iterator[Path]:
    yield top
    if top.is_dir() and not top.is_symlink():
        for inner in sorted(top.iterdir()):
            yield from _walk(inner)


def _mark(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _store(chunks: Chunks, pool: ThreadPoolExecutor, root: Path, seen: _Seen) -> StoredFile | None:
    path, mode = seen.path, seen.mark[1]
    name = _name(root, path)
    if stat.S_ISLNK(mode):
        return StoredFile(path=name, kind="link", target=_inner_target(root, path))
    if stat.S_ISDIR(mode):
        empty = not any(path.iterdir())
        return StoredFile(path=name, kind="directory", mode=stat.S_IMODE(mode)) if empty else None
    if not stat.S_ISREG(mode):
        raise Unstorable(f"{name} is neither a file, a directory nor a link")
    return _store_file(chunks, pool, name, seen)


def _name(root: Path, path: Path) -> str:
    name = path.relative_to(root).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Unstorable(f"the name {name!r} is not UTF-8") from None
    return name


def _inner_target(root: Path, path: Path) -> str:
    target = path.readlink()
    # Reckoned by name alone: where the link really leads on this machine says nothing of the next.
    landing = Path(os.path.normpath(path.parent / target))
    if target.is_absolute() or not landing.is_relative_to(root):
        raise Unstorable(f"the link {path.relative_to(root)} leads out of its directory, to {target}")
    return str(target)


def _store_file(chunks: Chunks, pool: ThreadPoolExecutor, name: str, seen: _Seen) -> StoredFile:
    whole, pending = blake3(), list[Future[str]]()
    with seen.path.open("rb", buffering=0) as file:
        if _mark(os.fstat(file.fileno())) != seen.mark:
            raise Changed(f"{name} changed while it was read")
        while data := _read_full(file.fileno()):
            whole.update(data)
            # As many chunks in memory as are uploaded at once, and no more.
            if len(pending) >= UPLOADERS:
                pending[-UPLOADERS].result()
            pending.append(pool.submit(chunks.put, data))
        if _mark(os.fstat(file.fileno())) != seen.mark:
            raise Changed(f"{name} changed while it was read")
    return StoredFile(
        path=name,
        mode=stat.S_IMODE(seen.mark[1]),
        size_bytes=seen.mark[2],
        blake3=whole.hexdigest(),
        chunks=tuple(future.result() for future in pending),
    )


def _read_full(descriptor: int) -> bytes:
    parts, missing = [], CHUNK_BYTES
    while missing and (part := os.read(descriptor, missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


# ---------------------------------------------------------------- out

GetChunk = Callable[[str], bytes]


def unpack_tree(files: Sequence[StoredFile], get: GetChunk, into: Path) -> None:
    """Write the tree below `into`, each file synced. Raises Damaged, Unavailable, OSError."""
    for file in files:
        path = into / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.kind == "directory":
            path.mkdir(mode=file.mode, exist_ok=True)
        elif file.kind == "link":
            path.symlink_to(file.target)
        else:
            _unpack_file(file, get, path)


def _unpack_file(file: StoredFile, get: GetChunk, path: Path) -> None:
    whole = blake3()
    with path.open("xb") as writing:
        for key in file.chunks:
            data = get(key)
            whole.update(data)
            writing.write(data)
        writing.flush()
        os.fchmod(writing.fileno(), file.mode)
        os.fsync(writing.fileno())
    if whole.hexdigest() != file.blake3:
        raise Damaged(f"{file.path} is not the file that was stored")

"""file://: objects as files below a directory, on one machine's file system.

A write goes to a temporary file, is synced, and takes its name by one link or rename; the directory is
synced before we return. So an object is there whole or not at all, also after a power cut.

A directory that nobody made a store of, such as a mount point with nothing mounted, is an unavailable store
and never an empty one: absence would be believed, and training would begin anew.
"""

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.objectstore.base import AlreadyExists, NotFound, Unavailable

_KEY = re.compile(r"[A-Za-z0-9._=-]+(/[A-Za-z0-9._=-]+)*")
_DRAFTS = ".drafts"
_DRAFT_LIVES_S = 24 * 3600.0


class FileStore:
    """Any number of processes may use the same directory at once, once one has made a store of it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def make(self) -> None:
        """Make a store of the directory; sweep what killed writers left in it. Raises Unavailable."""
        try:
            self._drafts.mkdir(parents=True, exist_ok=True)
            _sweep(self._drafts)
        except OSError as error:
            raise Unavailable(f"{self._root} cannot hold objects: {error.strerror or error}") from error

    def get(self, key: str) -> bytes:
        with self._clear(key):
            return self._path(key).read_bytes()

    def put(self, key: str, data: bytes) -> None:
        with self._clear(key), self._draft(data) as draft:
            path = self._make_room(key)
            draft.replace(path)
            _sync(path.parent)

    def create(self, key: str, data: bytes) -> None:
        with self._clear(key), self._draft(data) as draft:
            path = self._make_room(key)
            # A hard link fails where the name is taken: exactly one writer wins.
            os.link(draft, path)
            _sync(path.parent)

    def exists(self, key: str) -> bool:
        with self._clear(key):
            return self._path(key).is_file()

    def list(self, prefix: str) -> list[str]:
        start = self._root / prefix.rpartition("/")[0]
        with self._clear(prefix):
            found = (self._key(path) for path in start.rglob("*") if path.is_file())
            return sorted(key for key in found if key.startswith(prefix) and not key.startswith(_DRAFTS))

    def delete(self, key: str) -> None:
        path = self._path(key)
        with self._clear(key), suppress(FileNotFoundError):
            path.unlink()
            _sync(path.parent)

    @property
    def _drafts(self) -> Path:
        """A store's mark, too."""
        return self._root / _DRAFTS

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key) or any(part in (".", "..") for part in key.split("/")):
            raise ValueError(f"{key!r} is no key")
        return self._root / key

    def _key(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _make_room(self, key: str) -> Path:
        path = self._path(key)
        missing = [parent for parent in path.parents if not parent.is_dir()]
        path.parent.mkdir(parents=True, exist_ok=True)
        for made in missing:
            _sync(made.parent)
        return path

    @contextmanager
    def _draft(self, data: bytes) -> Iterator[Path]:
        draft = self._drafts / secrets.token_hex(16)
        try:
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield draft
        finally:
            draft.unlink(missing_ok=True)

    @contextmanager
    def _clear(self, key: str) -> Iterator[None]:
        """What the file system says, in the words of the interface."""
        if not self._drafts.is_dir():
            raise Unavailable(f"{self._root} holds no object store; is it mounted?")
        try:
            yield
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            if not self._drafts.is_dir():
                raise Unavailable(f"{self._root} holds no object store any more; is it mounted?") from None
            raise NotFound(key) from None
        except FileExistsError:
            raise AlreadyExists(key) from None
        except OSError as error:
            raise Unavailable(f"{key}: {error.strerror or error}") from error


def _sweep(drafts: Path) -> None:
    """Drafts so old that whoever wrote them is dead."""
    for draft in drafts.iterdir():
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > _DRAFT_LIVES_S:
                draft.unlink()


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""file://: objects as files below a directory, on one machine's file system.

A write goes to a temporary file, is synced, and takes its name by one link or rename; the directory is
synced before we return. So an object is there whole or not at all, also after a power cut.
"""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.objectstore.base import AlreadyExists, NotFound, Unavailable

_KEY = re.compile(r"[A-Za-z0-9._=-]+(/[A-Za-z0-9._=-]+)*")
_DRAFTS = ".drafts"


class FileStore:
    """Any number of processes may use the same directory at once."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, key: str) -> bytes:
        with _clear(key):
            return self._path(key).read_bytes()

    def put(self, key: str, data: bytes) -> None:
        with _clear(key), self._draft(data) as draft:
            path = self._make_room(key)
            draft.replace(path)
            _sync(path.parent)

    def create(self, key: str, data: bytes) -> None:
        with _clear(key), self._draft(data) as draft:
            path = self._make_room(key)
            # A hard link fails where the name is taken: exactly one writer wins.
            os.link(draft, path)
            _sync(path.parent)

    def exists(self, key: str) -> bool:
        with _clear(key):
            return self._path(key).is_file()

    def list(self, prefix: str) -> list[str]:
        start = self._root / prefix.rpartition("/")[0]
        with _clear(prefix):
            found = (self._key(path) for path in start.rglob("*") if path.is_file())
            return sorted(key for key in found if key.startswith(prefix) and not key.startswith(_DRAFTS))

    def delete(self, key: str) -> None:
        path = self._path(key)
        with _clear(key), suppress(FileNotFoundError):
            path.unlink()
            _sync(path.parent)

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
        drafts = self._root / _DRAFTS
        try:
            drafts.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError as error:  # such as below /proc: no word on whether the object is there
            raise Unavailable(f"{drafts} cannot be made: {error.strerror}") from error
        draft = drafts / secrets.token_hex(16)
        try:
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield draft
        finally:
            draft.unlink(missing_ok=True)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _clear(key: str) -> Iterator[None]:
    """What the file system says, in the words of the interface."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(key) from None
    except FileExistsError:
        raise AlreadyExists(key) from None
    except (IsADirectoryError, NotADirectoryError):
        raise NotFound(key) from None
    except OSError as error:
        raise Unavailable(f"{key}: {error.strerror or error}") from error

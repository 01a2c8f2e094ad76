"""From a URL to a store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from orchestrator.objectstore.base import ObjectStore
from orchestrator.objectstore.files import FileStore


def open_store(url: str) -> ObjectStore:
    """`file:///path`, which somebody made a store of. Raises ValueError with a sentence for people."""
    return _file_store(url)


def make_store(url: str) -> ObjectStore:
    """As `open_store`, and where there is no store yet, there is one now. Raises ValueError, Unavailable."""
    store = _file_store(url)
    store.make()
    return store


def _file_store(url: str) -> FileStore:
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.scheme != "file":
        raise ValueError(f"{parts.scheme or url!r} is not supported yet: use file:///path")
    if parts.netloc or not path.startswith("/"):
        raise ValueError(f"{url} is not of the form file:///path")
    return FileStore(Path(path))

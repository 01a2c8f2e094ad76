"""The interface that every object store back end meets, and its three ways to say no."""

from typing import Protocol


class NotFound(Exception):
    """There is no object under this key. Proof of absence, never a failing store."""


class AlreadyExists(Exception):
    """`create` found the key taken. It may be our own write, whose answer was lost: read it back."""


class Unavailable(Exception):
    """The store did not answer, or answered that it cannot now. Nothing is known; ask again."""


class ObjectStore(Protocol):
    """Six calls. Each may raise Unavailable; keys are relative, `/`-separated, printable ASCII."""

    def get(self, key: str) -> bytes:
        """The whole object. Raises NotFound."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write the object, replacing what was there."""
        ...

    def create(self, key: str, data: bytes) -> None:
        """Write the object only where none is. Raises AlreadyExists."""
        ...

    def exists(self, key: str) -> bool:
        """Whether the key is there now."""
        ...

    def list(self, prefix: str) -> list[str]:
        """Keys that start with `prefix`, sorted. A hint: it may lag behind `create`."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; no error where there is none."""
        ...

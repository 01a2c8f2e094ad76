"""A store in memory, for tests and the simulation."""

import threading

from orchestrator.objectstore.base import AlreadyExists, NotFound


class MemoryStore:
    """`objects` is open to whoever wants to damage them."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes:
        with self._lock:
            if key not in self.objects:
                raise NotFound(key)
            return self.objects[key]

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            self.objects[key] = data

    def create(self, key: str, data: bytes) -> None:
        with self._lock:
            if key in self.objects:
                raise AlreadyExists(key)
            self.objects[key] = data

    def exists(self, key: str) -> bool:
        with self._lock:
            return key in self.objects

    def list(self, prefix: str) -> list[str]:
        with self._lock:
            return sorted(key for key in self.objects if key.startswith(prefix))

    def delete(self, key: str) -> None:
        with self._lock:
            self.objects.pop(key, None)

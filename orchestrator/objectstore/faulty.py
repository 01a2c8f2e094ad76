"""A store that fails on purpose: refusals without effect, and effects whose answer is lost."""

import random
from collections.abc import Callable
from typing import Literal, TypeVar

from orchestrator.objectstore.base import ObjectStore, Unavailable

T = TypeVar("T")
Fault = Literal["unavailable", "answer_lost"]
Plan = Callable[[str, str], Fault | None]


class FaultyStore:
    """Asks `plan(call, key)` before each call which fault it meets, if any."""

    def __init__(self, inner: ObjectStore, plan: Plan) -> None:
        self._inner, self._plan = inner, plan

    @classmethod
    def random(cls, inner: ObjectStore, rng: random.Random, unavailable: float, answer_lost: float) -> "FaultyStore":
        """Shares of calls that fail; an answer can be lost on writes alone."""

        def plan(call: str, _key: str) -> Fault | None:
            drawn = rng.random()
            if drawn < unavailable:
                return "unavailable"
            lost = drawn < unavailable + answer_lost and call in ("put", "create", "delete")
            return "answer_lost" if lost else None

        return cls(inner, plan)

    def _call(self, name: str, key: str, call: Callable[[], T]) -> T:
        fault = self._plan(name, key)
        if fault == "unavailable":
            raise Unavailable(f"{name} {key}: a planned refusal")
        result = call()
        if fault == "answer_lost":
            raise Unavailable(f"{name} {key}: a planned loss of the answer")
        return result

    def get(self, key: str) -> bytes:
        return self._call("get", key, lambda: self._inner.get(key))

    def put(self, key: str, data: bytes) -> None:
        self._call("put", key, lambda: self._inner.put(key, data))

    def create(self, key: str, data: bytes) -> None:
        self._call("create", key, lambda: self._inner.create(key, data))

    def exists(self, key: str) -> bool:
        return self._call("exists", key, lambda: self._inner.exists(key))

    def list(self, prefix: str) -> list[str]:
        return self._call("list", prefix, lambda: self._inner.list(prefix))

    def delete(self, key: str) -> None:
        self._call("delete", key, lambda: self._inner.delete(key))

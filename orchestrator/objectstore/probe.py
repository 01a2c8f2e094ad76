"""The start-up probe: a store whose conditional writes do not hold would let two writers both win."""

import secrets
from concurrent.futures import ThreadPoolExecutor

from orchestrator.objectstore.base import AlreadyExists, ObjectStore

RACERS = 8


class ProbeFailed(Exception):
    """This store cannot be trusted with a log; the sentence says why."""


def probe(store: ObjectStore) -> None:
    """Race for one key: exactly one may win, and its bytes must stay. Raises ProbeFailed, Unavailable."""
    key = f"probe/{secrets.token_hex(16)}"
    try:
        winners = _race(store, key)
        _judge(store, key, winners)
    finally:
        store.delete(key)


def _race(store: ObjectStore, key: str) -> list[bytes]:
    def run(number: int) -> bytes | None:
        mine = f"racer {number}".encode()
        try:
            store.create(key, mine)
        except AlreadyExists:
            return None
        return mine

    with ThreadPoolExecutor(RACERS) as racers:
        return [won for won in racers.map(run, range(RACERS)) if won is not None]


def _judge(store: ObjectStore, key: str, winners: list[bytes]) -> None:
    if len(winners) != 1:
        raise ProbeFailed(
            f"{len(winners)} of {RACERS} writers were told that they made the same object: "
            "this store ignores conditional writes and cannot keep a log"
        )
    if store.get(key) != winners[0]:
        raise ProbeFailed("another writer's bytes are under the key that one writer won")

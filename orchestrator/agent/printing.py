"""What a command prints: kept in a file, sent on in pieces by byte offset, to control and object store.

A piece is text whose UTF-8 has exactly the bytes of the file: a byte that is none of a character's becomes
one `?`. So offsets mean the same on both ends, and sending a piece again changes nothing.
"""

import codecs
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from orchestrator.agent.channel import Away, open_client, ship
from orchestrator.agent.place import Place
from orchestrator.model.wire import LogChunk
from orchestrator.objectstore import ObjectStore, Unavailable

PIECE_BYTES = 64 * 1024
SEND_EVERY_S = 0.5
KEEP_EVERY_S = 10.0
HASTY_S = 1.0  # how long a hand-over waits for the rest of the output
WHOLE_S = 60.0  # and how long a command that ended by itself does: its last words say why
_LONGEST_CHARACTER = 4


def _one_for_one(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "?" * (error.end - error.start), error.end


codecs.register_error("orch-one-for-one", _one_for_one)


def whole_text(data: bytes, *, ended: bool) -> str:
    """The text of these bytes; a character that is cut by the end is left for the next time.

    >>> whole_text("é".encode()[:1], ended=False), whole_text("é".encode()[:1], ended=True)
    ('', '?')
    """
    decoder = codecs.getincrementaldecoder("utf-8")("orch-one-for-one")
    return decoder.decode(data, final=ended or len(data) < 1)


@dataclass(frozen=True)
class Stream:
    """One command's output: where it lies and under which name it goes."""

    path: Path
    job: str
    attempt: int
    rank: int
    name: str


class Printing:
    """The thread that sends one stream. `close` sends the rest."""

    def __init__(self, place: Place, store: ObjectStore, stream: Stream, log: Any) -> None:
        self._place, self._store, self._stream, self._log = place, store, stream, log
        self._client: httpx.Client = open_client(place.recipe)
        self._sent, self._kept, self._kept_mono = 0, 0, time.monotonic()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"printing {stream.name}", daemon=True)
        self._thread.start()

    def close(self, within_s: float) -> None:
        """Send what is left, for so long at most."""
        self._closing.set()
        self._thread.join(within_s)

    def _run(self) -> None:
        while not self._closing.wait(SEND_EVERY_S):
            self._turn(ended=False)
        self._turn(ended=True)

    def _turn(self, *, ended: bool) -> None:
        try:
            while self._send(ended=ended):
                pass
        except Away:
            # The channel tells that control is away; the offsets tell where to go on.
            pass
        if ended or time.monotonic() - self._kept_mono >= KEEP_EVERY_S:
            self._keep(ended=ended)

    def _send(self, *, ended: bool) -> bool:
        """Whether a piece was sent that control took."""
        text = self._text(self._sent, ended=ended)
        if not text:
            return False
        offset, stream = self._sent, self._stream
        chunk = LogChunk(
            intent=self._place.recipe.intent,
            attempt=stream.attempt,
            rank=stream.rank,
            stream=stream.name,
            offset=offset,
            text=text,
        )
        self._sent = ship(self._client, chunk)
        return self._sent > offset

    def _text(self, offset: int, *, ended: bool) -> str:
        if not self._stream.path.exists():
            return ""
        with self._stream.path.open("rb") as file:
            file.seek(offset)
            data = file.read(PIECE_BYTES)
            at_end = not file.read(1)
        return whole_text(data, ended=ended and at_end)

    def _keep(self, *, ended: bool) -> None:
        """The same output in the object store, where it outlives machine and control node."""
        self._kept_mono = time.monotonic()
        stream = self._stream
        folder = f"jobs/{stream.job}/logs/{stream.attempt}-{stream.rank}/{stream.name}"
        try:
            while text := self._text(self._kept, ended=ended):
                data = text.encode()
                self._store.put(f"{folder}/{self._kept:012d}", data)
                self._kept += len(data)
        except Unavailable as error:
            self._log.warning("printing.not_kept", stream=stream.name, reason=str(error))

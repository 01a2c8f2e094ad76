"""Asking the daemon: HTTP over its unix socket, with the standard library alone, so that it starts fast."""

import http.client
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote, urlencode

from orchestrator.cli.failures import Answered, AnswerLost, Away, BadJobFile, Failure, NotNow, NotRunning, TooSlow
from orchestrator.model import exits

T = TypeVar("T")

ANSWER_WITHIN_S = 30.0
PARK_S = 20.0
_PIECE_BYTES = 1024 * 1024

_CODES = {400: exits.USAGE, 404: exits.NOT_FOUND, 409: exits.REFUSED, 422: exits.BAD_FILE, 503: exits.REFUSED}


@dataclass(frozen=True)
class Patience:
    """How often a daemon that is away is asked again; the pauses double up to `longest_pause_s`.

    `says` is told once an outage. A request that was not answered in time is repeated only where
    `endures_slowness`; a socket that is not there is waited for only where `awaits_socket`.
    """

    tries: int
    says: str = ""
    longest_pause_s: float = 5.0
    endures_slowness: bool = False
    awaits_socket: bool = False

    def pauses_s(self) -> list[float]:
        return [min(0.3 * 2**number, self.longest_pause_s) for number in range(self.tries - 1)]

    def endures(self, failure: Failure, socket_path: str) -> bool:
        """Whether it is worth asking again."""
        if isinstance(failure, TooSlow):
            return self.endures_slowness
        return not isinstance(failure, NotRunning) or self.awaits_socket or _is_there(socket_path)


def _is_there(path: str) -> bool:
    try:
        Path(path).lstat()
    except OSError:
        return False
    return True


BRIEF = Patience(tries=3)
INSISTENT = Patience(8, "the daemon gave no answer; asking again, which does nothing twice", endures_slowness=True)
FOLLOWING = Patience(15, "the daemon is away; waiting for it", endures_slowness=True, awaits_socket=True)


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("orch", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass(frozen=True)
class Api:
    """One daemon. Every call has a deadline, and raises Failure."""

    path: str
    patience: Patience = BRIEF

    def waiting(self) -> "Api":
        """The same daemon, waited for across a restart: for who follows it already."""
        return replace(self, patience=FOLLOWING)

    def get(self, path: str, /, **query: object) -> Any:
        """The answer's JSON. A daemon that is away is asked again, a few times."""
        return self._patiently(lambda: _json(self._send("GET", _with_query(path, query), None, query)))

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """Asked once: only who knows that asking twice is harmless may ask again."""
        return _json(self._send("POST", path, json.dumps(body), {}))

    def post_again(self, path: str, body: Mapping[str, object]) -> Any:
        """For requests that do nothing twice: asked until there is an answer, a few times."""
        insistent = replace(self, patience=INSISTENT)
        return insistent._patiently(lambda: self.post(path, body))

    def fetch(self, path: str, /, **query: object) -> bytes:
        """The answer's bytes."""
        return self._patiently(lambda: self._send("GET", _with_query(path, query), None, query))

    def download(self, path: str, into: BinaryIO, /, **query: object) -> None:
        """The answer's bytes into a file, a piece at a time; begun afresh where the daemon went away."""
        self._patiently(lambda: self._copy(_with_query(path, query), into))

    def _patiently(self, ask: Callable[[], T]) -> T:
        told = False
        for pause_s in self.patience.pauses_s():
            try:
                return ask()
            except (Away, NotNow) as failure:
                if not self.patience.endures(failure, self.path):
                    raise
            if self.patience.says and not told:
                told = True
                print(f"orch: {self.patience.says}", file=sys.stderr)
            time.sleep(_jittered(pause_s))
        return ask()

    def _send(self, method: str, path: str, body: str | None, query: Mapping[str, object]) -> bytes:
        with self._asked(method, path, body, _wait_s(query)) as response, _lost_answers():
            return response.read()

    def _copy(self, path: str, into: BinaryIO) -> None:
        into.seek(0)
        into.truncate()
        with self._asked("GET", path, None, 0.0) as response:
            for piece in _pieces(response):
                into.write(piece)

    @contextmanager
    def _asked(self, method: str, path: str, body: str | None, wait_s: float) -> Iterator[http.client.HTTPResponse]:
        connection = _Connection(self.path, ANSWER_WITHIN_S + wait_s)
        try:
            self._connect(connection)
            with _lost_answers():
                headers = {} if body is None else {"Content-Type": "application/json"}
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                if response.status >= 300:
                    raise _refusal(response.status, response.read())
            yield response
        finally:
            connection.close()

    def _connect(self, connection: _Connection) -> None:
        try:
            connection.connect()
        except PermissionError:
            raise NotRunning(f"you may not use {self.path}: its permissions say who may") from None
        except OSError as error:
            raise NotRunning(
                f"no daemon listens on {self.path} ({error.strerror or error}); start it with `orch daemon`, "
                "or name its socket with --socket"
            ) from None


@contextmanager
def _lost_answers() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise TooSlow("the daemon gave no answer in time; its log says what it does") from None
    except (OSError, http.client.HTTPException) as error:
        raise AnswerLost(f"the daemon's answer was lost: {error or type(error).__name__}") from None


def _pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        with _lost_answers():
            piece = response.read(_PIECE_BYTES)
        if not piece:
            break
        yield piece
    if response.length:
        raise AnswerLost(f"the daemon's answer was lost: {response.length} bytes of it are missing")


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise Failure(exits.INTERNAL, "what listens on the socket is no orchd: its answer is not JSON") from None


def _refusal(status: int, data: bytes) -> Failure:
    try:
        answer = json.loads(data)
    except ValueError:
        answer = None
    told = answer if isinstance(answer, dict) else {}
    if status == 422 and told.get("faults"):
        return BadJobFile(told["faults"])
    message = told.get("error") or f"the daemon answered {status}; its log says more"
    kind = NotNow if status == 503 else Answered
    return kind(_CODES.get(status, exits.INTERNAL), str(message))


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _wait_s(query: Mapping[str, object]) -> float:
    """How long the daemon was asked to park this request."""
    return float(str(query.get("wait_s") or 0))


def _jittered(pause_s: float) -> float:
    import random

    return pause_s * random.uniform(0.7, 1.3)


def connect(path: str | os.PathLike[str]) -> Api:
    """The daemon at this socket; nothing is sent yet."""
    return Api(os.fspath(path))


def job_path(name: str, *rest: str) -> str:
    """The path of a job, by id or name. Raises Failure for a name that no job can have."""
    if not name or "/" in name:
        raise Failure(exits.NOT_FOUND, f"no job {name!r}; `orch ps --all` lists them")
    return "/".join(("/v1/jobs", quote(name, safe="", errors="replace"), *rest))


def job_id(daemon: Api, name: str) -> str:
    """The id of a job, for who asks about it more than once: a newer job may take the name meanwhile."""
    return str(daemon.get(job_path(name))["id"])

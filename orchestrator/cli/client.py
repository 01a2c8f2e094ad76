"""Asking the daemon: HTTP over its unix socket, with the standard library alone, so that it starts fast."""

import http.client
import json
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from orchestrator.cli.failures import Answered, AnswerLost, Away, Faults, NotRunning
from orchestrator.model import exits

ANSWER_WITHIN_S = 30.0
PARK_S = 20.0
TRIES = 4
FIRST_PAUSE_S = 0.3

_CODES = {400: exits.USAGE, 404: exits.NOT_FOUND, 409: exits.REFUSED, 422: exits.BAD_FILE, 503: exits.REFUSED}


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("orch", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Api:
    """One daemon. Every call has a deadline, and raises Failure."""

    def __init__(self, path: str) -> None:
        self._path = path

    def get(self, path: str, /, **query: object) -> Any:
        """The answer's JSON. A daemon that is away is asked again, a few times."""
        return json.loads(self._patiently("GET", _with_query(path, query), None))

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """Asked once: only who knows that asking twice is harmless may ask again."""
        return json.loads(self._send("POST", path, json.dumps(body)))

    def post_again(self, path: str, body: Mapping[str, object]) -> Any:
        """For requests that bear an idempotency key: asked until there is an answer, a few times."""
        return json.loads(self._patiently("POST", path, json.dumps(body)))

    def fetch(self, path: str, /, **query: object) -> bytes:
        """The answer's bytes."""
        return self._patiently("GET", _with_query(path, query), None)

    def _patiently(self, method: str, path: str, body: str | None) -> bytes:
        pause_s = FIRST_PAUSE_S
        for _ in range(TRIES - 1):
            try:
                return self._send(method, path, body)
            except NotRunning:
                # Nobody listens: a daemon that restarts is back in a moment, one that was never there is not.
                if not Path(self._path).exists():
                    raise
            except Away:
                pass
            time.sleep(pause_s)
            pause_s *= 2
        return self._send(method, path, body)

    def _send(self, method: str, path: str, body: str | None) -> bytes:
        connection = _Connection(self._path, ANSWER_WITHIN_S + PARK_S)
        try:
            self._connect(connection)
            return self._exchange(connection, method, path, body)
        finally:
            connection.close()

    def _connect(self, connection: _Connection) -> None:
        try:
            connection.connect()
        except PermissionError:
            raise NotRunning(f"you may not use {self._path}: its permissions say who may") from None
        except OSError as error:
            raise NotRunning(
                f"no daemon listens on {self._path} ({error.strerror or error}); start it with `orch daemon`, "
                "or name its socket with --socket"
            ) from None

    def _exchange(self, connection: _Connection, method: str, path: str, body: str | None) -> bytes:
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise AnswerLost(f"the daemon gave no answer: {error or type(error).__name__}") from None
        if response.status >= 400:
            raise _refusal(response.status, data)
        return data


def _refusal(status: int, data: bytes) -> Exception:
    try:
        answer = json.loads(data)
    except ValueError:
        answer = {}
    if status == 422 and "faults" in answer:
        return Faults(fault_line(fault) for fault in answer["faults"])
    message = answer.get("error") or f"the daemon answered {status}; its log says more"
    return Answered(_CODES.get(status, exits.INTERNAL), str(message))


def fault_line(fault: Mapping[str, Any]) -> str:
    """`job.toml:LINE: KEY: MESSAGE`, without the file's name."""
    place = f"{fault['line']}: " if fault.get("line") else ""
    key = f"{fault['path']}: " if fault.get("path") else ""
    return f"{place}{key}{fault['message']}"


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def connect(path: str | os.PathLike[str]) -> Api:
    """The daemon at this socket; nothing is sent yet."""
    return Api(os.fspath(path))


def job_path(name: str, *rest: str) -> str:
    """The path of a job, by id or name."""
    return "/".join(("/v1/jobs", quote(name, safe=""), *rest))

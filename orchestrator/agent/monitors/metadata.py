"""What every dialect shares: a token of limited life, pages behind it, and time by the sender's own clock."""

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Protocol

import httpx

DEADLINE_S = 2.0
TOKEN_TTL_S = 21600
# The announced moment and the Date header are both cut to whole seconds.
CUT_S = 1.0


class MonitorError(Exception):
    """The service gave no answer that could be understood."""


@dataclass(frozen=True)
class Heard:
    """What is said now. `left_s` is None while nothing is announced, `advised` tells of a mere hint."""

    left_s: float | None = None
    advised: bool = False


class Monitor(Protocol):
    """Knows one source."""

    name: str

    def poll(self) -> Heard:
        """What the source says now. Raises MonitorError."""
        ...


class Metadata:
    """Pages of a metadata service that wants a token."""

    def __init__(self, url: str, token_header: str, ttl_header: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=DEADLINE_S, trust_env=False)
        self._token_header, self._ttl_header = token_header, ttl_header
        self._token: str | None = None
        self._token_until_s = 0.0

    def page(self, path: str) -> httpx.Response | None:
        """The page; None where there is nothing to say. Raises MonitorError."""
        response = self._get(path)
        if response.status_code == 401:
            self._token = None
            response = self._get(path)
        if response.status_code == 404:
            return None
        if response.status_code != 200:
            raise MonitorError(f"{path} answered {response.status_code}")
        return response

    def _get(self, path: str) -> httpx.Response:
        return self._send("GET", path, {self._token_header: self._valid_token()})

    def _valid_token(self) -> str:
        if self._token is None or time.monotonic() >= self._token_until_s:
            response = self._send("PUT", "/latest/api/token", {self._ttl_header: str(TOKEN_TTL_S)})
            if response.status_code != 200:
                raise MonitorError(f"no token: the service answered {response.status_code}")
            self._token = response.text.strip()
            self._token_until_s = time.monotonic() + TOKEN_TTL_S / 2
        return self._token

    def _send(self, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
        try:
            return self._client.request(method, path, headers=headers)
        except httpx.HTTPError as error:
            raise MonitorError(f"{path}: {type(error).__name__}") from error


def left_s(moment: str, response: httpx.Response) -> float:
    """Seconds until an ISO 8601 moment in UTC, by the sender's own Date. Raises MonitorError."""
    try:
        announced = datetime.fromisoformat(moment.strip().replace("Z", "+00:00"))
        sent = parsedate_to_datetime(response.headers["Date"])
    except (ValueError, KeyError, TypeError) as error:
        raise MonitorError(f"{moment!r} is no moment: {error}") from error
    if announced.tzinfo is None:
        announced = announced.replace(tzinfo=timezone.utc)
    return (announced - sent).total_seconds() - CUT_S

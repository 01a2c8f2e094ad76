"""The metadata service of one instance: AWS's IMDSv2 and Alibaba Cloud's, on one loopback port.

Paths, headers, codes and formats are the clouds' own (AWS EC2 user guide, "Spot Instance interruption
notices"; Alibaba ECS, "Instance metadata"). Both show whole seconds: the moment is rounded down, so
that never more is promised than is left. Without a valid token of the same dialect: 401.
"""

import json
import secrets
import socketserver
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOPBACK = "127.0.0.1"
_LONGEST_TTL_S = 21600  # both clouds
_IDLE_CONNECTION_S = 120.0


@dataclass(frozen=True)
class Dialect:
    """How one cloud names its token headers."""

    name: str
    ttl_header: str
    token_header: str


AWS = Dialect("aws", "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token")
ALIYUN = Dialect("aliyun", "X-aliyun-ecs-metadata-token-ttl-seconds", "X-aliyun-ecs-metadata-token")
DIALECTS = (AWS, ALIYUN)

TOKEN_PATH = "/latest/api/token"


@dataclass(frozen=True)
class Shown:
    """What the provider lets the instance know now. Times are seconds since 1970."""

    instance: str
    take_at: float | None = None
    advised_at: float | None = None


@dataclass(frozen=True)
class Answer:
    status: HTTPStatus
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Tokens:
    """Tokens given out and when they expire. A token of one dialect is worth nothing in the other."""

    clock: Callable[[], float] = time.monotonic
    expiry: dict[tuple[str, str], float] = field(default_factory=dict)

    def new(self, dialect: Dialect, ttl_s: int) -> str:
        now = self.clock()
        self.expiry = {key: until for key, until in self.expiry.items() if until > now}
        token = secrets.token_urlsafe(40)
        self.expiry[dialect.name, token] = now + ttl_s
        return token

    def valid(self, dialect: Dialect, token: str) -> bool:
        return self.expiry.get((dialect.name, token), 0.0) > self.clock()


def page(dialect: Dialect, path: str, shown: Shown) -> str | None:
    """The text of a metadata path in a dialect; None is a 404, which means: nothing to say."""
    if path == "/latest/meta-data/instance-id":
        return shown.instance
    pages = _AWS_PAGES if dialect is AWS else _ALIYUN_PAGES
    return pages[path](shown) if path in pages else None


def whole_seconds(at: float) -> str:
    """`2015-01-05T18:02:00Z`, rounded down."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(at)))


def _instance_action(shown: Shown) -> str | None:
    if shown.take_at is None:
        return None
    return json.dumps({"action": "terminate", "time": whole_seconds(shown.take_at)})


def _rebalance(shown: Shown) -> str | None:
    return None if shown.advised_at is None else json.dumps({"noticeTime": whole_seconds(shown.advised_at)})


def _termination_time(shown: Shown) -> str | None:
    return None if shown.take_at is None else whole_seconds(shown.take_at)


_AWS_PAGES: dict[str, Callable[[Shown], str | None]] = {
    "/latest/meta-data/spot/instance-action": _instance_action,
    "/latest/meta-data/events/recommendations/rebalance": _rebalance,
}
_ALIYUN_PAGES: dict[str, Callable[[Shown], str | None]] = {
    "/latest/meta-data/instance/spot/termination-time": _termination_time,
}


def serve(show: Callable[[], Shown]) -> ThreadingHTTPServer:
    """A server on a free loopback port; the caller runs and closes it. `show` is asked at each request."""
    handler = type("MetadataHandler", (_Handler,), {"show": staticmethod(show), "tokens": Tokens()})
    return _Server((LOOPBACK, 0), handler)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # HTTPServer's own asks the name service for the host's name; that can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def handle_error(self, *_: object) -> None:
        # Most of these are clients that went away in the middle: one line, not a traceback.
        print(json.dumps({"event": "metadata.request_failed", "reason": repr(sys.exception())}), flush=True)


class _Handler(BaseHTTPRequestHandler):
    show: Callable[[], Shown]
    tokens: Tokens

    protocol_version = "HTTP/1.1"
    server_version = "EC2ws"
    sys_version = ""
    timeout = _IDLE_CONNECTION_S
    disable_nagle_algorithm = True

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._send(self._new_token())

    def do_GET(self) -> None:
        self._send(self._page())

    def _new_token(self) -> Answer:
        if self.path != TOKEN_PATH:
            return Answer(HTTPStatus.NOT_FOUND)
        asked = [(dialect, self.headers[dialect.ttl_header]) for dialect in DIALECTS]
        for dialect, ttl in asked:
            if ttl is not None:
                return self._token_of(dialect, ttl)
        return Answer(HTTPStatus.BAD_REQUEST)

    def _token_of(self, dialect: Dialect, ttl: str) -> Answer:
        if not ttl.isdecimal() or not 1 <= int(ttl) <= _LONGEST_TTL_S:
            return Answer(HTTPStatus.BAD_REQUEST)
        return Answer(HTTPStatus.OK, self.tokens.new(dialect, int(ttl)), ((dialect.ttl_header, ttl),))

    def _page(self) -> Answer:
        dialect = self._spoken()
        if dialect is None:
            return Answer(HTTPStatus.UNAUTHORIZED)
        text = page(dialect, self.path.rstrip("/"), self.show())
        return Answer(HTTPStatus.NOT_FOUND) if text is None else Answer(HTTPStatus.OK, text)

    def _spoken(self) -> Dialect | None:
        for dialect in DIALECTS:
            token = self.headers[dialect.token_header]
            if token is not None and self.tokens.valid(dialect, token):
                return dialect
        return None

    def _send(self, answer: Answer) -> None:
        data = answer.body.encode()
        self.send_response(answer.status)
        for name, value in (("Content-Type", "text/plain"), *answer.headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Polls are not logged."""

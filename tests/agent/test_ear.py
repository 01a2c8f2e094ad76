"""Listening to a metadata service that is silent, broken, slow, and then has something to say."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest
import structlog

from orchestrator.agent.ear import Ear
from orchestrator.agent.monitors import open_monitor


class Answer(NamedTuple):
    status: int
    text: str = ""
    after_s: float = 0.0


NOTHING = Answer(404)
TOKEN = "/latest/api/token"
ACTION = "/latest/meta-data/spot/instance-action"
ADVICE = "/latest/meta-data/events/recommendations/rebalance"
TERMINATION = "/latest/meta-data/instance/spot/termination-time"


@dataclass
class Service:
    """A metadata service whose pages a test may change."""

    pages: dict[str, Answer] = field(default_factory=lambda: {TOKEN: Answer(200, "token")})
    url: str = ""
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def service() -> Iterator[Service]:
    shown = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.asked.append(self.path)
            answer = shown.pages.get(self.path, NOTHING)
            time.sleep(answer.after_s)
            self.send_response(answer.status)
            self.end_headers()
            self.wfile.write(answer.text.encode())

        do_PUT = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    shown.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield shown
    server.shutdown()
    server.server_close()


class BoardDouble:
    """What the ear says, kept."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}
        self.notice: Any = None

    def show(self, **changes: Any) -> None:
        self.said.update(changes)

    progress = show

    def shown(self, name: str) -> Any:
        return self.said.get(name)

    def hear(self, notice: Any) -> bool:
        self.notice = self.notice or notice
        return True

    def withdraw(self, source: str) -> bool:
        had, self.notice = self.notice, None
        return had is not None


def listening(service: Service, dialect: str) -> tuple[Ear, BoardDouble]:
    board = BoardDouble()
    return Ear(open_monitor(dialect, service.url), board, 1.0, structlog.get_logger()), board  # type: ignore[arg-type]


def moment(in_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + in_s))


@pytest.mark.parametrize(
    ("dialect", "page", "says"),
    [("aws", ACTION, '{{"action": "terminate", "time": "{moment}"}}'), ("aliyun", TERMINATION, "{moment}")],
)
def test_404_is_quiet_a_broken_answer_is_counted_and_a_notice_is_acted_upon(
    service: Service, dialect: str, page: str, says: str
) -> None:
    """B025"""
    ear, board = listening(service, dialect)
    ear.listen_once()
    assert board.said["monitor_errors"] == 0
    for broken in (Answer(500), Answer(503), Answer(200, "", after_s=2.5), Answer(200, "no moment at all")):
        service.pages[page] = broken
        ear.listen_once()
    assert board.said["monitor_errors"] == 4
    assert board.notice is None
    service.pages[page] = Answer(200, says.format(moment=moment(120)))
    ear.listen_once()
    assert board.said["monitor_errors"] == 0
    assert 115 < board.notice.left_s(time.monotonic()) <= 120


def test_a_notice_is_heard_although_the_page_of_hints_is_broken(service: Service) -> None:
    service.pages[ACTION] = Answer(200, f'{{"action": "stop", "time": "{moment(60)}"}}')
    service.pages[ADVICE] = Answer(500)
    ear, board = listening(service, "aws")
    ear.listen_once()
    assert board.notice is not None


def test_a_hint_is_no_notice_and_clears(service: Service) -> None:
    """B029"""
    service.pages[ADVICE] = Answer(200, f'{{"noticeTime": "{moment(0)}"}}')
    ear, board = listening(service, "aws")
    ear.listen_once()
    assert (board.notice, board.said["rebalance_advised"]) == (None, True)
    service.pages[ADVICE] = NOTHING
    ear.listen_once()
    assert board.said["rebalance_advised"] is False


def test_a_withdrawn_notice_is_taken_back_until_the_trainer_is_being_stopped(service: Service) -> None:
    ear, board = listening(service, "aliyun")
    service.pages[TERMINATION] = Answer(200, moment(120))
    ear.listen_once()
    del service.pages[TERMINATION]
    board.said["phase"] = "stopping"
    ear.listen_once()
    assert board.notice is not None
    board.said["phase"] = "running"
    ear.listen_once()
    assert board.notice is None


def test_a_token_that_has_run_out_is_asked_for_again(service: Service) -> None:
    ear, board = listening(service, "aws")
    ear.listen_once()
    service.pages[ACTION] = Answer(401)
    ear.listen_once()
    assert service.asked.count(TOKEN) == 2
    assert board.said["monitor_errors"] == 1, "a service that refuses its own new token is broken"

"""Whatever comes over the socket, the answer is a status and one sentence, and the daemon goes on."""

import json
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.daemon.scenes import Orchd

JOB = 'name = "digits"\n\n[train]\ncommand = "true"\n'


@pytest.fixture(scope="module")
def orchd() -> Iterator[Orchd]:
    """One daemon for all of them: what a request breaks, the next one finds broken."""
    home = Path(tempfile.mkdtemp(prefix="orchd-"))
    one = Orchd(home)
    one.configure()
    one.start()
    yield one
    one.close()
    shutil.rmtree(home)


@pytest.fixture
def http(orchd: Orchd) -> Iterator[httpx.Client]:
    transport = httpx.HTTPTransport(uds=str(orchd.socket))
    with httpx.Client(transport=transport, base_url="http://orch", timeout=20) as client:
        yield client


def _report(**changes: object) -> dict[str, object]:
    return {"intent": "nobody", "owner": "o", "seq": 1, "revision": 0, **changes}


WRONG: list[tuple[str, str, Any, int]] = [
    ("GET", "/v1/nowhere", None, 404),
    ("DELETE", "/v1/jobs", None, 405),
    ("GET", "/v1/jobs/nobody", None, 404),
    ("GET", "/v1/jobs/nobody/events", None, 404),
    ("GET", "/v1/jobs/nobody/logs", None, 404),
    ("GET", "/v1/jobs/nobody/output", None, 404),
    ("GET", "/v1/jobs/nobody/output/file?path=../../etc/passwd", None, 404),
    ("GET", "/v1/jobs/%2e%2e%2f%2e%2e/events", None, 404),
    ("GET", "/v1/events?after=x", None, 400),
    ("GET", "/v1/events?wait_s=-1", None, 400),
    ("GET", "/v1/events?wait_s=nan", None, 400),
    ("GET", "/v1/events?after=99999999999999999999999", None, 400),
    ("POST", "/v1/jobs/nobody/cancel", {}, 404),
    ("POST", "/v1/jobs/nobody/drill", {"window_s": "soon"}, 400),
    ("POST", "/v1/jobs", None, 400),
    ("POST", "/v1/jobs", [], 400),
    ("POST", "/v1/jobs", {"toml": JOB}, 400),
    ("POST", "/v1/jobs", {"toml": 3, "idempotency_key": "a key of mine"}, 400),
    ("POST", "/v1/jobs", {"toml": "", "idempotency_key": "a key of mine"}, 422),
    ("POST", "/v1/jobs", {"toml": "\ud800", "idempotency_key": "a key of mine"}, 422),
    ("POST", "/v1/jobs", {"toml": "#" * 10**6, "idempotency_key": "a key of mine"}, 422),
    ("POST", "/v1/jobs", {"toml": JOB, "idempotency_key": ""}, 400),
    ("POST", "/v1/plan", {"toml": JOB, "more": 1}, 400),
    ("POST", "/v1/agent/sync", {}, 400),
    ("POST", "/v1/agent/sync", _report(), 401),
    ("POST", "/v1/agent/logs", {"intent": "nobody"}, 400),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_request_gets_its_status_and_one_sentence(
    http: httpx.Client, method: str, path: str, body: Any, status: int
) -> None:
    content = None if body is None else json.dumps(body).encode()
    answer = http.request(method, path, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    said = answer.json()["error"]
    assert said
    assert "\n" not in said
    assert http.get("/v1/health").status_code == 200


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer x", "Basic eDp5", "Bearer " + "ä" * 10])
def test_a_wrong_token_is_refused(http: httpx.Client, token: str) -> None:
    answer = http.post("/v1/agent/sync", json=_report(), headers={"Authorization": token.encode()})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "raw", [b"\0" * 1000, b"GET\r\n\r\n", b"POST /v1/jobs HTTP/1.1\r\ncontent-length: 10\r\n\r\n{"]
)
def test_what_is_no_http_or_stops_in_the_middle_harms_nobody(orchd: Orchd, http: httpx.Client, raw: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as speaker:
        speaker.connect(str(orchd.socket))
        speaker.sendall(raw)
        assert http.get("/v1/health").status_code == 200
    assert http.get("/v1/health").status_code == 200


def test_one_key_is_one_job_however_often_it_is_sent(http: httpx.Client) -> None:
    body = {"toml": JOB, "idempotency_key": "the same"}
    first, second = (http.post("/v1/jobs", json=body) for _ in range(2))
    assert (first.status_code, second.json()["existed"]) == (201, True)
    assert first.json()["job"]["id"] == second.json()["job"]["id"]


def test_nothing_of_it_was_our_own_fault(orchd: Orchd) -> None:
    log = orchd.log.read_text()
    assert "Traceback" not in log
    assert "turn_failed" not in log

"""A stand-in for orchd: docs/http.md over a real unix socket, with canned jobs."""

import json
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import UnixStreamServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from blake3 import blake3

Json = dict[str, Any]
AT = "2026-12-01T10:00:00+00:00"
JOB = "0123456789ab"
POOL = "local/local-b/local.gpu-1/spot"
WEIGHTS = b"weights " * 40_000


def instance(number: int, **changes: Any) -> Json:
    told: Json = {
        "id": f"i-{number:012x}",
        "job": JOB,
        "job_name": "digits",
        "stage": "train",
        "attempt": number,
        "rank": 0,
        "pool": POOL,
        "market": "spot",
        "phase": "terminated",
        "usd_per_hour": "1.2500",
        "on_demand_usd_per_hour": "4.1000",
        "launched_at": AT,
        "ended_at": None,
        "end_reason": "",
        "reclaimed": False,
        "cost_usd": "0.00412",
        "notice": None,
        "report": None,
    }
    return told | changes


def report(**changes: Any) -> Json:
    told: Json = {
        "phase": "running",
        "step": 1300,
        "total_steps": 2000,
        "metrics": {"loss": 0.25},
        "committed_step": 1250,
        "trouble": None,
        "disk_free_bytes": 1 << 30,
        "reported_at": AT,
    }
    return told | changes


def attempt(number: int, *instances: Json, **changes: Any) -> Json:
    told: Json = {
        "number": number,
        "epoch": number,
        "outcome": "reclaimed",
        "base_step": None,
        "committed_step": 1200,
        "reached_step": 1200,
        "total_steps": 2000,
        "instances": list(instances),
    }
    return told | changes


def stages() -> list[Json]:
    shards = {"total": 6, "done": 6, "running": 0}
    three = [instance(number, stage="preprocess") for number in (11, 12, 13)]
    pre = attempt(1, *three, outcome="succeeded", committed_step=None, reached_step=None)
    lives = instance(2, phase="running", report=report())
    train = [attempt(1, instance(1)), attempt(2, lives, outcome=None, base_step=1200, reached_step=1300)]
    return [
        {"name": "preprocess", "state": "succeeded", "shards": shards, "attempts": [pre]},
        {"name": "train", "state": "running", "shards": None, "attempts": train},
    ]


def accounts() -> Json:
    return {
        "cost_usd": "0.0162",
        "on_demand_usd": "0.0444",
        "savings_share": 0.63,
        "wasted_usd": "0.0015",
        "wasted_gpu_s": 4.0,
        "attempts": 3,
        "reclaims": 1,
        "steps_redone": 0,
        "steps_redone_with_notice": 0,
    }


def detail(**changes: Any) -> Json:
    told: Json = {
        "id": JOB,
        "name": "digits",
        "state": "running",
        "reason": f"Attempt 2 trains on {POOL}.",
        "created_at": AT,
        "ended_at": None,
        "stage": "train",
        "step": 1300,
        "total_steps": 2000,
        "metrics": {"loss": 0.25},
        "attempts": 3,
        "reclaims": 1,
        "cost_usd": "0.0162",
        "pool": POOL,
        "stages": stages(),
        "accounts": accounts(),
        "alarms": [],
        "drills": [],
    }
    return told | changes


def event(seq: int, name: str, reason: str, at: str = AT, **data: Any) -> Json:
    return {"seq": seq, "at": at, "name": name, "reason": reason, "job": JOB, "stage": "train", "data": data}


def drill(**changes: Any) -> Json:
    told: Json = {
        "id": "d1",
        "job": JOB,
        "attempt": 2,
        "instance": "i-000000000002",
        "window_s": 10.0,
        "asked_at": AT,
        "state": "survived",
        "reason": "attempt 3 went on from step 1200; no step is done twice",
        "ended_at": AT,
        "committed_step": 1200,
        "resumed_step": 1200,
    }
    return told | changes


def chunk(text: str, stage: str = "train", stream: str = "train", attempt: int = 1, rank: int = 0) -> Json:
    return {"stage": stage, "attempt": attempt, "rank": rank, "stream": stream, "text": text}


def output(path: str = "weights.npz", data: bytes = WEIGHTS, **changes: Any) -> Json:
    return {"path": path, "size_bytes": len(data), "blake3": blake3(data).hexdigest()} | changes


@dataclass
class House:
    """What the stand-in answers with, and what it was asked. `lose` drops so many answers of a path."""

    detail: Json = field(default_factory=detail)
    events: list[Json] = field(default_factory=lambda: [event(1, "job.submitted", "Job digits is submitted.")])
    chunks: list[Json] = field(default_factory=lambda: [chunk("step 1\nstep 2\n")])
    drills: list[Json] = field(default_factory=lambda: [drill(state="running"), drill()])
    files: dict[str, bytes] = field(default_factory=lambda: {"weights.npz": WEIGHTS})
    listed: list[Json] = field(default_factory=lambda: [output()])
    findings: list[Json] = field(default_factory=list)
    refusals: dict[str, tuple[int, Json]] = field(default_factory=dict)
    lose: Counter[str] = field(default_factory=Counter)
    keys: dict[str, str] = field(default_factory=dict)  # idempotency key -> job
    asked: list[tuple[str, str, Json]] = field(default_factory=list)
    ended: bool = True
    garbage: bytes | None = None
    parked: threading.Event = field(default_factory=threading.Event)

    def posts(self, path: str) -> list[Json]:
        return [body for method, where, body in self.asked if (method, where) == ("POST", path)]


def _answer(house: House, method: str, path: str, query: Json, body: Json) -> tuple[int, Json | bytes]:
    if path in house.refusals:
        return house.refusals[path]
    if path.startswith("/v1/jobs/") and path.split("/")[3] not in (JOB, "digits"):
        return 404, {"error": f"no job '{path.split('/')[3]}'; `orch ps --all` lists them"}
    wanted = "/".join(["", "JOB", *path.split("/")[4:]]) if path.startswith("/v1/jobs/") else path
    found = _ROUTES.get((method, wanted))
    return (404, {"detail": "Not Found"}) if found is None else found(house, query, body)


def _submit(house: House, _query: Json, body: Json) -> tuple[int, Json]:
    existed = body["idempotency_key"] in house.keys
    house.keys.setdefault(body["idempotency_key"], f"job-{len(house.keys) + 1}")
    return 201, {"job": house.detail, "existed": existed, "warnings": ["no checkpoints are kept"]}


def _events(house: House, query: Json, _body: Json) -> tuple[int, Json]:
    after = int(query.get("after", 0))
    found = [one for one in house.events if one["seq"] > after]
    if not found and not house.ended and float(query.get("wait_s", 0)) > 1:
        house.parked.set()
        threading.Event().wait(1.0)
    return 200, {"events": found, "last": found[-1]["seq"] if found else after, "ended": house.ended}


def _logs(house: House, query: Json, _body: Json) -> tuple[int, Json]:
    mine = [one for one in house.chunks if query.get("stage") in (None, one["stage"])]
    mine = [one for one in mine if query.get("attempt") in (None, str(one["attempt"]))]
    at = int(query.get("after") or 0)
    return 200, {"chunks": mine[at : at + 1], "cursor": str(at + 1), "ended": at >= len(mine)}


def _drilled(house: House, _query: Json, _body: Json) -> tuple[int, Json]:
    return 200, {"drill": house.drills.pop(0) if len(house.drills) > 1 else house.drills[0]}


def _plan(_house: House, _query: Json, _body: Json) -> tuple[int, Json]:
    prices = {"usd_per_hour": "1.2500", "on_demand_usd_per_hour": "4.1000"}
    others = [{"pool": f"local/local-{n}/local.cpu-2/spot", **prices, "verdict": "too small"} for n in range(7)]
    chosen = {"pool": POOL, **prices, "verdict": "chosen"}
    choice = {"pool": POOL, "market": "spot", "bid_usd_per_hour": "4.1000", **prices}
    reason = f"{POOL} at 1.2500 USD/h: the cheapest of 1 pool that will do"
    stage = {"stage": "train", "instances": 1, "choice": choice, "reason": reason, "considered": [*others, chosen]}
    return 200, {"name": "digits", "stages": [stage], "environment": {"train": {"SEED": "2"}}, "warnings": []}


_ROUTES: dict[tuple[str, str], Callable[[House, Json, Json], tuple[int, Json | bytes]]] = {
    ("GET", "/v1/health"): lambda *_: (200, {"version": "0.1.0", "pid": 7, "state_dir": "/var/lib/orch"}),
    ("GET", "/v1/doctor"): lambda house, *_: (200, {"findings": house.findings}),
    ("GET", "/v1/jobs"): lambda house, *_: (200, {"jobs": [house.detail] if house.detail else []}),
    ("POST", "/v1/jobs"): _submit,
    ("POST", "/v1/plan"): _plan,
    ("GET", "/v1/events"): _events,
    ("GET", "/v1/instances"): lambda *_: (200, {"instances": [instance(1), instance(2, phase="running")]}),
    ("GET", "/JOB"): lambda house, *_: (200, house.detail),
    ("GET", "/JOB/events"): _events,
    ("GET", "/JOB/logs"): _logs,
    ("POST", "/JOB/cancel"): lambda house, *_: (
        200,
        {"job": house.detail, "already_ended": house.detail["ended_at"] is not None},
    ),
    ("POST", "/JOB/drill"): _drilled,
    ("GET", "/JOB/drills/d1"): _drilled,
    ("GET", "/JOB/output"): lambda house, *_: (200, {"files": house.listed}),
    ("GET", "/JOB/output/file"): lambda house, query, _body: (200, house.files[query["path"]]),
}


class _Server(UnixStreamServer, ThreadingHTTPServer):  # type: ignore[misc]  # how the two are meant to be mixed
    house: House
    request_queue_size = 16

    def server_bind(self) -> None:
        UnixStreamServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Json) -> None:
        house, where = self.server.house, urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(where.query).items()}
        house.asked.append((self.command, where.path, body or query))
        status, answer = _answer(house, self.command, where.path, query, body)
        self.close_connection = True
        if house.lose[where.path] > 0:
            house.lose[where.path] -= 1
            return
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self._send(status, data if house.garbage is None else house.garbage)

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def address_string(self) -> str:
        return "local"

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@dataclass(frozen=True)
class StandIn:
    """A house and the socket that it answers on."""

    house: House
    socket: Path


@contextmanager
def listening(house: House, socket: Path) -> Iterator[None]:
    """Answers on this socket, for as long as the caller stays."""
    server = _Server(str(socket), _Handler)
    server.house = house
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        socket.unlink(missing_ok=True)


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """A running stand-in; its socket's path is short enough for the kernel."""
    directory = Path(tempfile.mkdtemp(prefix="orch-"))
    one = StandIn(House(), directory / "orchd.sock")
    try:
        with listening(one.house, one.socket):
            yield one
    finally:
        shutil.rmtree(directory)

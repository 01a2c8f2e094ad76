"""What people ask about jobs."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import Field

from orchestrator.api import shapes
from orchestrator.api.rooms import Given, Rooms, WaitS
from orchestrator.control.desk import NoSuchJob
from orchestrator.control.results import output_bytes, output_files
from orchestrator.model.environment import explain_environment
from orchestrator.model.frozen import Frozen
from orchestrator.model.jobfile import JobRead, read_job
from orchestrator.model.jobs import Job
from orchestrator.store import jobs, jobview

router = APIRouter(prefix="/v1")
SHOWN_AFTER_END = timedelta(days=1)


class Submission(Frozen):
    """A job file's text; `idempotency_key` makes a repeated request the same job."""

    toml: str
    idempotency_key: str = Field(min_length=8, max_length=200)


class JobFile(Frozen):
    toml: str


class DrillRequest(Frozen):
    """`window_s` None: the provider's own."""

    window_s: float | None = Field(default=None, gt=0, le=3600)
    announced: bool = True


@router.post("/jobs", status_code=201)
async def submit(rooms: Given, asked: Submission) -> dict[str, Any]:
    read = read_job(asked.toml)
    job, existed = await rooms.desk.submit(asked.toml, read.spec, asked.idempotency_key)
    return {"job": await _summary(rooms, job.id), "existed": existed, "warnings": list(read.warnings)}


@router.post("/plan")
async def plan(rooms: Given, asked: JobFile) -> dict[str, Any]:
    read = read_job(asked.toml)
    stages = await rooms.desk.plan(read.spec)
    return {
        "name": read.spec.name,
        "stages": [shapes.stage_plan(stage) for stage in stages],
        "environment": _environment(read),
        "warnings": list(read.warnings),
    }


def _environment(read: JobRead) -> dict[str, Any]:
    """The env rule, shown: what each variable will be on the instance (B094)."""
    spec = read.spec
    shown = {"train": explain_environment(spec.train.env)}
    if spec.preprocess is not None:
        shown["preprocess"] = explain_environment(spec.preprocess.env)
    return shown


@router.get("/jobs")
async def list_jobs(rooms: Given, all: bool = False) -> dict[str, Any]:
    since = None if all else rooms.ports.clock.now() - SHOWN_AFTER_END
    found = await rooms.ports.db.read(lambda conn: jobs.list_jobs(conn, since))
    return {"jobs": [await _summary(rooms, job.id) for job in found]}


@router.get("/jobs/{name}")
async def show(rooms: Given, name: str) -> dict[str, Any]:
    return shapes.detail(await rooms.desk.view(name), rooms.ports.clock.now())


@router.post("/jobs/{name}/cancel")
async def cancel(rooms: Given, name: str) -> dict[str, Any]:
    job = await rooms.desk.job(name)
    job, ended = await rooms.desk.cancel(job.id)
    return {"job": await _summary(rooms, job.id), "already_ended": ended}


@router.post("/jobs/{name}/drill", status_code=202)
async def drill(rooms: Given, name: str, asked: DrillRequest) -> dict[str, Any]:
    job = await rooms.desk.job(name)
    return {"drill": shapes.drill(await rooms.desk.drill(job.id, asked.window_s, asked.announced))}


@router.get("/jobs/{name}/drills/{drill_id}")
async def drilled(rooms: Given, name: str, drill_id: str, wait_s: WaitS = 0.0) -> dict[str, Any]:
    job = await rooms.desk.job(name)
    found = await rooms.desk.drilled(drill_id, wait_s)
    if found is None or found.job != job.id:
        raise NoSuchJob(f"job {job.id} has had no drill {drill_id!r}")
    return {"drill": shapes.drill(found)}


@router.get("/jobs/{name}/output")
async def output(rooms: Given, name: str) -> dict[str, Any]:
    job = await rooms.desk.job(name)
    files = await asyncio.to_thread(output_files, rooms.objects, job)
    shown = [{"path": f.path, "size_bytes": f.size_bytes, "blake3": f.blake3} for f in files]
    return {"files": shown}


@router.get("/jobs/{name}/output/file", response_model=None)
async def output_file(rooms: Given, name: str, path: str) -> StreamingResponse | JSONResponse:
    job = await rooms.desk.job(name)
    pieces: Iterator[bytes] = await asyncio.to_thread(output_bytes, rooms.objects, job, path)
    return StreamingResponse(pieces, media_type="application/octet-stream")


async def _summary(rooms: Rooms, job_id: str) -> shapes.Json:
    view = await rooms.ports.db.read(lambda conn: jobview.load_view(conn, job_id))
    assert view is not None
    return shapes.summary(view, rooms.ports.clock.now())


async def job_has_ended(rooms: Rooms, job: Job) -> bool:
    """As of now, whatever `job` said when it was read."""
    current = await rooms.ports.db.read(lambda conn: jobs.get_job(conn, job.id))
    return current is None or current.ended_at is not None

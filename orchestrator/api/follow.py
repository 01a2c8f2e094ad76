"""What people follow: events and what stages printed. Each answer says where to go on from."""

import asyncio
from typing import Any

from fastapi import APIRouter

from orchestrator.api import shapes
from orchestrator.api.jobs import job_has_ended
from orchestrator.api.rooms import After, Given, Rooms, WaitS
from orchestrator.control.bells import wait
from orchestrator.control.office import ALL_JOBS
from orchestrator.model.events import Event
from orchestrator.model.jobs import Job
from orchestrator.store import events

router = APIRouter(prefix="/v1")
MOST_EVENTS = 500
# A job that has just ended may have output under way: its agent ships the rest within this.
PRINTED_SETTLES_S = 1.0


@router.get("/jobs/{name}/events")
async def job_events(rooms: Given, name: str, after: After = 0, wait_s: WaitS = 0.0) -> dict[str, Any]:
    job = await rooms.desk.job(name)
    bell = rooms.office.bells.bell(job.id)
    ended = await job_has_ended(rooms, job)
    found = await _events(rooms, job.id, after)
    if not found and not ended and await wait(bell, wait_s):
        ended = await job_has_ended(rooms, job)
        found = await _events(rooms, job.id, after)
    return _answer(found, after, ended and len(found) < MOST_EVENTS)


@router.get("/events")
async def all_events(rooms: Given, after: After = 0, wait_s: WaitS = 0.0) -> dict[str, Any]:
    bell = rooms.office.bells.bell(ALL_JOBS)
    found = await _events(rooms, None, after)
    if not found and await wait(bell, wait_s):
        found = await _events(rooms, None, after)
    return _answer(found, after, ended=False)


async def _events(rooms: Rooms, job: str | None, after: int) -> list[Event]:
    return await rooms.ports.db.read(lambda conn: events.events_after(conn, job, after, MOST_EVENTS))


def _answer(found: list[Event], after: int, ended: bool) -> dict[str, Any]:
    last = found[-1].seq if found else after
    return {"events": [shapes.event(event) for event in found], "last": last, "ended": ended}


@router.get("/jobs/{name}/logs")
async def logs(
    rooms: Given,
    name: str,
    after: str = "",
    wait_s: WaitS = 0.0,
    attempt: int | None = None,
    stage: str | None = None,
) -> dict[str, Any]:
    job = await rooms.desk.job(name)
    ended = await _printing_has_ended(rooms, job)
    pieces, cursor = await asyncio.to_thread(rooms.printed.read, job.id, after, attempt, stage)
    if not pieces and not ended:
        bell = rooms.office.bells.bell(f"printed {job.id}")
        await wait(bell, min(wait_s, 2.0))
        pieces, cursor = await asyncio.to_thread(rooms.printed.read, job.id, after, attempt, stage)
    chunks = [
        {"stage": p.stage, "attempt": p.attempt, "rank": p.rank, "stream": p.stream, "text": p.text} for p in pieces
    ]
    return {"chunks": chunks, "cursor": cursor, "ended": ended and not pieces}


async def _printing_has_ended(rooms: Rooms, job: Job) -> bool:
    current = await rooms.desk.job(job.id)
    if current.ended_at is None:
        return False
    return (rooms.ports.clock.now() - current.ended_at).total_seconds() > PRINTED_SETTLES_S

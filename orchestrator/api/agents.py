"""What agents ask: orders for a report, and a place for what their stage printed."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header

from orchestrator.api.rooms import Given, Rooms, WaitS
from orchestrator.control.desk import Forbidden, NotKnownYet
from orchestrator.control.tokens import is_bootstrap_token
from orchestrator.model.jobs import Intent
from orchestrator.model.wire import LogChunk, Orders, Report
from orchestrator.store import intents

router = APIRouter(prefix="/v1/agent")


@router.post("/sync")
async def sync(
    rooms: Given, report: Report, wait_s: WaitS = 0.0, authorization: Annotated[str, Header()] = ""
) -> Orders:
    """The whole state in, the whole desired state out."""
    return await rooms.desk.sync(report, _token(authorization), wait_s)


@router.post("/logs")
async def logs(rooms: Given, chunk: LogChunk, authorization: Annotated[str, Header()] = "") -> dict[str, Any]:
    """A piece of what a stage printed; the offset that is wanted next."""
    intent = await _intent(rooms, chunk, _token(authorization))
    offset = await asyncio.to_thread(rooms.printed.write, intent, chunk)
    rooms.office.bells.ring(f"printed {intent.job}")
    return {"next_offset": offset}


async def _intent(rooms: Rooms, chunk: LogChunk, token: str) -> Intent:
    if not is_bootstrap_token(rooms.ports.house.key, chunk.intent, token):
        raise Forbidden("the token does not belong to this intent")
    intent = await rooms.ports.db.read(lambda conn: intents.get_intent(conn, chunk.intent))
    if intent is None:
        raise NotKnownYet("no such intent")
    return intent


def _token(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Forbidden("an agent's token is needed")
    return token

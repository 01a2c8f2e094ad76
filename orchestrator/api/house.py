"""What people ask about the house itself: its health, its instances, and what would stop a job."""

from typing import Any

from fastapi import APIRouter

from orchestrator.api import shapes
from orchestrator.api.rooms import Given, Rooms
from orchestrator.store import instances, jobs
from providers.base import ProviderError

router = APIRouter(prefix="/v1")


@router.get("/health")
async def health(rooms: Given) -> dict[str, Any]:
    return rooms.about()


@router.get("/instances")
async def list_instances(rooms: Given, all: bool = False) -> dict[str, Any]:
    wanted = instances.all_instances if all else instances.alive_instances
    found = await rooms.ports.db.read(wanted)
    names = {job.id: job.name for job in await rooms.ports.db.read(lambda conn: jobs.list_jobs(conn, None))}
    now = rooms.ports.clock.now()
    shown = [{**shapes.instance(one, now), "job_name": names.get(one.job, "")} for one in found]
    return {"instances": shown}


@router.get("/doctor")
async def doctor(rooms: Given) -> dict[str, Any]:
    """Every provider's preflight; one that does not answer is a finding too."""
    findings: list[dict[str, Any]] = []
    for name in rooms.ports.clouds:
        findings.extend(await _preflight(rooms, name))
    return {"findings": findings}


async def _preflight(rooms: Rooms, name: str) -> list[dict[str, Any]]:
    try:
        found = await rooms.ports.clouds[name].preflight()
    except ProviderError as error:
        mend = "look at the provider's status and at this machine's network"
        return [{"subject": f"provider {name}", "ok": False, "message": str(error), "mend": mend}]
    return [{"subject": f.subject, "ok": f.ok, "message": f.message, "mend": f.mend} for f in found]

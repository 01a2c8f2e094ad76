"""Following a job's events or output, past restarts of the daemon."""

from collections.abc import Iterator
from typing import Any

from orchestrator.cli.client import PARK_S, Api, job_path


def events(api: Api, job: str | None, after: int, *, follow: bool) -> Iterator[dict[str, Any]]:
    """Events from `after` on; with `follow` until the job has ended."""
    path = "/v1/events" if job is None else job_path(job, "events")
    while True:
        answer = api.get(path, after=after, wait_s=PARK_S if follow else 0)
        yield from answer["events"]
        if answer["ended"] or (not follow and not answer["events"]):
            return
        after = answer["last"]
        api = api.waiting()


def printed(api: Api, job: str, attempt: int | None, stage: str | None, *, follow: bool) -> Iterator[dict[str, Any]]:
    """Pieces of what a job printed; with `follow` until it has ended."""
    cursor = ""
    while True:
        answer = api.get(
            job_path(job, "logs"),
            after=cursor,
            wait_s=PARK_S if follow else 0,
            attempt=attempt,
            stage=stage,
        )
        yield from answer["chunks"]
        if answer["ended"] or (not follow and not answer["chunks"]):
            return
        cursor = answer["cursor"]
        api = api.waiting()

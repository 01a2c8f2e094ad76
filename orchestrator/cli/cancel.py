"""`orch cancel`."""

import time
from typing import Any

import click

from orchestrator.cli.client import Api, job_id, job_path
from orchestrator.cli.options import api, as_json, show_json
from orchestrator.cli.places import Session

LOOK_EVERY_S = 0.3


@click.command(short_help="End a job and its instances.")
@click.argument("job")
@click.option("--wait", is_flag=True, help="Return once every instance is confirmed gone.")
@as_json
@click.pass_obj
def cancel(session: Session, job: str, wait: bool, as_json: bool) -> None:
    """End a job and its instances. It stays `cancelling` until all of them are confirmed gone.

    \b
    Example:  orch cancel resnet50
    """
    daemon = api(session)
    found = job_id(daemon, job)
    answer = daemon.post_again(job_path(found, "cancel"), {})
    if wait and not answer["already_ended"]:
        answer["job"] = _ended(daemon.waiting(), found)
    if as_json:
        show_json(answer)
    else:
        click.echo(_told(session, answer))


def _ended(daemon: Api, job: str) -> dict[str, Any]:
    while True:
        found: dict[str, Any] = daemon.get(job_path(job))
        if found["ended_at"] is not None:
            return found
        time.sleep(LOOK_EVERY_S)


def _told(session: Session, answer: dict[str, Any]) -> str:
    job = answer["job"]
    if answer["already_ended"]:
        return f"Job {job['id']} has {job['state']} already; nothing was cancelled."
    if job["ended_at"] is not None:
        return f"Job {job['id']} is {job['state']}: {job['reason']}"
    return f"Job {job['id']} is being cancelled. Whether all is gone:  {session.command('show', job['id'])}"

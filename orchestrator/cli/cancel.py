"""`orch cancel`."""

import time

import click

from orchestrator.cli.client import job_path
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
    answer = daemon.post(job_path(job, "cancel"), {})
    found = answer["job"]
    while wait and found["ended_at"] is None:
        time.sleep(LOOK_EVERY_S)
        found = daemon.get(job_path(found["id"]))
    if as_json:
        show_json({"job": found, "already_ended": answer["already_ended"]})
    elif answer["already_ended"]:
        click.echo(f"Job {found['id']} has {found['state']} already; nothing was cancelled.")
    else:
        click.echo(f"Job {found['id']} is {found['state']}: {found['reason']}")

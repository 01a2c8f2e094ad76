"""`orch instances`."""

import click

from orchestrator.cli.options import api, as_json, show_json
from orchestrator.cli.places import Session
from orchestrator.cli.show import phase
from orchestrator.cli.table import age, table


@click.command(short_help="List the instances.")
@click.option("--all", "everything", is_flag=True, help="Also those that are gone.")
@as_json
@click.pass_obj
def instances(session: Session, everything: bool, as_json: bool) -> None:
    """List the instances that are alive, by the provider's word.

    \b
    Example:  orch instances --all
    """
    found = api(session).get("/v1/instances", all=1 if everything else None)["instances"]
    if as_json:
        show_json(found)
        return
    if not found:
        click.echo("No instances.")
        return
    heads = ("ID", "JOB", "FOR", "PHASE", "AGE", "POOL")
    rows = [
        (
            one["id"],
            one["job_name"],
            f"{one['stage']} {one['attempt']}",
            phase(one),
            age(one["launched_at"], one["ended_at"]),
            one["pool"],
        )
        for one in found
    ]
    click.echo(table(heads, rows, shorten=("JOB", "POOL")))

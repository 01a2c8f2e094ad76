"""`orch ps`."""

import click

from orchestrator.cli.options import api, as_json, show_json
from orchestrator.cli.places import Session
from orchestrator.cli.table import age, steps, table, usd


@click.command(short_help="List the jobs.")
@click.option("--all", "everything", is_flag=True, help="Also those that ended more than a day ago.")
@as_json
@click.pass_obj
def ps(session: Session, everything: bool, as_json: bool) -> None:
    """List the jobs.

    \b
    Example:  orch ps
    """
    jobs = api(session).get("/v1/jobs", all=1 if everything else None)["jobs"]
    if as_json:
        show_json(jobs)
        return
    if not jobs:
        click.echo("No jobs. `orch submit job.toml` hands one in.")
        return
    heads = ("ID", "NAME", "STATE", "STAGE", "STEP", "LOSSES", "USD", "AGE")
    rows = [
        (
            job["id"],
            job["name"],
            job["state"],
            job["stage"],
            steps(job["step"], job["total_steps"]),
            job["reclaims"],
            usd(job["cost_usd"]),
            age(job["created_at"]),
        )
        for job in jobs
    ]
    click.echo(table(heads, rows, shorten=("NAME",)))

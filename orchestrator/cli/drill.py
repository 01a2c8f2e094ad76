"""`orch drill`."""

from typing import Any

import click

from orchestrator.cli.client import PARK_S, job_path
from orchestrator.cli.options import api, as_json, farewell, show_json
from orchestrator.cli.places import Session
from orchestrator.model import exits


@click.command(short_help="Reclaim a running job on purpose.")
@click.argument("job")
@click.option("--window", type=click.FloatRange(min=0, min_open=True), help="Seconds of notice.  [the provider's]")
@click.option("--unannounced", is_flag=True, help="Take the instance without a notice.")
@as_json
@click.pass_obj
def drill(session: Session, job: str, window: float | None, unannounced: bool, as_json: bool) -> int:
    """Reclaim a running job's instance on purpose, and report whether its state survived.

    The job gets a notice with the provider's window; then the instance is taken. It is refused where no
    attempt trains or one is under notice already.

    \b
    Example:  orch drill resnet50
    """
    daemon = api(session)
    body = {"window_s": window, "announced": not unannounced}
    found = daemon.post(job_path(job, "drill"), body)["drill"]
    if not as_json:
        click.echo(_began(found))
    try:
        while found["state"] == "running":
            found = daemon.get(job_path(found["job"], "drills", found["id"]), wait_s=PARK_S)["drill"]
    except KeyboardInterrupt:
        raise farewell(session, job, ("show", job)) from None
    if as_json:
        show_json(found)
    else:
        click.echo(f"{found['state'].capitalize()}: {found['reason']}.")
    return exits.OK if found["state"] == "survived" else exits.FAILED


def _began(found: dict[str, Any]) -> str:
    when = f"in {found['window_s']:.0f} s" if found["window_s"] else "now, without a notice"
    return f"Attempt {found['attempt']} loses instance {found['instance']} {when}. Waiting for training to go on."

"""`orch pull`: a job's output, verified, written whole or not at all."""

import os
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.client import Api, job_path
from orchestrator.cli.failures import Failure
from orchestrator.cli.options import api, as_json, show_json
from orchestrator.cli.places import Session
from orchestrator.model import exits


@click.command(short_help="Fetch a job's output.")
@click.argument("job")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace files that differ.")
@as_json
@click.pass_obj
def pull(session: Session, job: str, directory: Path, force: bool, as_json: bool) -> None:
    """Fetch a job's output into a directory. It is committed when the job succeeds.

    \b
    Example:  orch pull resnet50 ./resnet50
    """
    daemon = api(session)
    files = daemon.get(job_path(job, "output"))["files"]
    places = {file["path"]: _place(directory, file["path"]) for file in files}
    wanted = [file for file in files if not _has(places[file["path"]], file)]
    if not force:
        _refuse_to_replace(places, wanted)
    for file in wanted:
        _fetch(daemon, job, file, places[file["path"]])
    if as_json:
        show_json({"directory": str(directory), "files": files})
    else:
        total = sum(file["size_bytes"] for file in files)
        click.echo(f"{len(files)} files, {total} bytes, are in {directory}; {len(wanted)} were fetched.")


def _place(directory: Path, path: str) -> Path:
    """Inside the directory, whatever the daemon says."""
    if path.startswith("/") or ".." in path.split("/"):
        raise Failure(exits.FAILED, f"the output names {path!r}, which leads out of {directory}: nothing was fetched")
    return directory / path


def _has(place: Path, file: dict[str, Any]) -> bool:
    """Whether the very file is there already."""
    return place.is_file() and _digest(place.read_bytes()) == file["blake3"]


def _digest(data: bytes) -> str:
    from blake3 import blake3

    return str(blake3(data).hexdigest())


def _refuse_to_replace(places: dict[str, Path], wanted: list[dict[str, Any]]) -> None:
    differing = [str(places[file["path"]]) for file in wanted if places[file["path"]].exists()]
    if differing:
        raise Failure(exits.REFUSED, f"{', '.join(differing)} exists and differs; --force replaces it")


def _fetch(daemon: Api, job: str, file: dict[str, Any], place: Path) -> None:
    data = daemon.fetch(job_path(job, "output", "file"), path=file["path"])
    if len(data) != file["size_bytes"] or _digest(data) != file["blake3"]:
        raise Failure(exits.FAILED, f"{file['path']} arrived damaged; nothing of it was written")
    draft = place.with_name(f".{place.name}.draft")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as writing:
            writing.write(data)
            writing.flush()
            os.fsync(writing.fileno())
        draft.replace(place)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise Failure(exits.FAILED, f"{place} cannot be written: {error.strerror or error}") from None

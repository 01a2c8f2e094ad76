"""`orch pull`: a job's output, verified, each file written whole or not at all."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from orchestrator.cli.client import Api, job_id, job_path
from orchestrator.cli.failures import Failure
from orchestrator.cli.options import api, as_json, show_json
from orchestrator.cli.places import Session
from orchestrator.cli.table import count, size
from orchestrator.model import exits

File = dict[str, Any]
_PIECE_BYTES = 1024 * 1024


@click.command(short_help="Fetch a job's output.")
@click.argument("job")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace files that differ.")
@as_json
@click.pass_obj
def pull(session: Session, job: str, directory: Path, force: bool, as_json: bool) -> None:
    """Fetch a job's output into a directory. It is committed when the job succeeds.

    Every file is verified. One that is there already is not fetched again.

    \b
    Example:  orch pull resnet50 ./resnet50
    """
    daemon = api(session)
    job = job_id(daemon, job)
    files = daemon.get(job_path(job, "output"))["files"]
    places = {file["path"]: place_of(directory, file["path"]) for file in files}
    wanted = [file for file in files if not _has(places[file["path"]], file)]
    if not force:
        _refuse_to_replace(places, wanted)
    for file in wanted:
        _fetch(daemon, job, file, places[file["path"]])
    if as_json:
        show_json({"directory": str(directory), "files": files, "fetched": [file["path"] for file in wanted]})
    else:
        total = size(sum(file["size_bytes"] for file in files))
        click.echo(f"{count(len(files), 'file')}, {total}, in {directory}; {len(wanted)} fetched, all verified.")


def place_of(directory: Path, path: str) -> Path:
    """Where a file belongs: inside the directory, whatever the daemon or a link says. Raises Failure."""
    place = directory / path
    strange = not path or "\0" in path or path.startswith("/") or {"..", ""} & set(path.split("/"))
    if strange or not place.resolve().is_relative_to(directory.resolve()):
        raise Failure(exits.FAILED, f"the output names {path!r}, which leads out of {directory}: nothing was fetched")
    return place


def _has(place: Path, file: File) -> bool:
    """Whether the very file is there already."""
    if not place.is_file() or place.stat().st_size != file["size_bytes"]:
        return False
    try:
        with place.open("rb") as there:
            return _digest(there) == str(file["blake3"])
    except OSError as error:
        raise Failure(exits.FAILED, f"{place} cannot be read: {error.strerror or error}") from None


def _digest(file: BinaryIO) -> str:
    from blake3 import blake3

    digest = blake3()
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
    return str(digest.hexdigest())


def _refuse_to_replace(places: dict[str, Path], wanted: list[File]) -> None:
    differing = [str(places[file["path"]]) for file in wanted if os.path.lexists(places[file["path"]])]
    if differing:
        verb = "exists and differs" if len(differing) == 1 else "exist and differ"
        raise Failure(exits.REFUSED, f"{', '.join(differing)} {verb}; nothing was fetched. --force replaces")


def _fetch(daemon: Api, job: str, file: File, place: Path) -> None:
    try:
        with _draft_of(place) as draft:
            daemon.download(job_path(job, "output", "file"), draft, path=file["path"])
            _verify(draft, file)
    except OSError as error:
        raise Failure(exits.FAILED, f"{place} cannot be written: {error.strerror or error}") from None


def _verify(draft: BinaryIO, file: File) -> None:
    size_bytes = draft.seek(0, os.SEEK_END)
    draft.seek(0)
    if size_bytes != file["size_bytes"] or _digest(draft) != file["blake3"]:
        raise Failure(exits.FAILED, f"{file['path']} arrived damaged; nothing of it was written")


@contextmanager
def _draft_of(place: Path) -> Iterator[BinaryIO]:
    """A file beside `place` that takes its name once it is whole, and is gone where it is not."""
    place.parent.mkdir(parents=True, exist_ok=True)
    path = place.parent / f".orch-{uuid.uuid4().hex[:12]}.part"
    try:
        with path.open("x+b") as draft:
            yield draft
            draft.flush()
            os.fsync(draft.fileno())
        path.replace(place)
    finally:
        path.unlink(missing_ok=True)

"""What a job left behind: its output, read and verified from the object store."""

from collections.abc import Iterator

from orchestrator.checkpoint import OutputFile, open_output_file, read_output, stage_prefix
from orchestrator.model.jobs import Job
from orchestrator.objectstore import ObjectStore


class NoResult(Exception):
    """There is no output to fetch; the sentence says why."""


def output_files(store: ObjectStore, job: Job) -> list[OutputFile]:
    """The files that were committed at success. Blocking. Raises NoResult, Unavailable."""
    if job.state != "succeeded":
        raise NoResult(f"job {job.id} is {job.state}: its output is committed when it succeeds")
    if job.spec.output_path is None:
        raise NoResult(f"job {job.id} has no [output] path, so nothing was kept")
    return read_output(store, stage_prefix(job.id, "train"))


def output_bytes(store: ObjectStore, job: Job, path: str) -> Iterator[bytes]:
    """One file of them, verified piece by piece. Blocking. Raises NoResult, Unavailable."""
    if path not in {file.path for file in output_files(store, job)}:
        raise NoResult(f"the output of job {job.id} has no file {path!r}")
    return open_output_file(store, stage_prefix(job.id, "train"), path)

"""What the machine does once it is up: fetch the agent where it comes as a bundle, then become it.

Standard library only, and run as a file: nothing of ours need be installed here. The process that
runs this becomes the agent, so it asks first to die with init.

    python boot.py INIT_PID INSTANCE_DIRECTORY
"""

import ctypes
import hashlib
import json
import os
import shutil
import signal
import sys
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_PR_SET_PDEATHSIG = 1
_BLOCK_BYTES = 1024 * 1024


class BootError(Exception):
    """This machine cannot run the agent; the sentence says why and what to do."""


def main(arguments: list[str]) -> int:
    init_pid, directory = int(arguments[0]), Path(arguments[1])
    die_with(init_pid)
    instance = json.loads((directory / "instance.json").read_text())
    try:
        become_agent(instance, directory)
    except (BootError, OSError, tarfile.TarError) as error:
        print(json.dumps({"event": "agent.boot_failed", "reason": str(error)}), file=sys.stderr)
    return 1


def become_agent(instance: dict[str, Any], directory: Path) -> None:
    """Does not return. Raises BootError, OSError, tarfile.TarError."""
    if sys.version_info < (3, 10):  # noqa: UP036 - this file runs on whatever the machine has
        raise BootError(f"{instance['python']} is Python {sys.version.split()[0]}; the agent needs 3.10 or newer")
    command, extra = agent_command(instance, directory)
    os.chdir(directory / "work")
    os.execve(command[0], command, {**os.environ, **extra})


def die_with(parent: int) -> None:
    """Be killed when `parent` dies, also where it died before this was asked."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


def agent_command(instance: dict[str, Any], directory: Path) -> tuple[list[str], dict[str, str]]:
    """The command that is the agent, and what it needs in its environment. Raises BootError."""
    recipe = instance["order"]["recipe"]
    digest = recipe.get("bundle_digest")
    if digest is None:
        return list(instance["agent_command"]), {}
    bundle = fetch_bundle(recipe["object_store_url"], digest, directory)
    # -S: not even this machine's site-packages; a module that the bundle lacks must be missed.
    return [instance["python"], "-S", "-m", "orchestrator.agent"], {"PYTHONPATH": str(bundle)}


def fetch_bundle(object_store_url: str, digest: str, directory: Path) -> Path:
    """The bundle, verified and unpacked, in the instance's directory. Raises BootError.

    `digest` is the SHA-256 of the tar, in hex. An unpacked bundle of that digest is used again.
    """
    unpacked = directory / "bundle" / digest
    if unpacked.is_dir():
        return unpacked
    source = bundle_path(object_store_url, digest)
    draft = directory / "bundle" / f"{digest}.draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    copy = draft.with_suffix(".tar")
    _copy_verified(source, copy, digest)
    with tarfile.open(copy) as tar:
        _unpack(tar, draft)
    copy.unlink()
    draft.rename(unpacked)
    return unpacked


def _unpack(tar: tarfile.TarFile, into: Path) -> None:
    # Older patch releases know no filters; the digest has been verified, so the members are ours.
    if hasattr(tarfile, "data_filter"):
        tar.extraction_filter = tarfile.data_filter
    tar.extractall(into)


def bundle_path(object_store_url: str, digest: str) -> Path:
    """Where the bundle lies. Raises BootError: this machine reaches a file object store only."""
    parts = urlsplit(object_store_url)
    if parts.scheme != "file":
        raise BootError(
            f"the object store {object_store_url} cannot be reached from a local instance: use a file:// one"
        )
    return Path(unquote(parts.path)) / "bundles" / f"{digest}.tar"


def _copy_verified(source: Path, copy: Path, digest: str) -> None:
    found = hashlib.sha256()
    try:
        with source.open("rb") as reading, copy.open("wb") as writing:
            while block := reading.read(_BLOCK_BYTES):
                found.update(block)
                writing.write(block)
    except FileNotFoundError:
        raise BootError(f"there is no agent bundle at {source}: build it with `orch bundle`") from None
    if found.hexdigest() != digest:
        raise BootError(f"the agent bundle {source} has digest {found.hexdigest()}, not {digest}: build it again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The agent's bundle: our code and hash-locked wheels for one Python and processor, as one tar.

`orch bundle` makes it and keeps it in the object store as `bundles/<sha256>.tar`; a machine verifies it by
that digest, unpacks it and runs it. The machine needs Python and nothing else: the wheels are already laid
out as modules. The same index, lock and code give the same tar, byte for byte.
"""

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from orchestrator.objectstore import Unavailable, make_store

ROOMS = ("agent", "checkpoint", "objectstore", "model")
PROCESSORS = ("x86_64", "aarch64")
OLDEST_PYTHON = (3, 10)
PIP_WITHIN_S = 600
# https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/: what stock images can load.
_PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")

_SOURCES = Path(__file__).parent


class CannotBundle(Exception):
    """Why the bundle cannot be made, and what to do, in a sentence."""


def key_of(digest: str) -> str:
    """Where the bundle lies in the object store."""
    return f"bundles/{digest}.tar"


def keep(object_store_url: str, bundle: bytes) -> str:
    """Put the bundle into the object store; its digest. Raises CannotBundle."""
    digest = hashlib.sha256(bundle).hexdigest()
    try:
        make_store(object_store_url).put(key_of(digest), bundle)
    except Unavailable as error:
        raise CannotBundle(f"the object store {object_store_url} does not take the bundle: {error}") from None
    return digest


def verify(bundle: bytes, digest: str) -> None:
    """Raises CannotBundle where this is not the bundle of that digest, or not one of the code that runs here.

    An agent of another version may speak otherwise than its control node understands.
    """
    if hashlib.sha256(bundle).hexdigest() != digest:
        raise CannotBundle(f"{key_of(digest)} is damaged: its content has another digest")
    try:
        with tarfile.open(fileobj=io.BytesIO(bundle)) as tar:
            packed = {name: tar.extractfile(name) for name in tar.getnames() if name.startswith("orchestrator/")}
            theirs = {name: file.read() for name, file in packed.items() if file is not None}
    except tarfile.TarError:
        raise CannotBundle(f"{key_of(digest)} is not a bundle") from None
    if theirs != {f"orchestrator/{path.relative_to(_SOURCES)}": path.read_bytes() for path in _code()}:
        raise CannotBundle(f"{key_of(digest)} is of another version of orch than the one that runs here")


def _code() -> Iterator[Path]:
    """Every file of ours that travels."""
    yield _SOURCES / "__init__.py"
    for room in ROOMS:
        files = (path for path in (_SOURCES / room).rglob("*") if path.is_file())
        yield from (path for path in files if "__pycache__" not in path.parts)


def make_bundle(python: str, processor: str) -> bytes:
    """The tar for machines with this Python ("3.10") and processor ("x86_64"). Raises CannotBundle."""
    _check(python, processor)
    with tempfile.TemporaryDirectory(prefix="orch-bundle-") as directory:
        tree = Path(directory)
        _install_wheels(tree, python, processor)
        shutil.rmtree(tree / "bin", ignore_errors=True)  # scripts that name this machine's Python
        _copy_code(tree / "orchestrator")
        return _tar(tree)


def _check(python: str, processor: str) -> None:
    parts = python.split(".")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise CannotBundle(f"--python {python}: give major and minor version, such as 3.10")
    if (int(parts[0]), int(parts[1])) < OLDEST_PYTHON:
        raise CannotBundle(f"--python {python}: the agent needs Python 3.10 or newer")
    if processor not in PROCESSORS:
        raise CannotBundle(f"--processor {processor}: choose {' or '.join(PROCESSORS)}")


def _install_wheels(into: Path, python: str, processor: str) -> None:
    """Every locked wheel, by hash, from the package index that pip is configured for."""
    platforms = [f"--platform={tag}_{processor}" for tag in _PLATFORMS]
    lock = _SOURCES / "agent" / "requirements.lock"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    which = ["--no-deps", "--only-binary=:all:", "--require-hashes", f"--requirement={lock}"]
    where = [f"--target={into}", "--no-compile", f"--python-version={python}", "--implementation=cp", *platforms]
    try:
        ended = subprocess.run([*command, *which, *where], capture_output=True, text=True, timeout=PIP_WITHIN_S)
    except subprocess.TimeoutExpired:
        raise CannotBundle(f"pip has not ended after {PIP_WITHIN_S} s: is the package index reachable?") from None
    if ended.returncode != 0:
        last = next((line for line in reversed(ended.stderr.splitlines()) if line.strip()), "no word")
        raise CannotBundle(f"pip cannot fetch the agent's wheels for Python {python} on {processor}: {last}")


def _copy_code(package: Path) -> None:
    for path in _code():
        copy = package / path.relative_to(_SOURCES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)


def _tar(tree: Path) -> bytes:
    """The tree with all that could differ from day to day, or from user to user, taken out."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(tree.rglob("*")):
            tar.add(path, arcname=str(path.relative_to(tree)), recursive=False, filter=_anonymous)
    return buffer.getvalue()


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member

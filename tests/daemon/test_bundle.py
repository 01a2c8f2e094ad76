"""A machine that has only Python: it is given the bundle, and trains with nothing installed."""

import io
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.bundle import keep, make_bundle
from orchestrator.model import exits
from tests.daemon.scenes import Orchd, undisturbed

PROCESSOR = "x86_64"
STEPS = 80


def _found(python: str) -> str | None:
    """An interpreter of this version outside of any virtual environment; a pyenv shim that leads nowhere is none."""
    seen = [sys.base_prefix + f"/bin/python{python}", shutil.which(f"python{python}")]
    seen += [str(path) for path in Path.home().glob(f".pyenv/versions/{python}.*/bin/python{python}")]
    return next((path for path in seen if path and _is(path, python)), None)


def _is(path: str, python: str) -> bool:
    ask = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(ask, capture_output=True, text=True, timeout=20).stdout.strip() == python
    except OSError:
        return False


RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("python", [RUNNING, "3.10"])
def test_a_job_trains_and_moves_on_machines_that_have_the_bundle_alone(orchd: Orchd, python: str) -> None:
    bare = _found(python)
    if bare is None:
        pytest.skip(f"no Python {python} on this machine")
    store = f"file://{orchd.home}/objects"
    digest = keep(store, make_bundle(python, PROCESSOR))
    orchd.configure(
        top=f'object_store = "{store}"\nbundle = "{digest}"',
        local=f'python = "{bare}"',
        script=[{"launch": 1, "after_s": 9}],
    )
    orchd.start()
    job = orchd.submit(STEPS, 0.1, python=bare)
    assert orchd.wait_until(job, "succeeded", "failed", "cancelled") == "succeeded"
    assert len(orchd.starts()) == 2
    assert orchd.weights(job) == undisturbed(STEPS)


def test_the_bundle_holds_the_rooms_that_travel_and_no_trace_of_who_made_it(tmp_path: Path) -> None:
    (tmp_path / "bundle.tar").write_bytes(make_bundle(RUNNING, PROCESSOR))
    with tarfile.open(tmp_path / "bundle.tar") as tar:
        members = tar.getmembers()
    rooms = {member.name.split("/")[1] for member in members if member.name.startswith("orchestrator/")}
    assert rooms == {"__init__.py", "agent", "checkpoint", "model", "objectstore"}
    assert {(member.uid, member.gid, member.uname, member.mtime) for member in members} == {(0, 0, "", 0)}


def _damaged(store: str, objects: Path) -> str:
    digest = keep(store, b"a bundle, once")
    (objects / "bundles" / f"{digest}.tar").write_bytes(b"something else")
    return digest


def _of_another_version(store: str, _objects: Path) -> str:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as writing:
        writing.addfile(tarfile.TarInfo("orchestrator/__init__.py"))
    return keep(store, tar.getvalue())


def _no_bundle(store: str, _objects: Path) -> str:
    return keep(store, b"something else altogether")


def _absent(_store: str, _objects: Path) -> str:
    return "0" * 64


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        (_damaged, "is damaged"),
        (_of_another_version, "is of another version"),
        (_no_bundle, "is not a bundle"),
        (_absent, "is not in file:///"),
    ],
)
def test_the_daemon_does_not_start_with_a_bundle_that_machines_cannot_run(
    orchd: Orchd, kept: Callable[[str, Path], str], says: str
) -> None:
    objects = orchd.home / "objects"
    store = f"file://{objects}"
    orchd.configure(top=f'object_store = "{store}"\nbundle = "{kept(store, objects)}"')
    assert orchd.spawn().wait(30) == exits.FAILED
    assert says in orchd.log.read_text()
    assert "`orch bundle` makes one" in orchd.log.read_text()

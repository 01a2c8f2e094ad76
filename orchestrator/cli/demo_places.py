"""Where demos live: one directory each, so that any number of them may be up."""

import fcntl
import json
import shlex
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli.places import user_state_dir

_LONGEST_SOCKET_PATH = 100  # the kernel takes 107 bytes


@dataclass(frozen=True)
class Demo:
    """`home` is the demo's own directory; `state` is its daemon's, elsewhere where `home` is too long."""

    home: Path
    state: Path

    @property
    def socket(self) -> Path:
        return self.state / "orchd.sock"

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    @property
    def log(self) -> Path:
        return self.home / "orchd.log"

    @property
    def cloud(self) -> Path:
        """The directory of the local provider."""
        return self.state / "local"

    @property
    def undisturbed(self) -> Path:
        """Where the comparison run works."""
        return self.home / "undisturbed"

    def is_watched(self) -> bool:
        """Whether the process that shows the demo still lives."""
        try:
            with (self.home / "watched").open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def demos_dir(env: Mapping[str, str]) -> Path:
    return user_state_dir(env) / "demos"


@contextmanager
def new_demo(env: Mapping[str, str]) -> Iterator[Demo]:
    """A fresh demo's directories, watched for as long as the caller stays. Raises OSError."""
    home = demos_dir(env) / uuid.uuid4().hex[:6]
    home.mkdir(parents=True, mode=0o700)
    demo = Demo(home, _state_of(home))
    with (home / "watched").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (home / "demo.json").write_text(json.dumps({"state": str(demo.state)}))
        yield demo


def _state_of(home: Path) -> Path:
    if len(str(home / "state/orchd.sock").encode()) <= _LONGEST_SOCKET_PATH:
        return home / "state"
    return Path(tempfile.mkdtemp(prefix="orch-demo-"))


def all_demos(env: Mapping[str, str]) -> list[Demo]:
    """Every demo that was not ended, oldest first."""
    found = demos_dir(env).glob("*/demo.json")
    dated = sorted((path.stat().st_mtime, path) for path in found)
    return [Demo(path.parent, Path(json.loads(path.read_text())["state"])) for _, path in dated]


def remove(demo: Demo) -> None:
    """Forget the demo; its record goes last."""
    shutil.rmtree(demo.state, ignore_errors=True)
    shutil.rmtree(demo.home, ignore_errors=True)


def examples_dir() -> Path | None:
    """Where the example jobs are: beside our sources, or inside the installed package."""
    package = Path(__file__).parents[1]
    found = [place for place in (package / "examples", package.parent / "examples") if place.is_dir()]
    return found[0] if found else None


def command(program: tuple[str, ...], socket: Path, *words: str) -> str:
    """A line for the shell that speaks to the demo's daemon."""
    return shlex.join((*program, "--socket", str(socket), *words))

"""Where this agent runs: its recipe, its disk, its metadata service, who it is."""

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.model.launch import BootRecipe

# Of the agent's own variables the commands it runs must not see these.
_OURS = frozenset({"PYTHONPATH", "ORCH_RECIPE", "ORCH_WORK", "ORCH_METADATA_URL"})


@dataclass(frozen=True)
class Place:
    """`owner` is random and lives on this disk; `starts` counts the agent's lives on it, from 1."""

    recipe: BootRecipe
    work: Path
    metadata_url: str
    instance: str
    owner: str
    starts: int
    environment: Mapping[str, str]

    def attempt(self, number: int) -> Path:
        """The attempt's own directory."""
        return self.work / f"attempt-{number}"

    @property
    def cache(self) -> Path:
        return self.work / "cache"

    @property
    def dataset(self) -> Path:
        return self.work / "data"


def find_place(environ: Mapping[str, str]) -> Place:
    """From the variables that the machine's init sets. Raises KeyError, OSError, ValueError."""
    work = Path(environ["ORCH_WORK"])
    recipe = BootRecipe.model_validate_json(Path(environ["ORCH_RECIPE"]).read_bytes())
    return Place(
        recipe=recipe,
        work=work,
        metadata_url=environ["ORCH_METADATA_URL"],
        instance=environ["ORCH_INSTANCE"],
        owner=_owner(work / "owner"),
        starts=_count_start(work / "starts"),
        environment={name: value for name, value in environ.items() if name not in _OURS},
    )


def _owner(path: Path) -> str:
    """Where the disk is full, a new one each time: such an agent is fenced by its former self's fence."""
    if path.exists():
        return path.read_text()
    owner = secrets.token_hex(16)
    with suppress(OSError):
        write_atomically(path, owner)
    return owner


def _count_start(path: Path) -> int:
    starts = 1 + (int(path.read_text() or "0") if path.exists() else 0)
    with suppress(OSError):
        write_atomically(path, str(starts))
    return starts


def write_atomically(path: Path, text: str) -> None:
    """The file is there whole or not at all, also for who reads it at this moment."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text)
    draft.replace(path)


def write_json(path: Path, value: object) -> None:
    write_atomically(path, json.dumps(value))

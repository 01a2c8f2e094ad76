"""What in a directory is a checkpoint: what was renamed into place there with a step in its name."""

import re
from dataclasses import dataclass
from pathlib import Path

_STEP = re.compile(r"(\d+)(?!.*\d)")
_UNFINISHED = re.compile(r"^(\.|tmp|temp)|(\.tmp|\.part|\.partial|\.incomplete|~)$|\.tmp[-._]", re.IGNORECASE)


@dataclass(frozen=True)
class Candidate:
    """All that bears one step. Usually one path; a trainer may write several."""

    step: int
    paths: tuple[Path, ...]


def step_of(name: str) -> int | None:
    """The last number in a name without its suffix; None where it has none or is not finished.

    >>> step_of("model-00000120.npz"), step_of("epoch=3-step=500.ckpt"), step_of("step_12.tmp")
    (120, 500, None)
    """
    if _UNFINISHED.search(name):
        return None
    stem, _, suffix = name.rpartition(".")
    found = _STEP.search(stem if stem and not suffix.isdigit() else name)
    return int(found.group(1)) if found else None


def candidates(directory: Path) -> list[Candidate]:
    """By step, the newest last. A directory that does not exist holds none."""
    by_step: dict[int, list[Path]] = {}
    for path in directory.iterdir() if directory.is_dir() else ():
        step = step_of(path.name)
        if step is not None:
            by_step.setdefault(step, []).append(path)
    return [Candidate(step, tuple(sorted(by_step[step]))) for step in sorted(by_step)]

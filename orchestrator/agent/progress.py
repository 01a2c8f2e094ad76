"""What a trainer says of its progress, in a file that may hold anything at any moment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.model.wire import MOST_STEPS

MOST_BYTES = 64 * 1024
MOST_METRICS = 32
_BEYOND = 1e300  # what JSON cannot carry on, such as infinity, lies outside


@dataclass(frozen=True)
class Progress:
    """`step` and `total_steps` are None where nothing sensible is said."""

    step: int | None = None
    total_steps: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


def read_progress(path: Path) -> Progress:
    """The numbers of a JSON object; what is absent, torn, infinite or something else is left out."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return Progress()
    if not isinstance(found, Mapping):
        return Progress()
    numbers = {name: value for name, value in found.items() if _is_number(value)}
    step, total = _step(numbers.pop("step", None)), _step(numbers.pop("total_steps", None))
    return Progress(step, total, dict(list(numbers.items())[:MOST_METRICS]))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_BEYOND < value < _BEYOND


def _step(value: float | None) -> int | None:
    return int(value) if value is not None and 0 <= value <= MOST_STEPS else None

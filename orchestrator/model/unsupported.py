"""Keys that are reserved for what is not built yet: refused in words, never ignored."""

from collections.abc import Mapping
from typing import Any

from orchestrator.model.faults import Fault, shown
from orchestrator.model.tomlfile import Lines, line_of

NOT_YET = "not supported yet"

# Whole keys. What stands here is refused whatever its value.
RESERVED = (
    "code",
    "data",
    "priority",
    "after",
    "matrix",
    "ports",
    "registry",
    "init_from",
    "precision",
    "limits.deadline",
    "limits.budget",
    "limits.max_runtime",
    "checkpoint.best",
    "checkpoint.every_nth",
    "checkpoint.enabled",
    *(
        f"{stage}.{key}"
        for stage in ("train", "preprocess")
        for key in ("image", "secrets", "registry", "ports", "precision", "init_from", "resources.any_of")
    ),
)

# Keys that have one value today.
_ONLY: Mapping[str, object] = {
    "train.nodes": 1,
    "train.launcher": "none",
    "preprocess.start_training": "all",
}
_LATER: Mapping[str, Any] = {
    "train.nodes": lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 1,
    "train.launcher": lambda value: value == "torchrun",
    "preprocess.start_training": lambda value: isinstance(value, int) and not isinstance(value, bool),
}


def unsupported(table: Mapping[str, Any], lines: Lines) -> tuple[list[Fault], dict[str, Any]]:
    """A fault for each reserved key that is used, and the table without them."""
    faults, rest = [], dict(table)
    for path in RESERVED:
        if _get(rest, path) is not None:
            faults.append(Fault(path, line_of(lines, path), NOT_YET))
            rest = _without(rest, path.split("."))
    for path, only in _ONLY.items():
        value = _get(rest, path)
        if value is not None and _LATER[path](value):
            faults.append(Fault(path, line_of(lines, path), f"{shown(value)} is {NOT_YET}; only {shown(only)} is"))
            rest = _without(rest, path.split("."))
    return faults, rest


def _get(table: Any, path: str) -> Any:
    for part in path.split("."):
        if not isinstance(table, Mapping) or part not in table:
            return None
        table = table[part]
    return table


def _without(table: Mapping[str, Any], parts: list[str]) -> dict[str, Any]:
    first, rest = parts[0], parts[1:]
    if not rest:
        return {key: value for key, value in table.items() if key != first}
    return {key: _without(value, rest) if key == first else value for key, value in table.items()}

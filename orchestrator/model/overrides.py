"""`--set key=value` and a user's defaults: changes to a job file's text that keep its lines in place."""

from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
import tomllib
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from orchestrator.model.faults import BadFile, Fault


def apply_overrides(text: str, settings: Sequence[str]) -> str:
    """The text with `train.env.X=1` and the like set. Raises BadFile.

    A value is read as TOML, and as a plain string where it is none, or where the key takes only strings.
    """
    document = _parse(text)
    for setting in settings:
        path, sign, value = setting.partition("=")
        if not sign or not all(path.split(".")):
            raise BadFile([Fault("", None, f"--set {setting}: write KEY=VALUE, such as train.env.SEED=1")])
        parts = path.strip().split(".")
        _set(document, parts, _value(parts, value.strip()), setting)
    return tomlkit.dumps(document)


def merge_defaults(text: str, defaults: str) -> str:
    """The text with what the defaults have and it has not. Raises BadFile."""
    document, given = _parse(text), _parse(defaults).unwrap()
    _fill(document, given)
    return tomlkit.dumps(document)


def _parse(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, ValueError) as error:
        raise BadFile([Fault("", None, f"this is not TOML: {error}")]) from None


def _value(parts: Sequence[str], text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return text if _takes_strings(parts) and not isinstance(value, str) else value


def _takes_strings(parts: Sequence[str]) -> bool:
    """Variables and labels: `train.env.SEED=2` is what a person types."""
    return "env" in parts[:-1] or parts[0] == "labels"


def _set(table: Any, parts: list[str], value: Any, setting: str) -> None:
    for part in parts[:-1]:
        if part not in table:
            table[part] = tomlkit.inline_table() if isinstance(table, InlineTable) else tomlkit.table()
        table = table[part]
        if not isinstance(table, Mapping):
            raise BadFile([Fault(".".join(parts), None, f"--set {setting}: {part} is no table")])
    table[parts[-1]] = value


def _fill(table: Any, given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if key not in table:
            table[key] = value
        elif isinstance(value, Mapping) and isinstance(table[key], (Table, InlineTable)):
            _fill(table[key], value)

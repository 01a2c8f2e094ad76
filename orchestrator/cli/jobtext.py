"""A job file as it is handed in: with the user's defaults and `--set`; and whose each fault of it is."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.cli.failures import BadJobFile, Failure, Faults, fault_line
from orchestrator.cli.places import user_config_dir
from orchestrator.model import exits


@dataclass(frozen=True)
class JobText:
    """`toml` is what is handed in; the rest says what it was made of: `written` and `given` are TOML."""

    toml: str
    file: Path
    written: str
    settings: tuple[str, ...]
    defaults: Path
    given: str

    @contextmanager
    def naming_faults(self) -> Iterator[None]:
        """What the daemon finds wrong is told with the place that a person can mend."""
        try:
            yield
        except BadJobFile as bad:
            raise Faults(self._line(fault) for fault in bad.found) from None

    def _line(self, fault: Mapping[str, Any]) -> str:
        path = fault.get("path") or ""
        setting = next((one for one in self.settings if _key(one) == path), None)
        if setting is not None:
            return f"--set {setting}: {fault['message']}"
        if _has(self.given, path) and not _has(self.written, path):
            return fault_line(str(self.defaults), {**fault, "line": None})
        return fault_line(str(self.file), fault)


def _key(setting: str) -> str:
    return setting.partition("=")[0].strip()


def _has(text: str, path: str) -> bool:
    """Whether this TOML has the key. What is no TOML has none."""
    import tomllib

    try:
        table: Any = tomllib.loads(text) if path else {}
    except tomllib.TOMLDecodeError:
        return False
    for part in path.split("."):
        if not isinstance(table, dict) or part not in table:
            return False
        table = table[part]
    return True


def read_job_text(file: Path, settings: tuple[str, ...]) -> JobText:
    """The file with the user's defaults and `--set`. Raises Failure."""
    written = _read(file)
    defaults = user_config_dir(os.environ) / "defaults.toml"
    given = _read(defaults) if defaults.exists() else ""
    merged = _merged(file, written, defaults, given) if given else written
    return JobText(_set(file, merged, settings), file, written, settings, defaults, given)


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Failure(exits.BAD_FILE, f"{file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Faults([f"{file}:{line}: the file is not UTF-8"]) from None


def _merged(file: Path, written: str, defaults: Path, given: str) -> str:
    from orchestrator.model.overrides import merge_defaults

    with _faults_of(str(defaults)):
        _check_syntax(given)
    with _faults_of(str(file)):
        _check_syntax(written)
        return merge_defaults(written, given)


def _set(file: Path, text: str, settings: tuple[str, ...]) -> str:
    if not settings:
        return text
    from orchestrator.model.overrides import apply_overrides

    with _faults_of(str(file)):
        _check_syntax(text)
    with _faults_of(""):
        return apply_overrides(text, settings)


def _check_syntax(text: str) -> None:
    from orchestrator.model.tomlfile import parse

    parse(text)


@contextmanager
def _faults_of(name: str) -> Iterator[None]:
    from orchestrator.model.faults import BadFile

    try:
        yield
    except BadFile as bad:
        raise Faults(fault.at(name) if name else fault.message for fault in bad.faults) from None

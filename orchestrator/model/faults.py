"""What is wrong with a file that a person wrote: all of it at once, each with its place."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Fault:
    """`path` is the key path, `line` counts from 1; None where the file has no line for it."""

    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line is not None else ""
        return f"{place}{self.path}: {self.message}" if self.path else f"{place}{self.message}"

    def at(self, file: str) -> str:
        """`config.toml:2: caps.max_instanses: unknown key`, without what is not known."""
        place = f"{file}:{self.line}" if self.line else file
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


class BadFile(Exception):
    """The file cannot be used. `faults` has everything that is wrong with it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: (fault.line or 0, fault.path)))
        super().__init__("; ".join(str(fault) for fault in self.faults))


def shown(value: object) -> str:
    """A value as a TOML file has it, in one short line."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def nearest(found: str, allowed: Iterable[str]) -> str:
    """A hint at the right spelling, or the list of what is allowed."""
    from difflib import get_close_matches  # here: every start of `orch` would pay for it

    known = sorted(allowed)
    near = get_close_matches(found, known, n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else f"allowed: {', '.join(known)}"

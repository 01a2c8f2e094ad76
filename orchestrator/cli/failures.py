"""How a command ends when it cannot do what was asked: an exit code, and lines for people."""

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.model import exits
from orchestrator.model.faults import Fault


class ReaderLeft(Exception):
    """Whoever read our output stopped reading."""


class Failure(Exception):
    """`code` is the exit code; `lines` go to stderr, after the name of the program."""

    prefix = "orch: "

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.code = code
        self.lines = lines


class Faults(Failure):
    """What is wrong with a file, one fault a line, each naming its file and line."""

    prefix = ""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__(exits.BAD_FILE, *lines)


class BadJobFile(Faults):
    """What the daemon found wrong with a job file; `found` has each fault's path, line and message."""

    def __init__(self, found: Iterable[Mapping[str, Any]]) -> None:
        self.found = tuple(found)
        super().__init__(fault_line("job file", fault) for fault in self.found)


def fault_line(file: str, fault: Mapping[str, Any]) -> str:
    """A fault that came as JSON, for a person."""
    return Fault(fault.get("path") or "", fault.get("line"), fault["message"]).at(file)


class Farewell(Failure):
    """A person pressed Ctrl-C. The lines say what goes on without them."""

    prefix = ""

    def __init__(self, *lines: str) -> None:
        super().__init__(exits.INTERRUPTED, *lines)


class Away(Failure):
    """The daemon gave no whole answer. It may be back in a moment."""

    def __init__(self, *lines: str) -> None:
        super().__init__(exits.NO_DAEMON, *lines)


class NotRunning(Away):
    """Nothing listens on the socket: the request was never sent."""


class AnswerLost(Away):
    """The request went out and no answer came back: it may have had its effect."""


class TooSlow(AnswerLost):
    """No answer within the time that the call had."""


class Answered(Failure):
    """The daemon said no, in words."""


class NotNow(Answered):
    """The daemon cannot at the moment, and asks to be asked again."""

"""How a command ends when it cannot do what was asked: an exit code, and lines for people."""

from collections.abc import Iterable

from orchestrator.model import exits


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


class Answered(Failure):
    """The daemon said no, in words."""

"""Two ways to show the demo: a picture that changes, for a terminal; lines, for everything else."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, TextIO

from orchestrator.cli.demo_frame import Frame, figures, progress

_LINE_EVERY_S = 5.0

_COLOURS = {
    "succeeded": "green",
    "running": "cyan",
    "starting": "cyan",
    "under notice": "yellow",
    "reclaimed": "yellow",
    "lost": "red",
    "failed": "red",
    "standby": "magenta",
}


class View(AbstractContextManager["View"], Protocol):
    """Shows a demo while it is entered."""

    def tell(self, sentence: str) -> None:
        """Something happened."""

    def show(self, frame: Frame) -> None:
        """How things stand now."""


class Lines:
    """Sentences as they come, and how things stand every few seconds."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._began = self._last = time.monotonic()

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        self._out.flush()

    def tell(self, sentence: str) -> None:
        print(sentence, file=self._out, flush=True)

    def show(self, frame: Frame) -> None:
        now = time.monotonic()
        if now - self._last < _LINE_EVERY_S:
            return
        self._last = now
        self.tell(f"{now - self._began:6.1f} s  [{progress(frame)}]")


class Picture:
    """Sentences scroll by above a table of attempts and a progress bar."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(highlight=False)
        self._live = Live(console=self._console, refresh_per_second=8, transient=False)

    def __enter__(self) -> "Picture":
        self._live.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def tell(self, sentence: str) -> None:
        from rich.text import Text

        self._console.print(Text(sentence))

    def show(self, frame: Frame) -> None:
        self._live.update(_drawn(frame))


def _drawn(frame: Frame) -> Any:
    from rich.console import Group
    from rich.text import Text

    return Group(Text(), _table(frame), Text(), *_bar(frame), Text())


def _table(frame: Frame) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    stages = [row.stage for row in frame.rows]
    for number, row in enumerate(frame.rows):
        stage = "" if row.stage in stages[:number] else row.stage
        table.add_row(
            Text(stage, style="bold"),
            row.name,
            Text(row.state, style=_COLOURS.get(row.state, "")),
            Text(row.note, style="dim", overflow="ellipsis", no_wrap=True),
        )
    return table


def _bar(frame: Frame) -> Sequence[Any]:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(padding=(0, 2))
    total = frame.total_steps or 1
    line.add_row(ProgressBar(total=total, completed=frame.step, width=44), Text(_steps(frame)))
    facts = [figures(frame.metrics), f"${frame.cost_usd:.4f} so far"]
    return [line, Text("  ".join(fact for fact in facts if fact))]


def _steps(frame: Frame) -> str:
    if frame.total_steps is None:
        return "not training yet"
    saved = "" if frame.saved is None else f", {frame.saved} safe"
    return f"step {frame.step} of {frame.total_steps}{saved}"

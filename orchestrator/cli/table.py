"""Tables and times for people, without a library: aligned, and narrow enough for their terminal."""

import os
import sys
from collections.abc import Sequence
from datetime import datetime, timezone

_GAP = "  "
_LEAST = 8  # columns that a shortened cell keeps


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], shorten: Sequence[str] = ()) -> str:
    """Columns as wide as what is in them.

    On a terminal that is too narrow the columns named by `shorten` give way, the first one first.
    What is piped is never shortened.
    """
    return fitted(heads, rows, shorten, terminal_width())


def fitted(heads: Sequence[str], rows: Sequence[Sequence[object]], shorten: Sequence[str], width: int | None) -> str:
    """The same, for a terminal of `width` columns; None: as wide as it likes."""
    shown = [list(heads), *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in shown) for at in range(len(heads))]
    if width is not None:
        widths = _narrowed(widths, [heads.index(head) for head in shorten], width)
    return "\n".join(_line(row, widths) for row in shown)


def _narrowed(widths: Sequence[int], shorten: Sequence[int], width: int) -> list[int]:
    narrow = list(widths)
    for at in shorten:
        excess = sum(narrow) + len(_GAP) * (len(narrow) - 1) - width
        if excess > 0:
            narrow[at] = max(min(_LEAST, narrow[at]), narrow[at] - excess)
    return narrow


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [shortened(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True)]
    return _GAP.join(cells).rstrip()


def shortened(text: str, width: int) -> str:
    """At most `width` characters: the middle gives way, because both ends tell things apart."""
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def _cell(value: object) -> str:
    return "-" if value is None or value == "" else str(value)


def terminal_width() -> int | None:
    """Columns of the terminal that is written to; None where it is none."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


# ---------------------------------------------------------------- times, money, steps


def age(moment: str | None, until: str | None = None) -> str:
    """How long ago, or how long from one moment to another: `42s`, `3m10s`, `5h02m`, `3d04h`."""
    if moment is None:
        return "-"
    end = datetime.fromisoformat(until) if until else datetime.now(timezone.utc)
    return span((end - datetime.fromisoformat(moment)).total_seconds())


def span(seconds: float) -> str:
    """A duration in its two largest units."""
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 60:
        return f"{whole}s"
    if minutes < 60:
        return f"{minutes}m{whole % 60:02d}s"
    return f"{hours}h{minutes % 60:02d}m" if hours < 24 else f"{days}d{hours % 24:02d}h"


def usd(amount: str | None) -> str:
    """Money as people read it."""
    return "-" if amount is None else f"{float(amount):.4f}"


def clock(moment: str) -> str:
    """The time of day in UTC."""
    return _utc(moment).strftime("%H:%M:%S")


def day(moment: str) -> str:
    """The day in UTC."""
    return _utc(moment).strftime("%Y-%m-%d")


def _utc(moment: str) -> datetime:
    return datetime.fromisoformat(moment).astimezone(timezone.utc)


def steps(step: int | None, total: int | None) -> str:
    """`300/900`, or what is known of it."""
    if step is None:
        return "-"
    return str(step) if total is None else f"{step}/{total}"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size(size_bytes: int) -> str:
    """`812 B`, `3.2 MiB`."""
    amount, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{size_bytes} B" if unit == "B" else f"{amount:.1f} {unit}"

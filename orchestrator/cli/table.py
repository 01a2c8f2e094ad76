"""Tables and times for people, without a library: aligned, and narrow enough for 80 columns."""

from collections.abc import Sequence
from datetime import datetime, timezone


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as what is in them; the last one is as long as it is."""
    shown = [list(heads), *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in shown) for at in range(len(heads))]
    return "\n".join(_line(row, widths) for row in shown)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
    return "  ".join([*cells, row[-1]]).rstrip()


def _cell(value: object) -> str:
    return "-" if value is None or value == "" else str(value)


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
    return datetime.fromisoformat(moment).astimezone(timezone.utc).strftime("%H:%M:%S")


def steps(step: int | None, total: int | None) -> str:
    if step is None:
        return "-"
    return str(step) if total is None else f"{step}/{total}"

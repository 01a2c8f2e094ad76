"""Quantities with units, as people write them: durations, sizes, prices."""

import re
from decimal import Decimal, InvalidOperation

from orchestrator.model.faults import shown

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*USD\s*/\s*h(?:our)?\s*")
_LONGEST = 15


def seconds(text: str) -> float:
    """`90s`, `30m`, `20h`, `2d`, or several at once: `1h30m`. Raises ValueError.

    >>> seconds("1h30m")
    5400.0
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text)
    whole = re.fullmatch(r"\s*(?:\d+(?:\.\d+)?\s*[a-z]+\s*)+", text)
    if len(text) > _LONGEST or not whole or any(unit not in _SECONDS for _, unit in parts):
        raise ValueError(f'{shown(text)} is no duration; write "90s", "30m", "20h" or "1h30m"')
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def size_bytes(text: str) -> int:
    """`24GiB`, `500 MB`. Raises ValueError.

    >>> size_bytes("1.5 KiB")
    1536
    """
    found = _QUANTITY.fullmatch(text)
    if len(text) > _LONGEST or not found or found.group(2) not in _BYTES:
        raise ValueError(f'{shown(text)} is no size; write "24GiB", "500MB" ({", ".join(_BYTES)})')
    return int(Decimal(found.group(1)) * _BYTES[found.group(2)])


def usd_per_hour(text: str) -> Decimal:
    """`2.50 USD/h`. Raises ValueError.

    >>> usd_per_hour("2.50 USD/h")
    Decimal('2.50')
    """
    found = _PRICE.fullmatch(text)
    if len(text) > 2 * _LONGEST or not found:
        raise ValueError(f'{shown(text)} is no price; write "2.50 USD/h"')
    try:
        price = Decimal(found.group(1))
    except InvalidOperation:
        raise ValueError(f"{shown(text)} is no price") from None
    if price <= 0:
        raise ValueError("a price must be above 0")
    return price

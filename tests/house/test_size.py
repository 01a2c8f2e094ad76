"""How the code should feel, held in numbers: short functions, short files."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[2]
MOST_LINES_A_FILE = 500
MEDIAN_LINES, P99_LINES = 8, 45

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _sources() -> Iterator[Path]:
    for room in ("orchestrator", "providers", "examples", "benchmarks", "tests"):
        yield from (HOUSE / room).rglob("*.py")


def _functions() -> Iterator[tuple[str, int]]:
    """Every function of ours with its length. A migration is a list of tables: data, and left out."""
    for source in _sources():
        if "migrations" in source.parts:
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, Function):
                yield f"{source.relative_to(HOUSE)}:{node.lineno} {node.name}", _lines(node)


def _lines(function: Function) -> int:
    """Lines from `def` to the end, docstring left out."""
    whole = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    told = ast.get_docstring(function, clean=False) is not None
    return whole - ((first.end_lineno or first.lineno) - first.lineno + 1 if told else 0)


def _length(source: Path) -> int:
    return len(source.read_text().splitlines())


def test_functions_are_short() -> None:
    found = sorted(_functions(), key=lambda named: named[1])
    lengths = [lines for _, lines in found]
    assert statistics.median(lengths) <= MEDIAN_LINES
    assert statistics.quantiles(lengths, n=100)[98] <= P99_LINES, found[-5:]


def test_files_are_short() -> None:
    too_long = {str(path): lines for path in _sources() if (lines := _length(path)) > MOST_LINES_A_FILE}
    assert not too_long


def test_a_docstring_does_not_count() -> None:
    told = ast.parse('def f():\n    """One.\n\n    Two."""\n    return 1\n').body[0]
    assert isinstance(told, Function)
    assert _lines(told) == 2

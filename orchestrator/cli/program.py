"""How this very program is called, so that a command that is printed works as printed."""

import shutil
import sys
from pathlib import Path


def program(argv0: str, cwd: Path) -> tuple[str, ...]:
    """How to call `orch` so that it works as printed, from here."""
    path = Path(argv0)
    if path.name != "orch":
        return (sys.executable, "-m", "orchestrator.cli")
    on_path = shutil.which("orch")
    if on_path and path.exists() and path.samefile(on_path):
        return ("orch",)
    return (shortest(path.absolute(), cwd),)


def shortest(path: Path, cwd: Path) -> str:
    """The path as a person here would type it."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)

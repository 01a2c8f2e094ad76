"""Our own faults, written down: a person gets one line, whoever mends it the traceback."""

import tempfile
import traceback
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from orchestrator.cli.places import user_state_dir


def write_down(bug: BaseException, env: Mapping[str, str]) -> Path:
    """Append the traceback to this user's log of our faults; the path that took it.

    Where the user's state directory cannot be written, a fresh temporary file takes it.
    """
    text = f"{datetime.now(timezone.utc).isoformat(timespec='seconds')}\n{_traceback(bug)}\n"
    try:
        return _append(user_state_dir(env) / "cli-errors.log", text)
    except OSError:
        return _append(Path(tempfile.mkdtemp(prefix="orch-")) / "cli-errors.log", text)


def _append(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
    return path


def _traceback(bug: BaseException) -> str:
    return "".join(traceback.format_exception(bug))

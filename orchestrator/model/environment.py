"""The one rule for `env` values: `$NAME` and `${NAME}` are replaced, `$$` is a dollar.

What a name stands for is what the command would find without the job's own `env`: the instance's
variables and orch's. So `PATH = "/opt/x:$PATH"` puts a directory in front, and no value depends on the
order of the table. A name that stands for nothing is replaced by nothing.
"""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def resolve_environment(env: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """All variables of a command: those it would find, and the job's own over them."""
    return {**found, **{name: _expand(value, found) for name, value in env.items()}}


def explain_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The job's own variables as a person may check them before anything runs."""
    return {name: _REFERENCE.sub(_described, value) for name, value in env.items()}


def _expand(value: str, found: Mapping[str, str]) -> str:
    def put(match: "re.Match[str]") -> str:
        name = _named(match)
        return "$" if name is None else found.get(name, "")

    return _REFERENCE.sub(put, value)


def _described(match: "re.Match[str]") -> str:
    name = _named(match)
    return "$" if name is None else f"<the instance's {name}>"


def _named(match: "re.Match[str]") -> str | None:
    """The name that is referred to; None for `$$`."""
    name = match.group(1) or match.group(2)
    return None if name is None else str(name)

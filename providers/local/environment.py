"""What an instance finds in its environment: of its host's only what says where and who one is."""

from collections.abc import Mapping
from pathlib import Path

_INHERITED = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
_PATH = "/usr/local/bin:/usr/bin:/bin"


def instance_environment(host: Mapping[str, str], python: Path) -> dict[str, str]:
    """The variables of an instance whose interpreter is `python`.

    Its directory comes first in PATH, so that a command's `python` is the one that runs the agent.
    """
    inherited = {name: host[name] for name in _INHERITED if name in host}
    return {**inherited, "PATH": f"{python.parent}:{host.get('PATH', _PATH)}"}

"""Where this person's orch has its files: the socket, the state, the config, the defaults."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Session:
    """One invocation of `orch`: which daemon it speaks to, and how its user named that daemon."""

    socket: str
    socket_option: str | None = None

    def command(self, *words: str) -> str:
        """A command line that works as printed, here and for the same daemon as this one."""
        from orchestrator.cli.program import program

        named = () if self.socket_option is None else ("--socket", self.socket_option)
        return shlex.join((*program(sys.argv[0], Path.cwd()), *named, *words))


def socket_path(option: str | None, env: Mapping[str, str], uid: int) -> str:
    """The daemon's socket: `--socket`, else $ORCH_SOCKET, else the state directory's."""
    return option or env.get("ORCH_SOCKET") or str(state_dir(env, uid) / "orchd.sock")


def state_dir(env: Mapping[str, str], uid: int) -> Path:
    """Where the daemon keeps its state: $ORCH_STATE, else /var/lib/orch for root, else the user's."""
    if env.get("ORCH_STATE"):
        return Path(env["ORCH_STATE"])
    if uid == 0:
        return Path("/var/lib/orch")
    return user_state_dir(env)


def user_state_dir(env: Mapping[str, str]) -> Path:
    """Where this user's own programs keep state, whoever runs the daemon."""
    return Path(env.get("XDG_STATE_HOME") or _home(env) / ".local/state") / "orch"


def config_path(option: str | None, env: Mapping[str, str], uid: int) -> Path | None:
    """The config file: the option, else $ORCH_CONFIG, else the usual one; None: embedded defaults.

    A file that was named is returned whether or not it exists; the usual one only if it does.
    """
    named = option or env.get("ORCH_CONFIG")
    if named:
        return Path(named)
    usual = Path("/etc/orch/config.toml") if uid == 0 else user_config_dir(env) / "config.toml"
    return usual if usual.exists() else None


def user_config_dir(env: Mapping[str, str]) -> Path:
    """Where this user's `config.toml` and `defaults.toml` lie."""
    return Path(env.get("XDG_CONFIG_HOME") or _home(env) / ".config") / "orch"


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path("~").expanduser())

"""The daemon's config file: from its text to a Config, or to every fault in it.

docs/config.md describes the keys; config.example.toml has them all. Without a file everything works, below
the state directory.
"""

import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field, PositiveFloat

from orchestrator.model import tomlfile
from orchestrator.model.faults import BadFile, Fault
from orchestrator.model.frozen import Frozen

LONGEST_SOCKET_PATH = 100  # the kernel allows 107 bytes


class Log(Frozen):
    """How the daemon logs. `auto` is readable on a terminal and JSON elsewhere."""

    format: Literal["auto", "json", "console"] = "auto"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Caps(Frozen):
    """What no decision may exceed, over all jobs."""

    max_instances: Annotated[int, Field(strict=True, ge=1)] = 32
    max_usd_per_hour: Decimal | None = Field(default=None, gt=0)


class Timings(Frozen):
    """Waits, in seconds. `Rules` in the control room says what each is for."""

    boot_timeout_s: PositiveFloat = 300.0
    silence_timeout_s: PositiveFloat = 900.0
    reclaim_memory_s: PositiveFloat = 600.0
    cooldown_s: PositiveFloat = 60.0
    refused_backoff_s: PositiveFloat = 300.0
    market_max_age_s: PositiveFloat = 30.0
    describe_poll_s: PositiveFloat = 5.0
    condemned_poll_s: PositiveFloat = 1.0
    terminate_repeat_s: PositiveFloat = 15.0
    notices_poll_s: PositiveFloat = 5.0
    sweep_s: PositiveFloat = 60.0
    spare_young_s: PositiveFloat = 120.0
    consistency_delay_s: PositiveFloat = 5.0
    intent_max_age_s: PositiveFloat = 600.0
    resync_s: PositiveFloat = 60.0
    monitor_poll_s: PositiveFloat = 1.0


class _ConfigFile(Frozen):
    state_dir: Path | None = None
    socket: Path | None = None
    socket_mode: Annotated[str, Field(pattern=r"^0?[0-7]{3}$")] = "0660"
    database: Annotated[str, Field(pattern=r"^sqlite:///")] | None = None
    object_store: Annotated[str, Field(pattern=r"^file:///")] | None = None
    bundle: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    log: Log = Log()
    caps: Caps = Caps()
    timings: Timings = Timings()
    providers: dict[str, dict[str, Any]] | None = None


class Config(Frozen):
    """A config whole: nothing is left out, every path is absolute."""

    state_dir: Path
    socket: Path
    socket_mode: int
    database: str
    object_store: str
    bundle: str | None
    log: Log
    caps: Caps
    timings: Timings
    providers: dict[str, dict[str, Any]]


def read_config(path: Path | None, env: Mapping[str, str], state: Path | None = None) -> Config:
    """The config file at `path`, or the defaults where it is None. `state` wins over the file's `state_dir`.

    Raises BadFile with every fault.
    """
    table, lines = _table(path)
    file, faults = tomlfile.validate(_ConfigFile, table, lines)
    if file is None:
        raise BadFile(faults)
    config = _whole(file, state or file.state_dir or default_state_dir(env))
    if len(os.fsencode(config.socket)) > LONGEST_SOCKET_PATH:
        line = tomlfile.line_of(lines, "socket" if file.socket else "state_dir")
        message = f"{config.socket} is too long for a unix socket: {LONGEST_SOCKET_PATH} bytes at most"
        raise BadFile([Fault("socket", line, message)])
    return config


def _table(path: Path | None) -> tuple[dict[str, Any], tomlfile.Lines]:
    if path is None:
        return {}, {}
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadFile([Fault("", None, f"cannot be read: {error.strerror or error}")]) from None
    return tomlfile.parse(tomlfile.decode(data))


def default_state_dir(env: Mapping[str, str]) -> Path:
    """$ORCH_STATE, else /var/lib/orch for root, else the user's own."""
    if env.get("ORCH_STATE"):
        return Path(env["ORCH_STATE"])
    if os.geteuid() == 0:
        return Path("/var/lib/orch")
    return Path(env.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "orch"


def _whole(file: _ConfigFile, state: Path) -> Config:
    state = state.expanduser().absolute()
    local = {"local": {"state_dir": str(state / "local")}}
    return Config(
        state_dir=state,
        socket=(file.socket or state / "orchd.sock").expanduser().absolute(),
        socket_mode=int(file.socket_mode, 8),
        database=file.database or f"sqlite:///{state / 'orch.db'}",
        object_store=file.object_store or f"file://{quote(str(state / 'objects'))}",
        bundle=file.bundle,
        log=file.log,
        caps=file.caps,
        timings=file.timings,
        providers=_providers(file.providers, state) or local,
    )


def _providers(given: dict[str, dict[str, Any]] | None, state: Path) -> dict[str, dict[str, Any]]:
    """The local provider lives below the state directory unless it is told otherwise."""
    found = dict(given or {})
    if "local" in found:
        found["local"] = {"state_dir": str(state / "local"), **found["local"]}
    return found

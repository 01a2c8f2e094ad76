"""The local provider's table of the config file, validated whole.

[providers.local]
state_dir = "/var/lib/orch/local"
notice_window_s = 10
market = { reclaims = "script", script = [{ launch = 1, instance_type = "local.gpu-1", after_s = 8 }] }
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PositiveFloat, model_validator

from orchestrator.model.faults import BadFile, Fault
from orchestrator.model.frozen import Frozen
from orchestrator.model.tomlfile import decode, parse, validate
from providers.local.catalog import HARDWARE, MARKETS, ZONES

Share = Annotated[float, Field(ge=0, le=1)]


class ScriptedReclaim(Frozen):
    """One rule of a script. The first that fits a spot launch decides its fate.

    `launch` counts the spot launches of `instance_type` (of all types where that is left out) from
    1; left out, the rule fits every launch. Without `notice` the instance is gone without a word.
    """

    launch: int | None = Field(default=None, ge=1)
    instance_type: str | None = None
    after_s: float = Field(ge=0)
    notice: bool = True


class _ScriptFile(Frozen):
    reclaim: tuple[ScriptedReclaim, ...]


class MarketSettings(Frozen):
    """Where reclaims, stock and prices come from.

    `stock` limits how many instances of a pool may live at once; its keys are `ZONE/TYPE/MARKET`, any
    part may be `*`; what is not named is unlimited. `trace` names a recorded spot trace for all zones,
    or one for each zone; it drives stock, price and reclaims of spot GPU pools, from the moment the cloud's
    directory was made, `trace_speed` trace seconds a second.
    """

    reclaims: Literal["none", "seeded", "script", "trace"] = "none"
    mean_life_s: PositiveFloat = 1800.0
    unannounced_share: Share = 0.0
    script: tuple[ScriptedReclaim, ...] | Path = ()
    trace: Path | dict[str, Path] | None = None
    trace_speed: PositiveFloat = 1.0
    stock: dict[str, int] = Field(default={})

    @model_validator(mode="after")
    def _whole(self) -> "MarketSettings":
        if self.reclaims == "trace" and self.trace is None:
            raise ValueError('reclaims = "trace" needs trace = "FILE.json.gz"')
        if self.reclaims == "script" and not self.script:
            raise ValueError('reclaims = "script" needs script = [{ launch = 1, after_s = 30 }, ...] or a file')
        for key in self.stock:
            _check_stock_key(key)
        return self

    def rules(self) -> tuple[ScriptedReclaim, ...]:
        """The script, read where it is a file: TOML with `[[reclaim]]` tables. Raises ValueError."""
        if not isinstance(self.script, Path):
            return self.script
        try:
            table, lines = parse(decode(self.script.read_bytes()))
        except OSError as error:
            raise ValueError(f"the script {self.script} cannot be read: {error.strerror}") from None
        except BadFile as bad:
            raise ValueError(_told_of(self.script, bad.faults)) from None
        script, faults = validate(_ScriptFile, table, lines)
        if script is None:
            raise ValueError(_told_of(self.script, faults))
        return script.reclaim

    def traces(self) -> dict[str, Path]:
        """Zone to trace file."""
        if self.trace is None:
            return {}
        return self.trace if isinstance(self.trace, dict) else dict.fromkeys(ZONES, self.trace)


def _absolute(value: object) -> object:
    return Path(value).expanduser().absolute() if isinstance(value, (str, Path)) else value


class Settings(Frozen):
    """`monitor` and `poll_s`, where given, overrule the boot recipe: the cloud knows its own dialect."""

    state_dir: Annotated[Path, BeforeValidator(_absolute)]
    seed: int = 0
    notice_window_s: PositiveFloat = 120.0
    monitor: Literal["aws", "aliyun"] | None = None
    poll_s: PositiveFloat | None = None
    boot_delay_s: float = Field(default=0.0, ge=0)
    python: Annotated[Path, BeforeValidator(_absolute)] = Path(sys.executable)
    agent_command: tuple[str, ...] | None = None
    environment: dict[str, str] = Field(default={})
    market: MarketSettings = MarketSettings()


def read_settings(settings: Mapping[str, Any]) -> Settings:
    """The validated table. Raises ValueError with one sentence that names every fault in it."""
    read, faults = validate(Settings, settings, {})
    if read is None:
        raise ValueError(f"[providers.local] is wrong: {'; '.join(map(_told, faults))}")
    read.market.rules()
    return read


def _told_of(file: Path, faults: Sequence[Fault]) -> str:
    return "; ".join(f"{file}:{fault.line or 1}: {_told(fault)}" for fault in faults)


def _told(fault: Fault) -> str:
    return f"{fault.path}: {fault.message}" if fault.path else fault.message


def _check_stock_key(key: str) -> None:
    parts = key.split("/")
    allowed = (ZONES, tuple(HARDWARE), MARKETS)
    fits = len(parts) == 3 and all(part == "*" or part in names for part, names in zip(parts, allowed, strict=True))
    if not fits:
        raise ValueError(f'stock key "{key}" is not ZONE/TYPE/MARKET, such as "local-a/local.gpu-1/spot" or "*/*/spot"')

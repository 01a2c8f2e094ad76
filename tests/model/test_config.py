"""The config file: the example is whole and true, and a wrong one is told of line by line."""

import re
from pathlib import Path
from typing import Any

import pytest
import tomllib
from pydantic import BaseModel

from orchestrator.model.config import Config, _ConfigFile, read_config
from orchestrator.model.faults import BadFile
from providers.local.settings import MarketSettings, Settings, read_settings

EXAMPLE = Path(__file__).parents[2] / "config.example.toml"
COMMENTED_KEY = re.compile(r"^# (?=[a-z_]+ = )", re.MULTILINE)


def _all_keys() -> dict[str, Any]:
    """The example with those keys too that only a comment shows."""
    return tomllib.loads(COMMENTED_KEY.sub("", EXAMPLE.read_text()))


def _keys(kind: type[BaseModel]) -> set[str]:
    return set(kind.model_fields)


def test_the_example_shows_every_key_there_is() -> None:
    table = _all_keys()
    assert set(table) == _keys(_ConfigFile)
    for name in ("log", "caps", "timings"):
        kind = _ConfigFile.model_fields[name].annotation
        assert kind is not None
        assert set(table[name]) == _keys(kind), name
    assert set(table["providers"]["local"]) == _keys(Settings)
    assert set(table["providers"]["local"]["market"]) == _keys(MarketSettings)


def test_the_example_is_valid_and_changes_no_default(tmp_path: Path) -> None:
    shown = read_config(EXAMPLE, {})
    default = read_config(None, {}, Path("/var/lib/orch"))
    assert shown.model_copy(update={"providers": {}}) == default.model_copy(update={"providers": {}})
    local = {**shown.providers["local"], "state_dir": str(tmp_path)}
    assert read_settings(local) == read_settings({"state_dir": str(tmp_path)})


def test_the_example_with_every_comment_lifted_is_valid_too(tmp_path: Path) -> None:
    lifted = tmp_path / "config.toml"
    lifted.write_text(COMMENTED_KEY.sub("", EXAMPLE.read_text()))
    config = read_config(lifted, {})
    assert config.bundle is not None
    read_settings(config.providers["local"])


def test_state_is_where_the_command_line_says_else_the_file_else_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('state_dir = "/file"')
    assert read_config(file, {"ORCH_STATE": "/env"}, Path("/line")).state_dir == Path("/line")
    assert read_config(file, {"ORCH_STATE": "/env"}).state_dir == Path("/file")
    assert read_config(None, {"ORCH_STATE": "/env"}).state_dir == Path("/env")


def test_everything_lies_below_the_state_directory_unless_it_is_told_otherwise() -> None:
    config = read_config(None, {}, Path("/srv/o r#ch"))
    assert config.socket == Path("/srv/o r#ch/orchd.sock")
    assert config.database == "sqlite:////srv/o r#ch/orch.db"
    assert config.object_store == "file:///srv/o%20r%23ch/objects"
    assert config.providers == {"local": {"state_dir": "/srv/o r#ch/local"}}


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("max_instances = 1", ["line 1: max_instances: unknown key"]),
        ("[caps]\nmax_instanses = 1", ['line 2: caps.max_instanses: unknown key; did you mean "max_instances"?']),
        ("[caps]\nmax_instances = 0", ["line 2: caps.max_instances: must be 1 at least; found 0"]),
        ("[timings]\nsweep_s = -1\nresync_s = 'x'", ["line 2: timings.sweep_s", "line 3: timings.resync_s"]),
        ('[log]\nlevel = "warn"', ['line 2: log.level: "warn" is not allowed; did you mean "warning"?']),
        ('database = "postgres://x"', ["line 1: database"]),
        ('object_store = "s3://bucket"', ["line 1: object_store"]),
        ('socket_mode = "0999"', ["line 1: socket_mode"]),
        (f'socket = "/{"s" * 120}"', ["line 1: socket: /sss"]),
        ("providers = 3", ["line 1: providers: must be a table; found 3"]),
        ("[log\n", ["line 1: this is not TOML"]),
    ],
)
def test_every_fault_is_named_with_its_line(tmp_path: Path, text: str, faults: list[str]) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(BadFile) as bad:
        read_config(file, {})
    told = [str(fault) for fault in bad.value.faults]
    assert len(told) == len(faults)
    for said, expected in zip(told, faults, strict=True):
        assert said.startswith(expected)


def test_a_file_that_cannot_be_read_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read: No such file"):
        read_config(tmp_path / "nowhere.toml", {})


def test_a_config_has_no_secret_in_it() -> None:
    assert not {name for name in Config.model_fields if "key" in name or "token" in name or "secret" in name}

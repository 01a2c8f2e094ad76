"""Values that people write: quantities, variables, overrides; and whatever bytes come as a job file."""

from decimal import Decimal
from typing import Any

import pytest
import tomlkit
import tomllib
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.environment import explain_environment, resolve_environment
from orchestrator.model.faults import BadFile
from orchestrator.model.jobfile import JobRead, read_job, read_job_bytes
from orchestrator.model.overrides import apply_overrides, merge_defaults
from orchestrator.model.quantities import seconds, size_bytes, usd_per_hour

JOB = 'name = "digits"\n\n[train]\ncommand = "python train.py"\n'


@pytest.mark.parametrize(("text", "value"), [("90s", 90), ("1h30m", 5400), ("2d", 172800), ("0.5h", 1800)])
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize(("text", "value"), [("24GiB", 24 * 2**30), ("500 MB", 5 * 10**8), ("1.5KiB", 1536)])
def test_sizes(text: str, value: int) -> None:
    assert size_bytes(text) == value


def test_prices() -> None:
    assert usd_per_hour("2.50 USD/h") == Decimal("2.50")
    assert usd_per_hour("3USD/hour") == Decimal("3")


@given(st.text())
def test_no_text_is_anything_but_a_quantity_or_refused(text: str) -> None:
    for read in (seconds, size_bytes, usd_per_hour):
        try:
            assert read(text) >= 0
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - any text may be a quantity


# ---------------------------------------------------------------- variables


def test_a_variable_may_be_put_in_front_of_what_the_command_would_find() -> None:
    """B094"""
    found = {"PATH": "/usr/bin", "HOME": "/root"}
    env = {"PATH": "/opt/x:$PATH", "PRICE": "5$$", "AT": "${HOME}/x", "NONE": "[$NOWHERE]", "LONE": "a$ 1$2"}
    resolved = resolve_environment(env, found)
    assert resolved["PATH"] == "/opt/x:/usr/bin"
    assert (resolved["PRICE"], resolved["AT"], resolved["NONE"]) == ("5$", "/root/x", "[]")
    assert resolved["LONE"] == "a$ 1$2"
    assert explain_environment({"PATH": "/opt/x:$PATH"}) == {"PATH": "/opt/x:<the instance's PATH>"}


@given(st.dictionaries(st.sampled_from("ABC"), st.text("$ABC{}x")), st.permutations("ABC"))
def test_no_value_depends_on_the_order_of_the_table(env: dict[str, str], order: list[str]) -> None:
    found = {"A": "1", "B": "2", "C": "3"}
    reordered = {name: env[name] for name in order if name in env}
    assert resolve_environment(env, found) == resolve_environment(reordered, found)


# ---------------------------------------------------------------- overrides


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("train.env.SEED=2", ("train", "env", "SEED"), "2"),
        ("labels.team=7", ("labels", "team"), "7"),
        ("train.resources.cpu=4", ("train", "resources", "cpu"), 4),
        ("train.command=python train.py --lr 3", ("train", "command"), "python train.py --lr 3"),
        ("train.command=a=b", ("train", "command"), "a=b"),
        ('train.placement.regions=["us-east-1"]', ("train", "placement", "regions"), ["us-east-1"]),
    ],
)
def test_a_key_is_set_as_a_person_would_type_it(setting: str, path: tuple[str, ...], value: object) -> None:
    found = tomllib.loads(apply_overrides(JOB, [setting]))
    for part in path:
        found = found[part]
    assert found == value


@pytest.mark.parametrize("setting", ["train.command", "=x", "train..x=1", "name.x=1"])
def test_a_setting_that_is_none_is_refused(setting: str) -> None:
    with pytest.raises(BadFile, match="--set"):
        apply_overrides(JOB, [setting])


def test_defaults_fill_in_and_never_replace() -> None:
    merged = merge_defaults(JOB, '[train]\ncommand = "x"\n\n[train.placement]\nmarket = "spot"\n')
    spec = read_job(merged).spec
    assert (spec.train.command, spec.train.placement.market) == ("python train.py", "spot")


# ---------------------------------------------------------------- whatever comes


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    try:
        assert isinstance(read_job_bytes(data), JobRead)
    except BadFile as bad:
        assert bad.faults  # noqa: PT017 - any bytes may be a job file


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = ("labels", "limits", "checkpoint", "output", "retry", "preprocess", "code")
TRAIN_KEYS = ("env", "stop_signal", "stall", "nodes", "launcher", "resources", "placement", "image")


@given(st.dictionaries(st.sampled_from(KEYS), VALUES), st.dictionaries(st.sampled_from(TRAIN_KEYS), VALUES))
def test_no_table_crashes_the_reader(top: dict[str, object], train: dict[str, object]) -> None:
    whole = {"name": "digits", **top, "train": {"command": "x", **train}}
    try:
        text = tomlkit.dumps(_without_none(whole))
    except ValueError:
        return
    try:
        read_job(text)
    except BadFile as bad:
        assert all("\n" not in str(fault) for fault in bad.faults)  # noqa: PT017 - any table may be right


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value if inner is not None] if isinstance(value, list) else value

"""Whatever a trainer writes, what goes on to control is a step and a few finite numbers."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.agent.progress import MOST_METRICS, Progress, read_progress
from orchestrator.model.wire import Report

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)
OBJECTS = st.dictionaries(st.sampled_from(["step", "total_steps", "loss", "x"]), JSON)


def read(directory: Path, text: str | bytes) -> Progress:
    file = directory / "progress.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    return read_progress(file)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ('{"step": 3}', 3),
        ('{"step": 3.0}', 3),
        ('{"step": 0}', 0),
        ('{"step": -5}', None),
        ('{"step": true}', None),
        ('{"step": "3"}', None),
        ('{"step": 1e400}', None),
        ('{"step": NaN}', None),
        ('{"step": 99999999999999999999999}', None),
        ('{"step": 3', None),
        ("[3]", None),
        ("[" * 5000, None),
        ("", None),
        ("\ud800", None),
    ],
)
def test_a_step_is_a_number_that_can_be_counted(tmp_path: Path, text: str, step: int | None) -> None:
    assert read(tmp_path, text).step == step


def test_the_other_numbers_are_metrics_and_they_are_few(tmp_path: Path) -> None:
    said = read(tmp_path, '{"step": 1, "total_steps": 9, "loss": 0.5, "bad": Infinity, "note": "x", "ok": true}')
    assert said == Progress(1, 9, {"loss": 0.5})
    many = json.dumps({f"m{number}": number for number in range(1000)})
    assert len(read(tmp_path, many).metrics) == MOST_METRICS


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert read_progress(tmp_path / "nowhere") == Progress()
    assert read_progress(tmp_path) == Progress()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(OBJECTS | JSON)
def test_whatever_it_says_the_report_arrives(tmp_path: Path, said: object) -> None:
    found = read(tmp_path, json.dumps(said))
    report = Report(
        intent="i", owner="o", seq=1, step=found.step, total_steps=found.total_steps, metrics=dict(found.metrics)
    )
    assert Report.model_validate_json(report.model_dump_json()) == report

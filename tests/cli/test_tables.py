"""Tables: what is in them, and that they fit their terminal."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.table import age, fitted, shortened, size, span, steps
from tests.cli.conftest import ORCH, Ending
from tests.cli.standin import JOB, POOL, StandIn, detail, drill, instance

Orch = Callable[..., Ending]
_words = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=60)


@given(st.lists(st.tuples(_words, _words, _words), min_size=1, max_size=5), st.integers(40, 200))
def test_a_table_fits_where_the_columns_that_may_be_shortened_allow_it(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    kept = max(len("KEPT"), *(len(row[0]) for row in rows))
    lines = fitted(("KEPT", "POOL", "NAME"), rows, ("POOL", "NAME"), width).splitlines()
    assert max(map(len, lines)) <= max(width, kept + 2 * (8 + 2))
    assert all(line.startswith(row[0]) for line, row in zip(lines[1:], rows, strict=True))


@given(st.lists(st.tuples(_words, _words), min_size=1, max_size=5))
def test_what_is_piped_is_never_shortened(rows: list[tuple[str, str]]) -> None:
    lines = fitted(("A", "B"), rows, ("A", "B"), None).splitlines()
    assert [tuple(line.split()) for line in lines[1:]] == rows


@given(_words, st.integers(3, 60))
def test_a_shortened_word_keeps_both_its_ends(word: str, width: int) -> None:
    short = shortened(word, width)
    assert len(short) <= width
    assert short[0] == word[0]
    assert short[-1] == word[-1]


def test_durations_and_sizes_read_well() -> None:
    assert [span(s) for s in (-1, 59.9, 60, 3599, 3600, 90_000, 1e6)] == [
        "0s", "59s", "1m00s", "59m59s", "1h00m", "1d01h", "11d13h",
    ]  # fmt: skip
    assert [size(b) for b in (0, 1023, 1024, 5 << 30)] == ["0 B", "1023 B", "1.0 KiB", "5.0 GiB"]
    assert age("2026-12-01T10:00:00+00:00", "2026-12-01T11:00:05+00:00") == "1h00m"
    assert (steps(None, 5), steps(3, None), steps(3, 5)) == ("-", "3", "3/5")


# ---------------------------------------------------------------- what commands print


def test_ps_lists_the_jobs(orch: Orch, house: StandIn) -> None:
    heads, line = orch("ps").out.splitlines()
    assert heads.split() == ["ID", "NAME", "STATE", "STAGE", "STEP", "LOSSES", "USD", "AGE"]
    assert line.split()[:7] == [JOB, "digits", "running", "train", "1300/2000", "1", "0.0162"]
    assert house.house.asked[-1][2] == {}
    orch("ps", "--all")
    assert house.house.asked[-1][2] == {"all": "1"}


def test_ps_without_jobs_says_how_to_hand_one_in(orch: Orch, house: StandIn) -> None:
    house.house.detail = {}
    assert orch("ps").out == "No jobs. `orch submit job.toml` hands one in.\n"
    assert json.loads(orch("ps", "--json").out) == []


def test_show_has_stages_attempts_instances_drills_and_costs(orch: Orch, house: StandIn) -> None:
    house.house.detail = detail(drills=[drill()])
    told = orch("show", "digits").out
    assert f"digits ({JOB})\nNow running: Attempt 2 trains on {POOL}." in told
    assert "preprocess: 6 of 6 shards are done\ntrain: step 1300/2000, loss 0.25" in told
    assert "train       2    running    1200-1300  1200  0.0041" in told
    assert "Drill at 10:00:00: Attempt 2 was given 10 s" in told
    assert "0.0162 USD; on demand 0.0444 USD, 63% saved after waste" in told
    assert "1 of 3 attempts lost, 0 steps done twice" in told


def test_an_instance_under_notice_says_when_it_is_taken(orch: Orch, house: StandIn) -> None:
    noticed = {"source": "metadata", "heard_at": "2026-12-01T10:00:00+00:00", "deadline": "2026-12-01T10:02:00+00:00"}
    lives = instance(2, phase="running", notice=noticed)
    attempt = {**house.house.detail["stages"][1]["attempts"][1], "instances": [lives]}
    house.house.detail = detail(stages=[{"name": "train", "state": "running", "shards": None, "attempts": [attempt]}])
    assert "taken 10:02:00" in orch("show", "digits").out


def test_instances_are_listed_with_what_they_are_for(orch: Orch, house: StandIn) -> None:
    told = orch("instances", "--all").out
    assert "i-000000000002  digits  train 2  running" in told
    assert house.house.asked[-1] == ("GET", "/v1/instances", {"all": "1"})


def _on_a_terminal(columns: int, *words: str) -> list[str]:
    """The lines that a person sees."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown = subprocess.Popen([*ORCH, *words], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    data = b""
    try:
        while piece := os.read(ours, 65536):
            data += piece
    except OSError:  # Linux says EIO when the other side is closed
        pass
    os.close(ours)
    assert shown.wait(timeout=20) == 0
    return data.decode().splitlines()


@pytest.mark.parametrize("words", [("ps",), ("show", "digits"), ("instances", "--all"), ("--help",), ("drill", "-h")])
def test_eighty_columns_are_enough(house: StandIn, words: tuple[str, ...]) -> None:
    house.house.detail = detail(name="a-name-that-is-as-long-as-a-name-may-be-which-is-63-characters")
    lines = _on_a_terminal(80, *words)
    assert lines
    assert max(map(len, lines)) <= 80


def test_a_wide_terminal_shows_pools_whole(house: StandIn) -> None:
    assert any(POOL in line for line in _on_a_terminal(140, "instances", "--all"))

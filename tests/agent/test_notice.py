"""When to stop for a notice: as late as what was measured allows, never too late."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agent.notice import LONGEST_GRACE_S, MARGIN_S, Notice, kill_at, stop_at

SECONDS = st.floats(0, 600)


@given(SECONDS, SECONDS, SECONDS)
def test_what_was_measured_fits_between_the_stop_and_the_deadline(window_s: float, save_s: float, up_s: float) -> None:
    stop = stop_at(Notice("aws", window_s), save_s, up_s)
    assert window_s - stop >= save_s + up_s + MARGIN_S - 1e-6


@given(SECONDS, st.none() | SECONDS)
def test_it_stops_at_once_while_anything_is_unmeasured(window_s: float, measured_s: float | None) -> None:
    assert stop_at(Notice("aws", window_s), measured_s, None) == 0.0
    assert stop_at(Notice("aws", window_s), None, measured_s) == 0.0


@given(SECONDS, SECONDS, st.none() | SECONDS)
def test_a_deaf_trainer_is_ended_before_the_deadline_and_never_before_it_was_asked(
    deadline: float, stopped: float, upload_s: float | None
) -> None:
    killed = kill_at(Notice("aws", deadline), stopped, upload_s)
    assert killed >= stopped
    assert killed <= max(stopped, deadline - 2.0)


@given(SECONDS)
def test_without_a_deadline_there_is_a_grace(stopped: float) -> None:
    assert kill_at(None, stopped, None) == stopped + LONGEST_GRACE_S

"""What becomes of an instance, decided from its record and a time."""

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from providers.local import life
from providers.local.record import Reclaim

moments = st.floats(min_value=0, max_value=1e6)


def reclaim(take_mono: float, notice_mono: float = 0.0, announced: bool = True) -> Reclaim:
    return Reclaim("r", take_mono, 1e9 + take_mono, notice_mono, announced)


@given(take=moments, now=moments)
def test_a_reclaim_ends_an_instance_at_its_moment_and_not_before(take: float, now: float) -> None:
    assert (life.ending(reclaim(take), False, now) is not None) == (now >= take)


def test_a_reclaim_that_was_due_first_counts_as_reclaimed() -> None:
    assert life.ending(reclaim(5.0), True, 6.0) == life.Ending("reclaimed", reclaimed=True)


def test_terminate_does_not_wait_for_a_reclaim() -> None:
    assert life.ending(reclaim(50.0), True, 6.0) == life.Ending("terminated by user", reclaimed=False)


def test_nothing_ends_an_instance_that_nobody_wants_gone() -> None:
    assert life.ending(None, False, 6.0) is None


def test_an_instance_without_init_died_with_its_host_unless_more_is_known() -> None:
    assert life.ending_without_init(None, False, 1.0).reason == "host died"
    assert life.ending_without_init(reclaim(0.5), False, 1.0).reclaimed
    assert life.ending_without_init(None, True, 1.0).reason == "terminated by user"


@given(st.lists(st.floats(min_value=0, max_value=60), max_size=40))
def test_pauses_between_restarts_are_bounded_and_never_none(lives_s: list[float]) -> None:
    restarts = life.Restarts()
    assert restarts.pause_s() == 0.0
    for ran_s in lives_s:
        restarts = restarts.after(ran_s)
        assert 0.1 <= restarts.pause_s() <= 5.0


def test_pauses_grow_while_the_agent_dies_young_and_shrink_once_it_lived() -> None:
    first = life.Restarts().after(0.0)
    second = first.after(0.0)
    assert first.pause_s() < second.pause_s()
    assert second.after(60.0).pause_s() == first.pause_s()


@given(there=moments, new=moments)
def test_of_two_reclaims_the_earlier_holds(there: float, new: float) -> None:
    assert life.sooner(reclaim(there), reclaim(new)).take_mono == min(there, new)


def test_an_unannounced_reclaim_never_shows() -> None:
    assert not reclaim(5.0, announced=False).shows(4.9)
    assert reclaim(5.0, notice_mono=3.0).shows(3.0)
    assert not reclaim(5.0, notice_mono=3.0).shows(2.9)


def test_init_loads_nothing_that_it_does_not_need() -> None:
    show = "import sys, providers.local.init; print(*sys.modules)"
    root = Path(life.__file__).parents[2]
    loaded = subprocess.run(
        [sys.executable, "-c", show], capture_output=True, text=True, check=True, cwd=root
    ).stdout.split()
    assert "providers.local.init" in loaded
    assert not {"pydantic", "structlog", "httpx", "orchestrator.model.launch"} & set(loaded)

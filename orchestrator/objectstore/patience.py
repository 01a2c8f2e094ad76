"""Waiting for a store that does not answer: bounded, jittered, and visible."""

from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay
from tenacity.wait import wait_random_exponential

from orchestrator.objectstore.base import Unavailable

T = TypeVar("T")
LONGEST_PAUSE_S = 5.0


def insist(
    call: Callable[[], T],
    for_s: float,
    on_trouble: Callable[[str], None],
    sleep: Callable[[float], None],
) -> T:
    """Call until it answers, for `for_s` at most; then the last Unavailable is raised.

    `on_trouble` hears each refusal. Any other error is raised at once.
    """

    def tell(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        on_trouble(str(error))

    retrying = Retrying(
        retry=retry_if_exception_type(Unavailable),
        wait=wait_random_exponential(multiplier=0.2, max=LONGEST_PAUSE_S),
        stop=stop_after_delay(for_s),
        before_sleep=tell,
        sleep=sleep,
        reraise=True,
    )
    return retrying(call)

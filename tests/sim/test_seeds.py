import pytest

from orchestrator.sim import run_seed

SEEDS, PARTS = 200, 8


@pytest.mark.parametrize("part", range(PARTS))
def test_no_seed_breaks_an_invariant(part: int) -> None:
    """B065: whatever fails and whenever, the job ends well, and nothing is leaked or run twice."""
    for seed in range(part, SEEDS, PARTS):
        run_seed(seed)

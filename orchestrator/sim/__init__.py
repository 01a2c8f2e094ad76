"""The world in virtual time: the real control room, store and log against a cloud and agents that misbehave.

A seed comes in; what leaves is the story of one run, or the invariant that it broke. The rooms under
test are the ones that run in production: only the ports differ. Ten minutes take milliseconds.
"""

from orchestrator.sim.world import Outcome, run_seed

__all__ = ["Outcome", "run_seed"]

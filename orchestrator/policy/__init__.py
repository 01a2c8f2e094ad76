"""What to choose: which pool, which market, at what bid.

Offers, a wish and a time come in; a choice with its reason leaves. Pure functions: no I/O, no clock,
no randomness. `control` asks when a stage needs capacity, `api` when a user asks for a plan.
"""

from orchestrator.policy.choice import Choice, Verdict, Wish, choose

__all__ = ["Choice", "Verdict", "Wish", "choose"]

"""How a run misbehaves: probabilities and rhythms, drawn from one seed."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Faults:
    """Shares are of calls; `_every_s` are mean gaps of exponential draws, None: never."""

    launch_effect_without_answer: float = 0.0
    launch_answer_without_effect: float = 0.0
    launch_elsewhere: float = 0.0
    launch_later: float = 0.0
    describe_fails: float = 0.0
    list_fails: float = 0.0
    terminate_fails: float = 0.0
    sync_lost: float = 0.0
    sync_answer_lost: float = 0.0
    store_unavailable: float = 0.0
    store_answer_lost: float = 0.0
    life_s: float | None = None  # of a spot instance
    unannounced: float = 0.0  # the share of reclaims without a notice
    withdrawn: float = 0.0  # the share of notices that are taken back
    agent_dies_every_s: float | None = None
    daemon_dies_every_s: float | None = None


def draw(seed: int) -> Faults:
    """The faults of a seed: each kind is absent in half of the seeds, so that kinds meet in all ways."""
    rng = random.Random(seed)

    def sometimes(most: float) -> float:
        return rng.uniform(0, most) if rng.random() < 0.5 else 0.0

    def rhythm(least_s: float, most_s: float) -> float | None:
        return rng.uniform(least_s, most_s) if rng.random() < 0.5 else None

    return Faults(
        launch_effect_without_answer=sometimes(0.4),
        launch_answer_without_effect=sometimes(0.4),
        launch_elsewhere=sometimes(0.4),
        launch_later=sometimes(0.4),
        describe_fails=sometimes(0.4),
        list_fails=sometimes(0.4),
        terminate_fails=sometimes(0.4),
        sync_lost=sometimes(0.3),
        sync_answer_lost=sometimes(0.3),
        store_unavailable=sometimes(0.2),
        store_answer_lost=sometimes(0.2),
        life_s=rng.uniform(30, 300) if rng.random() < 0.9 else None,
        unannounced=sometimes(0.6),
        withdrawn=sometimes(0.3),
        agent_dies_every_s=rhythm(60, 400),
        daemon_dies_every_s=rhythm(40, 400),
    )

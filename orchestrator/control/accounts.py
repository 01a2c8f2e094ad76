"""What a job cost, what on-demand would have cost, and what was done twice. Pure.

The on-demand equivalent is what the same work would have cost without a single loss: the first attempt's
boot, the seconds that were trained and kept, and preprocessing as it was. Savings are after waste: the
money for steps done twice, for boots of replacements and for standing by has been spent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

from orchestrator.model.jobs import Attempt, Instance
from orchestrator.store.jobview import JobView

CENT_MILLI = Decimal("0.00001")
HOUR_S = Decimal(3600)


@dataclass(frozen=True)
class Accounts:
    """Money in USD, times in seconds, steps in steps. Lists are in the order of attempts."""

    cost_usd: Decimal
    on_demand_usd: Decimal
    savings_usd: Decimal
    savings_share: float | None
    wasted_usd: Decimal
    wasted_gpu_s: float
    attempts: int
    reclaims: int
    steps: int
    steps_redone: int
    steps_redone_with_notice: int
    notice_to_replacement_s: tuple[float, ...]
    final_to_step_s: tuple[float, ...]
    trainer_start_s: tuple[float, ...]


def accounts(view: JobView, now: datetime) -> Accounts:
    """The books of a job, as of `now`."""
    ran = [a for a in view.attempts if a.stage == "train" and a.told_run_at is not None]
    cost = sum((cost_usd(instance, now) for instance in view.instances), Decimal(0))
    on_demand = _on_demand_usd(view, ran, now)
    wasted = _wasted_s(view, ran, now)
    redone = _redone(ran)
    return Accounts(
        cost_usd=_rounded(cost),
        on_demand_usd=_rounded(on_demand),
        savings_usd=_rounded(on_demand - cost),
        savings_share=round(float(1 - cost / on_demand), 4) if on_demand else None,
        wasted_usd=_rounded(_wasted_usd(view, ran, now)),
        wasted_gpu_s=round(wasted, 3),
        attempts=len([a for a in ran if _instances(view, a)]),
        reclaims=len([a for a in view.attempts if a.outcome in ("reclaimed", "lost")]),
        steps=max((a.reached_step or 0 for a in ran), default=0),
        steps_redone=sum(redone.values()),
        steps_redone_with_notice=sum(redone[a.number] for a in ran if _had_notice(view, a)),
        notice_to_replacement_s=_notice_to_replacement(view),
        final_to_step_s=_final_to_step(ran),
        trainer_start_s=tuple(round(a.trainer_start_s, 3) for a in ran if a.trainer_start_s is not None),
    )


def cost_usd(instance: Instance, now: datetime) -> Decimal:
    """From launch to the end, at the price of its launch."""
    return Decimal(str(round(_billed_s(instance, now), 6))) * instance.usd_per_hour / HOUR_S


def _billed_s(instance: Instance, now: datetime) -> float:
    return max(0.0, ((instance.ended_at or now) - instance.launched_at).total_seconds())


def _rounded(usd: Decimal) -> Decimal:
    return usd.quantize(CENT_MILLI)


def _instances(view: JobView, attempt: Attempt) -> list[Instance]:
    key = (attempt.stage, attempt.number)
    return [instance for instance in view.instances if (instance.stage, instance.attempt) == key]


def _had_notice(view: JobView, attempt: Attempt) -> bool:
    return any(instance.notice is not None for instance in _instances(view, attempt))


# ---------------------------------------------------------------- steps


def _redone(ran: Sequence[Attempt]) -> dict[int, int]:
    """Attempt number to how many of its steps its successor did again."""
    redone = dict.fromkeys((a.number for a in ran), 0)
    for before, after in pairwise(ran):
        if after.first_step_at is not None:
            redone[before.number] = max(0, (before.reached_step or 0) - (after.base_step or 0))
    return redone


def _kept_share(attempt: Attempt, redone: int) -> float:
    done = (attempt.reached_step or 0) - (attempt.base_step or 0)
    return 0.0 if done <= 0 else max(0.0, done - redone) / done


# ---------------------------------------------------------------- money


def _on_demand_usd(view: JobView, ran: Sequence[Attempt], now: datetime) -> Decimal:
    total = sum((_on_demand_of(i, _billed_s(i, now)) for i in _preprocessors(view)), Decimal(0))
    redone = _redone(ran)
    for attempt in ran:
        for instance in _instances(view, attempt)[:1]:
            total += _on_demand_of(instance, _useful_s(attempt, instance, redone, ran[0], now))
    return total


def _useful_s(attempt: Attempt, instance: Instance, redone: dict[int, int], first: Attempt, now: datetime) -> float:
    kept_s = attempt.trained_s * _kept_share(attempt, redone[attempt.number])
    boot_s = max(0.0, _billed_s(instance, now) - attempt.trained_s) if attempt is first else 0.0
    return min(_billed_s(instance, now), kept_s + boot_s)


def _on_demand_of(instance: Instance, seconds: float) -> Decimal:
    return Decimal(str(round(seconds, 6))) * instance.on_demand_usd_per_hour / HOUR_S


def _preprocessors(view: JobView) -> list[Instance]:
    return [instance for instance in view.instances if instance.stage == "preprocess"]


def _wasted(view: JobView, ran: Sequence[Attempt], now: datetime) -> list[tuple[Instance, float]]:
    """Each GPU instance with the seconds of it that an undisturbed run would not have needed."""
    redone, numbers = _redone(ran), {a.number: a for a in ran}
    wasted = []
    for instance in (i for i in view.instances if i.stage == "train"):
        attempt = numbers.get(instance.attempt)
        useful = _useful_s(attempt, instance, redone, ran[0], now) if attempt else 0.0
        wasted.append((instance, max(0.0, _billed_s(instance, now) - useful)))
    return wasted


def _wasted_s(view: JobView, ran: Sequence[Attempt], now: datetime) -> float:
    return sum(seconds for _, seconds in _wasted(view, ran, now))


def _wasted_usd(view: JobView, ran: Sequence[Attempt], now: datetime) -> Decimal:
    parts = [Decimal(str(round(s, 6))) * i.usd_per_hour / HOUR_S for i, s in _wasted(view, ran, now)]
    return sum(parts, Decimal(0))


# ---------------------------------------------------------------- hand-overs


def _notice_to_replacement(view: JobView) -> tuple[float, ...]:
    """From hearing a notice to asking for the replacement, for each that was replaced."""
    found = []
    for standby in (a for a in view.attempts if a.replaces is not None):
        asked = [i.created_at for i in view.intents if (i.stage, i.attempt) == ("train", standby.number)]
        noticed = [
            i.notice.heard_at
            for i in view.instances
            if i.stage == "train" and i.attempt == standby.replaces and i.notice is not None
        ]
        if asked and noticed:
            found.append(round((min(asked) - noticed[0]).total_seconds(), 3))
    return tuple(found)


def _final_to_step(ran: Sequence[Attempt]) -> tuple[float, ...]:
    """From an attempt's `final` to its successor's first step beyond the one it resumed from."""
    found = []
    for before, after in pairwise(ran):
        if before.final_at is not None and after.first_step_at is not None:
            found.append(round((after.first_step_at - before.final_at).total_seconds(), 3))
    return tuple(found)

"""The cheapest pool that will do, and why the others will not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from orchestrator.model.pools import Offer, Pool, Requirement
from orchestrator.model.spec import Placement

# A pool that took an instance back lately is likely to do it again: it must be this much cheaper.
RECLAIM_PENALTY = Decimal("1.25")


@dataclass(frozen=True)
class Wish:
    """What a stage needs, where it may run, and the pools it was reclaimed from lately."""

    requirement: Requirement
    placement: Placement
    reclaimed_from: frozenset[Pool] = frozenset()


@dataclass(frozen=True)
class Verdict:
    """One offer and what was thought of it, in words."""

    offer: Offer
    verdict: str


@dataclass(frozen=True)
class Choice:
    """`offer` is None where nothing will do now; `retry_at` is when a cooled pool may be asked again."""

    offer: Offer | None
    bid_usd_per_hour: Decimal | None
    reason: str
    considered: tuple[Verdict, ...]
    retry_at: datetime | None = None


def choose(offers: Sequence[Offer], wish: Wish, cooldowns: Mapping[Pool, datetime], now: datetime) -> Choice:
    """The cheapest offer that meets the wish. `cooldowns` says until when a pool is not asked."""
    faults = {offer.pool: _fault(offer, wish, cooldowns, now) for offer in offers}
    fit = sorted((o for o in offers if not faults[o.pool]), key=lambda o: (_cost(o, wish), str(o.pool)))
    considered = tuple(Verdict(o, faults[o.pool] or _standing(o, fit)) for o in _by_price(offers))
    if not fit:
        return Choice(None, None, _nothing(considered), considered, _next_try(offers, wish, cooldowns, now))
    best = fit[0]
    return Choice(best, bid_for(best, wish.placement), _why(best, wish, len(fit)), considered)


def bid_for(offer: Offer, placement: Placement) -> Decimal | None:
    """The most we agree to pay for it: on-demand's price, never more than the job's cap."""
    if offer.pool.market == "on-demand":
        return None
    if placement.max_usd_per_hour is None:
        return offer.on_demand_usd_per_hour
    return min(offer.on_demand_usd_per_hour, placement.max_usd_per_hour)


def _fault(offer: Offer, wish: Wish, cooldowns: Mapping[Pool, datetime], now: datetime) -> str:
    lasting = _lasting_fault(offer, wish)
    if lasting:
        return lasting
    if offer.in_stock is False:
        return "out of stock"
    until = cooldowns.get(offer.pool)
    if until is not None and until > now:
        return f"said no; not asked again before {until:%H:%M:%S} UTC"
    return ""


def _lasting_fault(offer: Offer, wish: Wish) -> str:
    """What waiting a little will not mend."""
    placement, pool = wish.placement, offer.pool
    if not wish.requirement.met_by(offer.hardware):
        return "too small or the wrong GPU"
    if placement.providers and pool.provider not in placement.providers:
        return "not one of the job's providers"
    if placement.regions and pool.region not in placement.regions:
        return "not one of the job's regions"
    if placement.market != "auto" and pool.market != placement.market:
        return f"the job wants {placement.market}"
    cap = placement.max_usd_per_hour
    if cap is not None and offer.usd_per_hour > cap:
        return f"above the job's {cap} USD/h"
    return ""


def _cost(offer: Offer, wish: Wish) -> Decimal:
    return offer.usd_per_hour * (RECLAIM_PENALTY if offer.pool in wish.reclaimed_from else 1)


def _by_price(offers: Sequence[Offer]) -> list[Offer]:
    return sorted(offers, key=lambda offer: (offer.usd_per_hour, str(offer.pool)))


def _standing(offer: Offer, fit: Sequence[Offer]) -> str:
    if offer == fit[0]:
        return "chosen"
    if offer.usd_per_hour < fit[0].usd_per_hour:
        return "was reclaimed there lately"
    return "dearer"


def _why(best: Offer, wish: Wish, candidates: int) -> str:
    price = f"{best.pool} at {best.usd_per_hour} USD/h"
    if best.pool.market == "on-demand" and wish.placement.market == "auto":
        return f"{price}: no spot pool will do now"
    if candidates == 1:
        return f"{price}: the only pool that will do"
    return f"{price}: the cheapest of {candidates} pools that will do"


def _nothing(considered: Sequence[Verdict]) -> str:
    if not considered:
        return "no provider offers an instance that meets the stage's needs"
    reasons = sorted({verdict.verdict for verdict in considered})
    return f"none of {len(considered)} pools will do: {'; '.join(reasons)}"


def _next_try(
    offers: Sequence[Offer], wish: Wish, cooldowns: Mapping[Pool, datetime], now: datetime
) -> datetime | None:
    cooled = [cooldowns[o.pool] for o in offers if o.pool in cooldowns and not _lasting_fault(o, wish)]
    return min((until for until in cooled if until > now), default=None)

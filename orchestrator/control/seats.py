"""Filling a node's place in an attempt: caps, choice of a pool, and the intent written before any launch."""

from dataclasses import replace
from datetime import timedelta

from orchestrator.control.draft import Draft, Fleet
from orchestrator.control.tokens import bootstrap_token
from orchestrator.model.jobs import Attempt, Intent
from orchestrator.model.launch import BootRecipe, LaunchOrder, Tags
from orchestrator.model.pools import Offer, Pool, Requirement
from orchestrator.model.spec import Placement
from orchestrator.policy import Choice, Wish, choose

# One under notice and its replacement: never more instances for a node than these.
MAX_PER_NODE = 2


def fill(draft: Draft, attempt: Attempt, rank: int, requirement: Requirement, placement: Placement) -> None:
    """Write an intent for this place, or say what it waits for."""
    hindrance = _hindrance(draft, attempt, rank)
    if hindrance:
        draft.say(hindrance)
        return
    if _market_is_stale(draft):
        draft.wants_market = True
        draft.say("Looking at what the providers offer.")
        return
    choice = _choose(draft, attempt, requirement, placement)
    if choice.offer is None:
        _wait_for_capacity(draft, choice)
        return
    _intend(draft, attempt, rank, choice.offer, choice)


def _hindrance(draft: Draft, attempt: Attempt, rank: int) -> str:
    stage = draft.stage(attempt.stage)
    assert stage is not None
    if stage.not_before is not None and not draft.passed(stage.not_before):
        return f"Waiting until {stage.not_before:%H:%M:%S} UTC before the next launch."
    if _taken(draft, attempt, rank) >= MAX_PER_NODE:
        return "Waiting for the provider to confirm that an old instance is gone."
    return ""


def _taken(draft: Draft, attempt: Attempt, rank: int) -> int:
    alive = [i for i in draft.instances(attempt.stage) if i.rank == rank and i.alive]
    asked = [i for i in draft.intents(attempt.stage) if i.rank == rank and i.state == "open"]
    return len(alive) + len(asked)


def _market_is_stale(draft: Draft) -> bool:
    fetched_at = draft.situation.market.fetched_at
    if fetched_at is None:
        return True
    return fetched_at + timedelta(seconds=draft.rules.market_max_age_s) <= draft.now


def _choose(draft: Draft, attempt: Attempt, requirement: Requirement, placement: Placement) -> Choice:
    market = draft.situation.market
    wish = Wish(requirement, placement, reclaimed_lately(draft, attempt))
    return choose(market.offers, wish, market.cooldowns, draft.now)


def reclaimed_lately(draft: Draft, attempt: Attempt) -> frozenset[Pool]:
    """Pools that took, or announced to take, an instance of this stage a while ago at most."""
    since = draft.now - timedelta(seconds=draft.rules.reclaim_memory_s)
    hit = [i for i in draft.instances(attempt.stage) if i.reclaimed or i.notice]
    return frozenset(i.pool for i in hit if i.ended_at is None or i.ended_at >= since)


def _wait_for_capacity(draft: Draft, choice: Choice) -> None:
    draft.say(f"Waiting for capacity: {choice.reason}.")
    draft.after(draft.now, draft.rules.market_max_age_s)
    if choice.retry_at is not None:
        draft.passed(choice.retry_at)


def _intend(draft: Draft, attempt: Attempt, rank: int, offer: Offer, choice: Choice) -> None:
    exceeded = _exceeds_caps(draft, offer)
    if exceeded:
        draft.say(exceeded)
        draft.after(draft.now, draft.rules.market_max_age_s)
        return
    intent = _intent(draft, attempt, rank, offer, choice)
    draft.put(intent)
    draft.launched = Fleet(draft.launched.instances + 1, draft.launched.usd_per_hour + offer.usd_per_hour)
    data = {"bid_usd_per_hour": str(choice.bid_usd_per_hour), "usd_per_hour": str(offer.usd_per_hour)}
    draft.tell("launch.intended", f"Asking for {choice.reason}.", attempt, intent=intent.id, **data)


def _exceeds_caps(draft: Draft, offer: Offer) -> str:
    fleet, rules = draft.situation.fleet, draft.rules
    if fleet.instances + draft.launched.instances >= rules.max_instances:
        return f"Waiting: the cap of {rules.max_instances} instances is reached."
    spend = fleet.usd_per_hour + draft.launched.usd_per_hour + offer.usd_per_hour
    if rules.max_usd_per_hour is not None and spend > rules.max_usd_per_hour:
        return f"Waiting: {spend} USD/h would exceed the cap of {rules.max_usd_per_hour} USD/h."
    return ""


def _intent(draft: Draft, attempt: Attempt, rank: int, offer: Offer, choice: Choice) -> Intent:
    earlier = [i for i in draft.intents(attempt.stage) if i.attempt == attempt.number and i.rank == rank]
    intent_id = f"{attempt.job}.{attempt.stage}.{attempt.number}.{rank}.{len(earlier) + 1}"
    return Intent(
        id=intent_id,
        job=attempt.job,
        stage=attempt.stage,
        attempt=attempt.number,
        rank=rank,
        order=_order(draft, attempt, rank, offer, choice, intent_id),
        state="open",
        created_at=draft.now,
        reason=choice.reason,
    )


def _order(draft: Draft, attempt: Attempt, rank: int, offer: Offer, choice: Choice, intent_id: str) -> LaunchOrder:
    house = draft.situation.house
    return LaunchOrder(
        token=f"{house.installation}.{intent_id}.{offer.pool}",
        pool=offer.pool,
        bid_usd_per_hour=choice.bid_usd_per_hour,
        tags=Tags(
            installation=house.installation,
            job=attempt.job,
            stage=attempt.stage,
            attempt=attempt.number,
            rank=rank,
            intent=intent_id,
        ),
        recipe=BootRecipe(
            intent=intent_id,
            control_url=house.control_url,
            object_store_url=house.object_store_url,
            bootstrap_token=bootstrap_token(house.key, intent_id),
            bundle_digest=house.bundle_digest,
            monitor_poll_s=house.monitor_poll_s,
        ),
    )


def open_attempt(draft: Draft, stage_name: str, reason: str, replaces: int | None = None) -> Attempt:
    """A new attempt at a stage, with the next number and the next epoch."""
    stage = next(s for s in draft.stages() if s.name == stage_name)
    number = max((a.number for a in draft.attempts(stage.name)), default=0) + 1
    draft.put(replace(stage, state="running", epoch=stage.epoch + 1))
    attempt = Attempt(stage.job, stage.name, number, stage.epoch + 1, draft.now, replaces=replaces)
    draft.put(attempt)
    draft.tell("attempt.created", reason, attempt)
    return attempt

from datetime import datetime, timedelta, timezone
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.pools import GIB, Hardware, Offer, Pool, Requirement
from orchestrator.model.spec import Placement
from orchestrator.policy import Wish, choose

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
GPU = Hardware(cpus=8, memory_bytes=64 * GIB, disk_bytes=GIB, gpu_model="A100", gpus=1)
NEED = Requirement(gpus=1)


def offer(zone: str = "a", usd: str = "1.00", market: str = "spot", **changes: object) -> Offer:
    pool = {"provider": "p", "region": "r", "zone": zone, "instance_type": "gpu", "market": market}
    whole = Offer(
        pool=Pool.model_validate(pool),
        hardware=GPU,
        usd_per_hour=Decimal(usd),
        on_demand_usd_per_hour=Decimal("4.00"),
    )
    return whole.model_copy(update=changes)


def wish(**changes: object) -> Wish:
    return Wish(NEED, Placement.model_validate(changes))


def test_the_cheapest_pool_that_will_do_is_chosen() -> None:
    choice = choose([offer("a", "2.00"), offer("b", "1.00")], wish(), {}, NOW)
    assert choice.offer is not None
    assert choice.offer.pool.zone == "b"


def test_the_bid_is_on_demands_price_and_never_above_the_jobs_cap() -> None:
    assert choose([offer()], wish(), {}, NOW).bid_usd_per_hour == Decimal("4.00")
    capped = choose([offer()], wish(max_usd_per_hour="2.50"), {}, NOW)
    assert capped.bid_usd_per_hour == Decimal("2.50")


def test_on_demand_is_taken_without_a_bid_where_no_spot_pool_will_do() -> None:
    choice = choose([offer(in_stock=False), offer(usd="4.00", market="on-demand")], wish(), {}, NOW)
    assert choice.offer is not None
    assert (choice.offer.pool.market, choice.bid_usd_per_hour) == ("on-demand", None)
    assert "no spot pool will do" in choice.reason


def test_a_job_that_wants_spot_waits_and_says_why() -> None:
    offers = [offer(in_stock=False), offer(usd="4.00", market="on-demand")]
    choice = choose(offers, wish(market="spot"), {}, NOW)
    assert choice.offer is None
    assert "out of stock" in choice.reason
    assert "the job wants spot" in choice.reason


def test_a_cooled_pool_is_asked_again_when_its_time_has_come() -> None:
    until = NOW + timedelta(seconds=60)
    pool = offer().pool
    assert choose([offer()], wish(), {pool: until}, NOW).retry_at == until
    assert choose([offer()], wish(), {pool: until}, until).offer is not None


def test_a_pool_that_took_an_instance_lately_must_be_a_quarter_cheaper() -> None:
    taken = offer("a", "1.00")
    need = Wish(NEED, Placement(), frozenset({taken.pool}))
    near, far = offer("b", "1.20"), offer("c", "1.30")
    assert choose([taken, near], need, {}, NOW).offer == near
    assert choose([taken, far], need, {}, NOW).offer == taken


def test_with_no_offers_at_all_it_says_that_nobody_has_such_an_instance() -> None:
    assert choose([], wish(), {}, NOW).reason.startswith("no provider offers")


prices = st.decimals(min_value="0.01", max_value="9", places=2)
offers = st.lists(
    st.builds(
        offer,
        zone=st.sampled_from("abcde"),
        usd=prices.map(str),
        market=st.sampled_from(["spot", "on-demand"]),
        in_stock=st.sampled_from([True, False, None]),
    ),
    unique_by=lambda o: o.pool,
)


@given(offers, st.sampled_from(["auto", "spot", "on-demand"]), st.none() | prices)
def test_no_choice_breaks_the_wish(found: list[Offer], market: str, cap: Decimal | None) -> None:
    choice = choose(found, wish(market=market, max_usd_per_hour=cap), {}, NOW)
    assert len(choice.considered) == len(found)
    if choice.offer is None:
        return
    assert choice.offer.in_stock is not False
    assert market in ("auto", choice.offer.pool.market)
    if cap is not None:
        assert choice.offer.usd_per_hour <= cap
        assert choice.bid_usd_per_hour is None or choice.bid_usd_per_hour <= cap


@given(offers)
def test_every_pool_that_was_not_chosen_is_told_why(found: list[Offer]) -> None:
    choice = choose(found, wish(), {}, NOW)
    chosen = [verdict for verdict in choice.considered if verdict.verdict == "chosen"]
    assert len(chosen) == (choice.offer is not None)
    assert all(verdict.verdict for verdict in choice.considered)

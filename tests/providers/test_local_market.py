"""Prices, stock and fates: functions of settings and a time."""

import gzip
import itertools
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.pools import Pool
from providers.base import ProviderError
from providers.local import catalog, open_provider
from providers.local.market import Fate, Launch, LocalMarket, Trace, open_market
from providers.local.settings import read_settings


def pool(instance_type: str = "local.gpu-1", market: str = "spot", zone: str = "local-a") -> Pool:
    names = {"provider": "local", "region": "local", "zone": zone}
    return Pool.model_validate({**names, "instance_type": instance_type, "market": market})


def market(seed: int = 0, **settings: Any) -> LocalMarket:
    return open_market(read_settings({"state_dir": "/nowhere", "market": settings}).market, seed)


def launch(ordinal: int = 1, of_type: int = 1, at_s: float = 0.0, alive: int = 0, **names: str) -> Launch:
    return Launch(pool(**names), ordinal, of_type, at_s, alive)


@given(at_s=st.floats(min_value=0, max_value=1e8), seed=st.integers(min_value=0, max_value=99))
def test_spot_costs_less_than_on_demand_and_more_than_nothing(at_s: float, seed: int) -> None:
    for each in catalog.pools():
        price = market(seed).usd_per_hour(each, at_s)
        assert 0 < price <= catalog.ON_DEMAND_USD_PER_HOUR[each.instance_type]
        if each.market == "spot":
            assert price < catalog.ON_DEMAND_USD_PER_HOUR[each.instance_type] * Decimal("0.55")


def test_prices_are_the_same_for_the_same_seed_and_differ_between_zones() -> None:
    prices = [market(7).usd_per_hour(pool(zone=zone), 1000.0) for zone in catalog.ZONES]
    assert prices == [market(7).usd_per_hour(pool(zone=zone), 1000.0) for zone in catalog.ZONES]
    assert len(set(prices)) == len(prices)


def test_a_price_moves_slowly() -> None:
    prices = [market().usd_per_hour(pool(), at_s) for at_s in range(0, 36000, 60)]
    steps = [abs(after - before) for before, after in itertools.pairwise(prices)]
    assert 0 < max(steps) < prices[0] * Decimal("0.02")


def test_on_demand_is_never_reclaimed() -> None:
    ruled = market(reclaims="script", script=[{"after_s": 1}])
    assert ruled.fate(launch(market="on-demand")) is None
    assert ruled.fate(launch()) == Fate(1.0, announced=True)


def test_a_script_counts_the_launches_of_the_type_it_names() -> None:
    rules = [
        {"launch": 2, "instance_type": "local.gpu-1", "after_s": 9, "notice": False},
        {"launch": 5, "after_s": 3},
    ]
    ruled = market(reclaims="script", script=rules)
    assert ruled.fate(launch(ordinal=4, of_type=1)) is None
    assert ruled.fate(launch(ordinal=6, of_type=2)) == Fate(9.0, announced=False)
    assert ruled.fate(launch(ordinal=2, of_type=2, instance_type="local.cpu-2")) is None
    assert ruled.fate(launch(ordinal=5, of_type=1)) == Fate(3.0, announced=True)


def test_a_script_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "script.toml"
    file.write_text("[[reclaim]]\nlaunch = 1\nafter_s = 4\n")
    assert market(reclaims="script", script=str(file)).fate(launch()) == Fate(4.0, announced=True)


def test_seeded_fates_repeat_and_have_the_mean_that_was_asked() -> None:
    drawn = [market(3, reclaims="seeded", mean_life_s=100).fate(launch(ordinal=n)) for n in range(1, 800)]
    again = [market(3, reclaims="seeded", mean_life_s=100).fate(launch(ordinal=n)) for n in range(1, 800)]
    assert drawn == again
    lives = [fate.after_s for fate in drawn if fate]
    assert 85 < sum(lives) / len(lives) < 115


def test_the_share_of_seeded_reclaims_without_notice_is_as_asked() -> None:
    seeded = market(reclaims="seeded", unannounced_share=0.25)
    fates = [seeded.fate(launch(ordinal=n)) for n in range(1, 800)]
    silent = sum(not fate.announced for fate in fates if fate)
    assert 0.2 < silent / len(fates) < 0.3


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "trace.json.gz"
    record = {"gap_seconds": 60, "avail": [2, 2, 1, 0], "on_demand_usd_h": 4.0, "price_usd_h": [1, 1, 2, 2]}
    file.write_bytes(gzip.compress(json.dumps(record).encode()))
    return file


def test_a_trace_drives_stock_price_and_reclaims(trace: Path) -> None:
    traced = market(reclaims="trace", trace=str(trace))
    assert [traced.stock(pool(), at_s) for at_s in (0, 60, 125, 200, 240)] == [2, 2, 1, 0, 2]
    assert traced.usd_per_hour(pool(), 130.0) == Decimal("2.0500")
    assert traced.fate(launch(at_s=10.0)) == Fate(170.0, announced=True)
    assert traced.fate(launch(at_s=10.0, alive=1)) == Fate(110.0, announced=True)


def test_a_trace_may_run_faster_and_leaves_other_pools_alone(trace: Path) -> None:
    traced = market(reclaims="trace", trace={"local-a": str(trace)}, trace_speed=10)
    assert traced.fate(launch(at_s=1.0)) == Fate(17.0, announced=True)
    assert traced.fate(launch(zone="local-b")) is None
    assert traced.fate(launch(instance_type="local.cpu-2")) is None


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=30),
    st.floats(min_value=0, max_value=1e5),
    st.integers(1, 3),
)
def test_a_traced_shortage_is_the_first_one(available: list[int], at_s: float, needed: int) -> None:
    trace = Trace(60.0, tuple(available))
    after_s = trace.shortage_after_s(at_s, needed)
    if after_s is None:
        assert min(available) >= needed
        return
    assert 0 < after_s <= 60.0 * len(available)
    assert trace.available[trace.step(at_s + after_s + 0.001)] < needed


def test_stock_limits_what_lives_at_once(cloud: Any) -> None:
    provider = cloud.provider(market={"stock": {"local-a/local.gpu-1/spot": 1, "*/local.cpu-2/*": 0}})
    first = provider.launch(cloud.order()).instance
    with pytest.raises(ProviderError) as none_left:
        provider.launch(cloud.order())
    assert none_left.value.outcome == "try_elsewhere"
    provider.terminate([first])
    cloud.ended(first)
    provider.launch(cloud.order())


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, "state_dir"),
        ({"state_dir": "/x", "sede": 1}, "sede"),
        ({"state_dir": "/x", "notice_window_s": -1}, "notice_window_s"),
        ({"state_dir": "/x", "monitor": "gcp"}, "monitor"),
        ({"state_dir": "/x", "market": {"reclaims": "trace"}}, "trace"),
        ({"state_dir": "/x", "market": {"reclaims": "script"}}, "script"),
        ({"state_dir": "/x", "market": {"reclaims": "script", "script": "/no/such.toml"}}, "/no/such.toml"),
        ({"state_dir": "/x", "market": {"stock": {"local-z/x/spot": 1}}}, "local-z/x/spot"),
        ({"state_dir": "/proc/nowhere"}, "/proc/nowhere"),
    ],
)
def test_wrong_settings_are_one_sentence_for_people(settings: dict[str, Any], names: str) -> None:
    with pytest.raises(ValueError, match=r".") as wrong:
        open_provider(settings)
    assert names in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_a_trace_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.gz").write_bytes(b"not gzip")
    settings = {
        "state_dir": str(tmp_path / "c"),
        "market": {"reclaims": "trace", "trace": str(tmp_path / "t.gz")},
    }
    with pytest.raises(ValueError, match=r"t\.gz cannot be read"):
        open_provider(settings)

"""The conformance suite: what `control` relies on, put to any provider."""

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol, get_args

import pytest

from orchestrator.model.launch import BootRecipe, LaunchOrder, Tags
from orchestrator.model.pools import Offer, Requirement
from providers.base import InstancePhase, InstanceState, Launched, Outcome, Provider, ProviderError

CPU = Requirement(cpus=1)
GPU = Requirement(cpus=1, gpus=1)


class Harness(Protocol):
    """What a suite's subclass knows about the cloud under test, and its interface does not say.

    `patience_s` is how long the cloud may take to boot an instance or to end one.
    """

    patience_s: float

    def provider(self) -> Provider:
        """A new handle on the one cloud under test, as another process would have it."""
        ...

    def recipe(self, intent: str) -> BootRecipe:
        """A recipe that boots; what it runs does not matter."""
        ...

    def living(self, instance: str) -> Sequence[object]:
        """Ground truth: whatever of this instance is alive or billed."""
        ...

    def launched(self) -> Sequence[str]:
        """Ground truth: every instance that the cloud ever started."""
        ...

    def reclaim(self, instance: str, window_s: float) -> None:
        """Have the cloud announce a reclaim, and take the instance `window_s` later. May pytest.skip."""
        ...


@dataclass
class Orders:
    """Makes orders of one installation, each with a token of its own."""

    harness: Harness
    installation: str = field(default_factory=lambda: uuid.uuid4().hex)

    def of(self, offer: Offer, **changes: object) -> LaunchOrder:
        intent = uuid.uuid4().hex
        order = LaunchOrder(
            token=intent,
            pool=offer.pool,
            bid_usd_per_hour=offer.on_demand_usd_per_hour if offer.pool.market == "spot" else None,
            tags=Tags(installation=self.installation, job="j-1", stage="train", attempt=2, rank=0, intent=intent),
            recipe=self.harness.recipe(intent),
        )
        return order.model_copy(update=changes)


def until(holds: Callable[[], bool], patience_s: float, what: str) -> None:
    """Wait for something to hold; fail with `what` where it does not within `patience_s`."""
    end = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"not within {patience_s} s: {what}")
        time.sleep(0.02)


def offer_of(provider: Provider, want: Requirement, market: str = "spot") -> Offer:
    """One offer with stock that meets `want`."""
    for offer in provider.offers(want):
        if offer.pool.market == market and offer.in_stock is not False:
            return offer
    pytest.skip(f"the cloud under test has no {market} offer for {want}")


def state_of(provider: Provider, instance: str) -> InstanceState:
    (state,) = provider.describe([instance])
    return state


class ProviderConformance:
    """Subclass it, give it a fixture `harness`, and let pytest collect the subclass."""

    @pytest.fixture
    def harness(self) -> Harness:
        raise NotImplementedError("a subclass of ProviderConformance gives the fixture `harness`")

    @pytest.fixture
    def provider(self, harness: Harness) -> Provider:
        return harness.provider()

    @pytest.fixture
    def orders(self, harness: Harness) -> Orders:
        return Orders(harness)

    @pytest.fixture
    def launched(self, provider: Provider, orders: Orders) -> Launched:
        return provider.launch(orders.of(offer_of(provider, CPU)))

    # ------------------------------------------------------------ offers

    @pytest.mark.parametrize("want", [CPU, GPU], ids=["cpu", "gpu"])
    def test_every_offer_meets_the_requirement(self, provider: Provider, want: Requirement) -> None:
        offers = provider.offers(want)
        assert offers, "nothing is offered at all"
        assert all(want.met_by(offer.hardware) for offer in offers)

    def test_offers_are_of_this_provider_and_have_prices(self, provider: Provider) -> None:
        for offer in provider.offers(CPU):
            assert offer.pool.provider == provider.name
            assert offer.usd_per_hour > 0
            assert offer.on_demand_usd_per_hour > 0

    def test_nothing_is_offered_for_what_nobody_has(self, provider: Provider) -> None:
        assert provider.offers(Requirement(gpus=1, gpu_models=("no such model",))) == []

    # ------------------------------------------------------------ launch

    def test_the_same_token_is_the_same_instance(self, harness: Harness, provider: Provider, orders: Orders) -> None:
        order = orders.of(offer_of(provider, CPU))
        first, again = provider.launch(order), harness.provider().launch(order)
        assert again == first
        assert list(harness.launched()) == [first.instance]

    def test_the_same_token_at_once_is_one_instance(self, harness: Harness, orders: Orders) -> None:
        order = orders.of(offer_of(harness.provider(), CPU))
        answers: list[str] = []

        def launch(handle: Provider) -> None:
            answers.append(handle.launch(order).instance)

        threads = [threading.Thread(target=launch, args=(harness.provider(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(harness.patience_s)
        assert len(answers) == len(threads)
        assert set(answers) == set(harness.launched())
        assert len(harness.launched()) == 1

    def test_another_token_is_another_instance(self, provider: Provider, orders: Orders) -> None:
        offer = offer_of(provider, CPU)
        assert provider.launch(orders.of(offer)).instance != provider.launch(orders.of(offer)).instance

    def test_a_launched_instance_comes_to_run(self, harness: Harness, provider: Provider, launched: Launched) -> None:
        until(
            lambda: state_of(provider, launched.instance).phase == "running",
            harness.patience_s,
            f"{launched.instance} runs",
        )
        assert state_of(provider, launched.instance).launched_at == launched.launched_at
        assert harness.living(launched.instance)

    def test_never_more_is_charged_than_was_bid(self, provider: Provider, orders: Orders) -> None:
        order = orders.of(offer_of(provider, CPU))
        assert order.bid_usd_per_hour is not None
        assert provider.launch(order).usd_per_hour <= order.bid_usd_per_hour

    def test_a_bid_below_the_price_means_elsewhere(self, harness: Harness, provider: Provider, orders: Orders) -> None:
        low = orders.of(offer_of(provider, CPU), bid_usd_per_hour=Decimal("0.0011"))
        with pytest.raises(ProviderError) as refused:
            provider.launch(low)
        assert refused.value.outcome == "try_elsewhere"
        assert list(harness.launched()) == []

    def test_a_pool_that_does_not_exist_is_an_error_with_an_outcome(
        self, harness: Harness, provider: Provider, orders: Orders
    ) -> None:
        offer = offer_of(provider, CPU)
        nowhere = offer.pool.model_copy(update={"instance_type": "no.such-type"})
        with pytest.raises(ProviderError) as refused:
            provider.launch(orders.of(offer, pool=nowhere))
        assert refused.value.outcome in set(get_args(Outcome)) - {"unknown_outcome"}
        assert refused.value.code
        assert refused.value.message
        assert list(harness.launched()) == []

    def test_a_token_whose_instance_is_gone_is_gone(self, harness: Harness, provider: Provider, orders: Orders) -> None:
        order = orders.of(offer_of(provider, CPU))
        instance = provider.launch(order).instance
        self._terminated(harness, provider, instance)
        with pytest.raises(ProviderError) as refused:
            provider.launch(order)
        assert refused.value.outcome == "gone"
        assert list(harness.launched()) == [instance]

    # ------------------------------------------------------------ states

    def test_an_id_nobody_knows_is_unknown_and_not_dead(self, provider: Provider, launched: Launched) -> None:
        nobody = "i-0123456789abcdef0"
        states = provider.describe([nobody, launched.instance])
        assert [state.instance for state in states] == [nobody, launched.instance]
        assert states[0].phase == "unknown"
        assert states[1].phase in get_args(InstancePhase)

    def test_the_tags_come_back(self, provider: Provider, orders: Orders) -> None:
        order = orders.of(offer_of(provider, CPU))
        instance = provider.launch(order).instance
        (owned,) = provider.list_owned(orders.installation)
        assert owned.instance == instance
        assert owned.tags == order.tags

    def test_only_our_own_are_listed(self, harness: Harness, provider: Provider, launched: Launched) -> None:
        others = Orders(harness)
        theirs = provider.launch(others.of(offer_of(provider, CPU))).instance
        listed = [state.instance for state in provider.list_owned(others.installation)]
        assert listed == [theirs]
        assert launched.instance not in listed
        assert provider.list_owned(uuid.uuid4().hex) == []

    # ------------------------------------------------------------ terminate

    def test_nothing_lives_after_terminate(self, harness: Harness, provider: Provider, launched: Launched) -> None:
        until(lambda: bool(harness.living(launched.instance)), harness.patience_s, "something lives")
        state = self._terminated(harness, provider, launched.instance)
        assert not harness.living(launched.instance)
        assert state.ended_at is not None
        assert not state.reclaimed
        assert state.reason

    def test_terminate_twice_is_terminate_once(self, harness: Harness, provider: Provider, launched: Launched) -> None:
        provider.terminate([launched.instance])
        harness.provider().terminate([launched.instance, launched.instance])
        state = self._terminated(harness, provider, launched.instance)
        assert self._terminated(harness, provider, launched.instance) == state

    # ------------------------------------------------------------ reclaims

    def test_a_reclaim_is_announced_until_it_is_acknowledged(
        self, harness: Harness, provider: Provider, launched: Launched
    ) -> None:
        harness.reclaim(launched.instance, 60.0)
        until(lambda: bool(provider.notices()), harness.patience_s, "the notice comes")
        (notice,) = provider.notices()
        assert notice.instance == launched.instance
        assert 0 < notice.left_s <= 60.0
        assert [seen.instance for seen in harness.provider().notices()] == [launched.instance]
        provider.acknowledge([notice])
        assert harness.provider().notices() == []

    def test_a_reclaimed_instance_is_said_to_be_reclaimed(
        self, harness: Harness, provider: Provider, launched: Launched
    ) -> None:
        harness.reclaim(launched.instance, 0.1)
        until(
            lambda: state_of(provider, launched.instance).phase == "terminated",
            harness.patience_s,
            "it is taken",
        )
        assert state_of(provider, launched.instance).reclaimed
        assert not harness.living(launched.instance)

    # ------------------------------------------------------------ preflight

    def test_preflight_finds_this_cloud_well(self, provider: Provider) -> None:
        findings = provider.preflight()
        assert findings
        assert [finding for finding in findings if not finding.ok] == []

    def _terminated(self, harness: Harness, provider: Provider, instance: str) -> InstanceState:
        provider.terminate([instance])
        until(
            lambda: state_of(provider, instance).phase == "terminated",
            harness.patience_s,
            f"{instance} is terminated",
        )
        return state_of(provider, instance)

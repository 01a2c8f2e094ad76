"""The local cloud as a Provider."""

import os
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from orchestrator.model.launch import BootRecipe, LaunchOrder
from orchestrator.model.pools import Offer, Pool, Requirement
from providers.base import Finding, InstancePhase, InstanceState, Launched, Notice, ProviderError
from providers.local import catalog
from providers.local.checks import findings
from providers.local.directory import CloudDirectory, open_directory
from providers.local.environment import instance_environment
from providers.local.host import import_root, settle
from providers.local.market import Launch, LocalMarket, open_market
from providers.local.record import TERMINATE, InstanceDirectory, new_reclaim, utc
from providers.local.settings import Settings, read_settings
from providers.local.shelf import Shelf

_SHOWN_AFTER_END_S = 3600.0  # about as long as EC2 shows a terminated instance
# What an instance may know of the machine; everything else of the caller's environment stays out.


def open_provider(settings: Mapping[str, Any]) -> "LocalProvider":
    """The entry point. Raises ValueError with a sentence for people where the settings are wrong."""
    read = read_settings(settings)
    return LocalProvider(read, open_directory(read.state_dir), open_market(read.market, read.seed))


class LocalProvider:
    """A Provider whose truth is a directory: several may be open on one at once, in any process."""

    name = catalog.PROVIDER

    def __init__(self, settings: Settings, directory: CloudDirectory, market: LocalMarket) -> None:
        self.settings = settings
        self.notice_window_s = settings.notice_window_s
        self._directory = directory
        self._market = market
        self._shelf = Shelf(directory)

    def offers(self, want: Requirement) -> list[Offer]:
        return [self._offer(pool) for pool in catalog.meeting(want)]

    def launch(self, order: LaunchOrder) -> Launched:
        """Raises ProviderError: refused, try_elsewhere, gone, unknown_outcome."""
        if not catalog.known(order.pool):
            raise ProviderError("refused", "InvalidParameterValue", f"the local cloud has no pool {order.pool}")
        try:
            home = self._placed(order)
            settle(home)
        except (OSError, subprocess.SubprocessError) as error:
            raise ProviderError("unknown_outcome", "HostError", f"{order.pool}: {error}") from error
        return self._launched(home, order)

    def terminate(self, ids: Sequence[str]) -> None:
        """Raises ProviderError (try_later) where the order could not be left, such as on a full disk."""
        for instance in ids:
            home = self._directory.home(instance)
            if home is not None and home.ended() is None:
                _terminate(home)

    def describe(self, ids: Sequence[str]) -> list[InstanceState]:
        return [self._described(instance) for instance in ids]

    def list_owned(self, installation: str) -> list[InstanceState]:
        states = [self._state(home) for home in self._shelf.homes_of(installation)]
        return [state for state in states if _shown(state)]

    def notices(self) -> list[Notice]:
        now_mono = time.monotonic()
        found = [_notice(home, now_mono) for home in self._shelf.unended()]
        return [notice for notice in found if notice is not None]

    def acknowledge(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            home = self._directory.home(notice.instance)
            if home is not None:
                home.write("acknowledged.json", {"handle": notice.handle})

    def preflight(self) -> list[Finding]:
        return findings(self.settings)

    # ------------------------------------------------------------ offers

    def _offer(self, pool: Pool) -> Offer:
        at_s = self._at_s()
        stock = self._market.stock(pool, at_s)
        return Offer(
            pool=pool,
            hardware=catalog.HARDWARE[pool.instance_type],
            usd_per_hour=self._market.usd_per_hour(pool, at_s),
            on_demand_usd_per_hour=catalog.ON_DEMAND_USD_PER_HOUR[pool.instance_type],
            in_stock=None if stock is None else self._shelf.alive_in(pool) < stock,
        )

    def _at_s(self) -> float:
        return time.time() - self._directory.made_at

    # ------------------------------------------------------------ launch

    def _placed(self, order: LaunchOrder) -> InstanceDirectory:
        """The order's instance on disk, there already or new."""
        instance = self._directory.instance_id(order.token)
        with self._directory.lock():
            there = self._directory.home(instance)
            if there is not None:
                return there
            at_s = self._at_s()
            usd_per_hour = self._agreed_price(order, at_s)
            self._check_stock(order.pool, at_s)
            return self._directory.add(instance, lambda home: self._fill(home, order, usd_per_hour, at_s))

    def _agreed_price(self, order: LaunchOrder, at_s: float) -> Decimal:
        price = self._market.usd_per_hour(order.pool, at_s)
        bid = order.bid_usd_per_hour
        if bid is not None and price > bid:
            message = f"{order.pool} costs {price} USD/h now, the bid is {bid} USD/h"
            raise ProviderError("try_elsewhere", "SpotMaxPriceTooLow", message)
        return price

    def _check_stock(self, pool: Pool, at_s: float) -> None:
        stock = self._market.stock(pool, at_s)
        if stock is not None and self._shelf.alive_in(pool) >= stock:
            raise ProviderError("try_elsewhere", "InsufficientInstanceCapacity", f"{pool} has none left")

    def _fill(self, home: InstanceDirectory, order: LaunchOrder, usd_per_hour: Decimal, at_s: float) -> None:
        settings = self.settings
        on_demand = catalog.ON_DEMAND_USD_PER_HOUR[order.pool.instance_type]
        record = {
            "order": order.model_dump(mode="json"),
            "launched_at": time.time(),
            "usd_per_hour": str(usd_per_hour),
            "on_demand_usd_per_hour": str(on_demand),
            "boot_delay_s": settings.boot_delay_s,
            "python": str(settings.python),
            "agent_command": list(settings.agent_command or _installed_agent(settings.python)),
            "environment": _environment(settings),
        }
        home.write("instance.json", record)
        home.write("recipe.json", self._recipe(order.recipe).model_dump(mode="json"))
        self._decide_fate(home, order.pool, at_s)

    def _recipe(self, recipe: BootRecipe) -> BootRecipe:
        own = {"monitor": self.settings.monitor, "monitor_poll_s": self.settings.poll_s}
        return recipe.model_copy(update={key: value for key, value in own.items() if value is not None})

    def _decide_fate(self, home: InstanceDirectory, pool: Pool, at_s: float) -> None:
        spot = self._shelf.spot_launches()
        launch = Launch(
            pool=pool,
            ordinal=1 + len(spot),
            ordinal_of_type=1 + spot.count(pool.instance_type),
            at_s=at_s,
            alive_in_pool=self._shelf.alive_in(pool),
        )
        fate = self._market.fate(launch)
        if fate is not None:
            reclaim = new_reclaim(uuid.uuid4().hex, fate.after_s, self.notice_window_s, fate.announced)
            home.write("reclaim.json", asdict(reclaim))

    def _launched(self, home: InstanceDirectory, order: LaunchOrder) -> Launched:
        instance = home.instance()
        if LaunchOrder.model_validate(instance["order"]) != order:
            message = f"{home.id} was launched by this token with another order"
            raise ProviderError("refused", "IdempotentParameterMismatch", message)
        ended = home.ended()
        if ended is not None:
            message = f"{home.id} was launched by this token and has ended: {ended.reason}"
            raise ProviderError("gone", "IdempotentInstanceTerminated", message)
        return Launched(home.id, Decimal(instance["usd_per_hour"]), utc(instance["launched_at"]))

    # ------------------------------------------------------------ states

    def _described(self, instance: str) -> InstanceState:
        home = self._directory.home(instance)
        return InstanceState(instance, "unknown") if home is None else self._state(home)

    def _state(self, home: InstanceDirectory) -> InstanceState:
        known = self._shelf.ended_state(home)
        if known is not None:
            return known
        try:
            settle(home)
        except (OSError, subprocess.SubprocessError) as error:
            return replace(self._shelf.state(home, "unknown"), reason=f"the host could not be asked: {error}")
        return self._shelf.ended_state(home) or self._shelf.state(home, _phase(home))


def _terminate(home: InstanceDirectory) -> None:
    trouble = None
    try:
        home.write("terminate.json", {"at": time.time()})
    except OSError as error:
        trouble = error
    heard = home.poke(TERMINATE)
    if trouble is not None and not heard:
        raise ProviderError("try_later", "HostError", f"{home.id}: {trouble}")
    try:
        settle(home)
    except (OSError, subprocess.SubprocessError) as error:
        raise ProviderError("try_later", "HostError", f"{home.id}: {error}") from error


def _phase(home: InstanceDirectory) -> InstancePhase:
    reclaim = home.reclaim()
    if home.has("terminate.json") or (reclaim is not None and reclaim.due(time.monotonic())):
        return "stopping"
    return "running" if home.has("running.json") else "pending"


def _shown(state: InstanceState) -> bool:
    return state.ended_at is None or time.time() - state.ended_at.timestamp() < _SHOWN_AFTER_END_S


def _notice(home: InstanceDirectory, now_mono: float) -> Notice | None:
    reclaim = home.reclaim()
    if reclaim is None or not reclaim.shows(now_mono) or home.acknowledged() == reclaim.handle:
        return None
    return Notice(home.id, reclaim.left_s(now_mono), reclaim.handle)


def _installed_agent(python: Path) -> tuple[str, ...]:
    return (str(python), "-m", "orchestrator.agent")


def _environment(settings: Settings) -> dict[str, str]:
    base = instance_environment(os.environ, settings.python)
    return {**base, "PYTHONPATH": str(import_root()), **settings.environment}

"""A local cloud in a directory of its own, whose every process is gone when the test is."""

import json
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.model.launch import BootRecipe, LaunchOrder, Tags
from orchestrator.model.pools import Pool
from providers.local import LocalProvider, ledger, open_provider, reclaim
from providers.local.processes import marked
from providers.local.record import InstanceDirectory

SLEEPER = ("/bin/sleep", "600")


@dataclass
class LocalCloud:
    """The harness of the conformance suite, and what the other tests need besides."""

    state_dir: Path
    settings: dict[str, Any] = field(default_factory=dict)
    patience_s: float = 20.0

    def provider(self, **settings: Any) -> LocalProvider:
        base = {"state_dir": self.state_dir, "agent_command": SLEEPER, "notice_window_s": 5.0}
        return open_provider({**base, **self.settings, **settings})

    def recipe(self, intent: str) -> BootRecipe:
        return BootRecipe(
            intent=intent,
            control_url="unix:///nowhere/orchd.sock",
            object_store_url=f"file://{self.state_dir}/objects",
            bootstrap_token="secret",
        )

    def order(self, instance_type: str = "local.gpu-1", market: str = "spot", **changes: Any) -> LaunchOrder:
        intent = uuid.uuid4().hex
        pool = {"provider": "local", "region": "local", "zone": "local-a"}
        order = LaunchOrder(
            token=intent,
            pool=Pool.model_validate({**pool, "instance_type": instance_type, "market": market}),
            bid_usd_per_hour=None,
            tags=Tags(installation="ours", job="j", stage="train", attempt=1, rank=0, intent=intent),
            recipe=self.recipe(intent),
        )
        return order.model_copy(update=changes)

    def home(self, instance: str) -> InstanceDirectory:
        return InstanceDirectory(self.state_dir / "instances" / instance)

    def running(self, instance: str) -> InstanceDirectory:
        self.wait_for(lambda: self.home(instance).has("running.json"), f"{instance} runs")
        return self.home(instance)

    def ended(self, instance: str, provider: LocalProvider | None = None) -> Any:
        provider = provider or self.provider()
        self.wait_for(lambda: provider.describe([instance])[0].phase == "terminated", f"{instance} has ended")
        return provider.describe([instance])[0]

    def init_pid(self, instance: str) -> int:
        self.wait_for(lambda: self.home(instance).has("boot.json"), f"{instance} boots")
        return int(json.loads((self.home(instance).path / "boot.json").read_text())["pid"])

    def living(self, instance: str) -> list[psutil.Process]:
        return marked(instance)

    def launched(self) -> list[str]:
        return [entry.instance for entry in ledger(self.state_dir)]

    def reclaim(self, instance: str, window_s: float) -> None:
        reclaim(self.state_dir, instance, window_s)

    def inits(self) -> list[psutil.Process]:
        """Every init process of this cloud, by its command line."""
        return [process for process in psutil.process_iter() if self._is_init(process)]

    def _is_init(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            line = process.cmdline()
            return "providers.local.init" in line and any(str(self.state_dir) in part for part in line)
        return False

    @staticmethod
    def wait_for(holds: Callable[[], object], what: str, within_s: float = 20.0) -> None:
        until = time.monotonic() + within_s
        while not holds():
            assert time.monotonic() < until, f"not within {within_s} s: {what}"
            time.sleep(0.01)

    def close(self) -> None:
        if not (self.state_dir / "instances").is_dir():
            return
        provider = self.provider(market={})
        instances = [path.name for path in (self.state_dir / "instances").iterdir()]
        provider.terminate(instances)
        for instance in instances:
            self.ended(instance, provider)
        self.wait_for(lambda: not self.inits(), "every init is gone")


@pytest.fixture
def cloud() -> Iterator[LocalCloud]:
    # Not tmp_path: a preflight rightly minds paths as long as those.
    with tempfile.TemporaryDirectory(prefix="orch-") as directory:
        cloud = LocalCloud(Path(directory) / "cloud")
        yield cloud
        cloud.close()

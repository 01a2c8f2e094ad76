"""What the local cloud rents out, and at what price: pure functions of a seed and a time.

The GPUs are pretended: the types have a model and a price, and the machine's own processors.
"""

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from orchestrator.model.pools import GIB, Hardware, Market, Pool, Requirement

PROVIDER = "local"
REGION = "local"
ZONES = ("local-a", "local-b", "local-c")
MARKETS: tuple[Market, ...] = ("spot", "on-demand")

HARDWARE = {
    "local.cpu-2": Hardware(cpus=2, memory_bytes=8 * GIB, disk_bytes=100 * GIB),
    "local.cpu-8": Hardware(cpus=8, memory_bytes=32 * GIB, disk_bytes=200 * GIB),
    "local.gpu-1": Hardware(
        cpus=12,
        memory_bytes=120 * GIB,
        disk_bytes=500 * GIB,
        gpu_model="A100",
        gpus=1,
        gpu_memory_bytes=40 * GIB,
    ),
    "local.gpu-8": Hardware(
        cpus=96,
        memory_bytes=960 * GIB,
        disk_bytes=2000 * GIB,
        gpu_model="A100",
        gpus=8,
        gpu_memory_bytes=40 * GIB,
    ),
    "local.gpu-v100": Hardware(
        cpus=8,
        memory_bytes=61 * GIB,
        disk_bytes=500 * GIB,
        gpu_model="V100",
        gpus=1,
        gpu_memory_bytes=16 * GIB,
    ),
}

ON_DEMAND_USD_PER_HOUR = {
    "local.cpu-2": Decimal("0.0960"),
    "local.cpu-8": Decimal("0.3840"),
    "local.gpu-1": Decimal("4.1000"),
    "local.gpu-8": Decimal("32.8000"),
    "local.gpu-v100": Decimal("3.0600"),
}

_SMALLEST_USD = Decimal("0.0001")
_MEAN_SPOT_SHARE = 0.33
_SWING = 0.06
_PERIODS_S = (3 * 3600.0, 11 * 3600.0, 37 * 3600.0)


def pools() -> Iterator[Pool]:
    for instance_type in HARDWARE:
        for zone in ZONES:
            for market in MARKETS:
                yield Pool(provider=PROVIDER, region=REGION, zone=zone, instance_type=instance_type, market=market)


def known(pool: Pool) -> bool:
    return pool.provider == PROVIDER and pool.region == REGION and pool.zone in ZONES and pool.instance_type in HARDWARE


def meeting(want: Requirement) -> list[Pool]:
    return [pool for pool in pools() if want.met_by(HARDWARE[pool.instance_type])]


def spot_share(seed: int, zone: str, instance_type: str, at_s: float) -> float:
    """The spot price as a share of the on-demand price: a slow, smooth sum of waves around a third."""
    waves = zip(_PERIODS_S, _phases(seed, zone, instance_type), strict=True)
    swing = sum(math.sin(2 * math.pi * (at_s / period_s + phase)) for period_s, phase in waves)
    return _MEAN_SPOT_SHARE + _SWING * swing


def price_of_share(instance_type: str, share: float) -> Decimal:
    usd = ON_DEMAND_USD_PER_HOUR[instance_type] * Decimal(share)
    return max(usd.quantize(_SMALLEST_USD), _SMALLEST_USD)


@lru_cache(maxsize=256)
def _phases(seed: int, zone: str, instance_type: str) -> tuple[float, ...]:
    draw = random.Random(f"{seed}/{zone}/{instance_type}")
    return tuple(draw.random() for _ in _PERIODS_S)

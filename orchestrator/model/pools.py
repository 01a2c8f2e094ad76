"""What capacity is drawn from: pools, the hardware in them, and what it costs now."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from orchestrator.model.frozen import Frozen

Market = Literal["spot", "on-demand"]

GIB = 1024**3


class Pool(Frozen):
    """(provider, region, zone, instance type, market): what capacity is drawn from."""

    provider: str
    region: str
    zone: str
    instance_type: str
    market: Market

    def __str__(self) -> str:
        return f"{self.provider}/{self.zone}/{self.instance_type}/{self.market}"


class Hardware(Frozen):
    """What one instance of a type has. Memory and disk in bytes."""

    cpus: int
    memory_bytes: int
    disk_bytes: int
    gpu_model: str | None = None
    gpus: int = 0
    gpu_memory_bytes: int = 0


class Offer(Frozen):
    """A pool with its price now. `in_stock` is None where the provider does not say."""

    pool: Pool
    hardware: Hardware
    usd_per_hour: Decimal
    on_demand_usd_per_hour: Decimal
    in_stock: bool | None = None


@dataclass(frozen=True)
class Requirement:
    """What a stage needs of an instance. Empty `gpu_models` means any model."""

    cpus: int = 1
    memory_bytes: int = 0
    disk_bytes: int = 0
    gpus: int = 0
    gpu_models: tuple[str, ...] = ()
    gpu_memory_bytes: int = 0

    def met_by(self, hardware: Hardware) -> bool:
        return (
            hardware.cpus >= self.cpus
            and hardware.memory_bytes >= self.memory_bytes
            and hardware.disk_bytes >= self.disk_bytes
            and hardware.gpus >= self.gpus
            and hardware.gpu_memory_bytes >= self.gpu_memory_bytes
            and self._has_wanted_gpu(hardware)
        )

    def _has_wanted_gpu(self, hardware: Hardware) -> bool:
        if self.gpus == 0:
            return hardware.gpus == 0
        return not self.gpu_models or hardware.gpu_model in self.gpu_models

"""What the control room is told once: its limits, its waits, and who it is."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Rules:
    """Waits in seconds, all of them named by the config file; see docs/config.md."""

    max_instances: int = 32
    max_usd_per_hour: Decimal | None = None
    boot_timeout_s: float = 300.0  # from launch to the agent's first word
    silence_timeout_s: float = 900.0  # an agent that says nothing for so long has lost its attempt
    deadline_grace_s: float = 10.0  # after a notice's deadline, before the standby is told to run
    barren_alarm: int = 2  # resumes without a new step: call a person
    barren_limit: int = 3  # as many: one on-demand attempt, then the job stops
    reclaim_memory_s: float = 600.0  # how long a pool is held to have taken an instance lately
    cooldown_s: float = 60.0  # a pool that had none
    refused_backoff_s: float = 300.0  # a launch that a person must make possible
    market_max_age_s: float = 30.0
    describe_poll_s: float = 5.0
    condemned_poll_s: float = 1.0
    terminate_repeat_s: float = 15.0
    notices_poll_s: float = 5.0
    sweep_s: float = 60.0
    spare_young_s: float = 120.0  # the sweep leaves younger instances alone
    consistency_delay_s: float = 5.0  # between two looks at a provider's list
    intent_max_age_s: float = 600.0  # an older intent is settled by its tag before any repeat
    resync_s: float = 60.0


@dataclass(frozen=True)
class House:
    """What every instance of ours is told and tagged with. `key` derives tokens; never log it."""

    installation: str
    key: bytes
    control_url: str
    object_store_url: str
    bundle_digest: str | None = None
    monitor_poll_s: float = 1.0

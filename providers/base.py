"""The Provider interface and its vocabulary of outcomes.

A provider starts machines, not jobs. Its calls block; the control room runs them in threads, each
with a deadline. An error code of the cloud becomes one `Outcome`, by a table that is data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, Protocol

from orchestrator.model.launch import LaunchOrder, Tags
from orchestrator.model.pools import Offer, Requirement

Outcome = Literal[
    "try_elsewhere",  # this pool has none: cool it down, choose another
    "try_later",  # throttled: the same order again, later
    "unknown_outcome",  # it may have happened: repeat with the same token
    "quota",  # our allowance is used up: another family or region, or wait
    "refused",  # configuration or permission: a person must act
    "gone",  # what the token or id names existed once and is gone: a new token
]

InstancePhase = Literal["pending", "running", "stopping", "terminated", "unknown"]


class ProviderError(Exception):
    """A provider said no, or said nothing. `outcome` decides what happens next."""

    def __init__(self, outcome: Outcome, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.outcome = outcome
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Launched:
    """The provider's word that the instance exists. `usd_per_hour` is what it charges."""

    instance: str
    usd_per_hour: Decimal
    launched_at: datetime


@dataclass(frozen=True)
class InstanceState:
    """What the provider says of one instance now.

    `phase` is `unknown` where it cannot say: that is never read as dead. `reason` is the
    provider's own word for the end ("reclaimed", "terminated by user", ...). `reclaimed` is True
    where the provider took it. `ended_at` is when billing stopped.
    """

    instance: str
    phase: InstancePhase
    tags: Tags | None = None
    launched_at: datetime | None = None
    ended_at: datetime | None = None
    reclaimed: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Notice:
    """A reclaim that the provider announced through its own channel (queue or poll)."""

    instance: str
    left_s: float
    handle: str  # what `acknowledge` needs


@dataclass(frozen=True)
class Finding:
    """One line of a preflight: what was looked at, whether it is well, and how to mend it."""

    subject: str
    ok: bool
    message: str
    mend: str = ""


class Provider(Protocol):
    """What every provider can do. All calls block and may raise ProviderError."""

    name: str
    notice_window_s: float  # how long before a reclaim this provider announces it

    def offers(self, want: Requirement) -> list[Offer]:
        """Pools that meet `want`, with their prices now."""
        ...

    def launch(self, order: LaunchOrder) -> Launched:
        """Start one instance. The same token again returns the same instance."""
        ...

    def terminate(self, ids: Sequence[str]) -> None:
        """Ask for the end of these instances. Idempotent; returns at once."""
        ...

    def describe(self, ids: Sequence[str]) -> list[InstanceState]:
        """One state for each id asked for, `unknown` where the provider cannot say."""
        ...

    def list_owned(self, installation: str) -> list[InstanceState]:
        """Everything that bears this installation's tag and is not long gone, with its tags."""
        ...

    def notices(self) -> list[Notice]:
        """Reclaims announced and not yet acknowledged."""
        ...

    def acknowledge(self, notices: Sequence[Notice]) -> None:
        """Forget these notices; called only after they were handled."""
        ...

    def preflight(self) -> list[Finding]:
        """Permissions, quotas, images: what would stop a job, before a job meets it."""
        ...


class ProviderFactory(Protocol):
    """What an entry point in the group `orchestrator.providers` names.

    `settings` is the provider's own table of the config file, already a plain mapping; the factory
    validates it and raises ValueError with a sentence for people where it is wrong.
    """

    def __call__(self, settings: Mapping[str, Any]) -> Provider: ...

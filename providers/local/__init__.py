"""The local cloud: its instances are process groups on this machine, its reclaims are real.

Launch orders come in; what leaves are detached `init` processes that run the agent, serve a metadata
service of both dialects on loopback, and take the instance away on time, whether or not whoever
launched it still lives. The cloud's truth is its directory on disk: any number of processes may open it.

`open_provider` is the entry point; `reclaim`, `advise` and `withdraw` stage what a cloud does to its
instances; `ledger` is the ground truth of every instance that ever was.

Names are loaded when they are first used: `init` runs from this package and needs none of them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from providers.local.accounts import LedgerEntry, ledger
    from providers.local.cloud import LocalProvider, open_provider
    from providers.local.environment import instance_environment
    from providers.local.staging import advise, reclaim, withdraw

__all__ = [
    "LedgerEntry",
    "LocalProvider",
    "advise",
    "instance_environment",
    "ledger",
    "open_provider",
    "reclaim",
    "withdraw",
]

_HOMES = {
    "LedgerEntry": "accounts",
    "LocalProvider": "cloud",
    "advise": "staging",
    "instance_environment": "environment",
    "ledger": "accounts",
    "open_provider": "cloud",
    "reclaim": "staging",
    "withdraw": "staging",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

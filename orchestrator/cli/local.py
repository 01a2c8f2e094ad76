"""What `orch` does on this machine without a daemon's help: the one module here that loads other rooms.

Each room is loaded when it is needed, so that no other command pays for it.
"""

from pathlib import Path


def living_instances(cloud: Path) -> list[str]:
    """The instances that live, by the local cloud's own ledger; none where there is no cloud."""
    if not cloud.exists():
        return []
    from providers.local import ledger

    return [entry.instance for entry in ledger(cloud) if entry.ended_at is None]


def terminate_instances(cloud: Path) -> None:
    """Order every living instance of the local cloud to end, and bury those whose init is dead."""
    alive = living_instances(cloud)
    if not alive:
        return
    from providers.local import open_provider

    provider = open_provider({"state_dir": str(cloud)})
    provider.terminate(alive)
    provider.describe(alive)

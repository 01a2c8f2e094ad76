"""What `orch` does on this machine without a daemon's help: the one module here that loads other rooms.

Each room is loaded when it is needed, so that no other command pays for it.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.model.config import Config
    from providers.base import Provider


def living_instances(cloud: Path) -> list[str]:
    """The instances that live, by the local cloud's own ledger; none where there is no cloud."""
    if not cloud.exists():
        return []
    from providers.local import ledger

    return [entry.instance for entry in ledger(cloud) if entry.ended_at is None]


def instance_environment() -> dict[str, str]:
    """The variables that an instance of the local cloud would find here."""
    from providers.local import instance_environment

    return instance_environment(os.environ, Path(sys.executable))


def terminate_instances(cloud: Path) -> None:
    """Order every living instance of the local cloud to end, and bury those whose init is dead."""
    alive = living_instances(cloud)
    if not alive:
        return
    from providers.local import open_provider

    provider = open_provider({"state_dir": str(cloud)})
    provider.terminate(alive)
    provider.describe(alive)


def check_config(path: Path | None) -> list[dict[str, Any]]:
    """What is wrong with a config file, its providers' tables included: path, line and message of each fault.

    A provider reads its table when it is opened; here that happens in a directory of its own, because a
    check leaves nothing behind and anybody may run it.
    """
    import tempfile

    from orchestrator.daemon import CannotStart, open_providers
    from orchestrator.model.config import read_config
    from orchestrator.model.faults import BadFile

    try:
        with tempfile.TemporaryDirectory(prefix="orch-check-") as scratch:
            open_providers(_elsewhere(read_config(path, os.environ), scratch))
    except BadFile as bad:
        return [{"path": fault.path, "line": fault.line, "message": fault.message} for fault in bad.faults]
    except CannotStart as error:
        return [{"path": "", "line": None, "message": str(error)}]
    return []


def _elsewhere(config: "Config", directory: str) -> "Config":
    """The config with its providers' state in this directory."""
    tables = {
        name: {**table, "state_dir": f"{directory}/{name}"} if isinstance(table.get("state_dir"), str) else table
        for name, table in config.providers.items()
    }
    return config.model_copy(update={"providers": tables})


def preflight(path: Path | None) -> list[dict[str, Any]]:
    """What each provider finds on this machine, without a daemon."""
    from orchestrator.daemon import CannotStart, open_providers
    from orchestrator.model.config import read_config
    from orchestrator.model.faults import BadFile

    try:
        providers = open_providers(read_config(path, os.environ))
    except (BadFile, CannotStart) as error:
        return [{"subject": "config", "ok": False, "message": str(error), "mend": "`orch config check`"}]
    return [finding for name, provider in providers.items() for finding in _findings(name, provider)]


def _findings(name: str, provider: "Provider") -> list[dict[str, Any]]:
    """The provider's preflight; one that does not answer is a finding too."""
    from providers.base import ProviderError

    try:
        found = provider.preflight()
    except ProviderError as error:
        mend = "look at the provider's status and at this machine's network"
        return [{"subject": f"provider {name}", "ok": False, "message": str(error), "mend": mend}]
    return [{"subject": f.subject, "ok": f.ok, "message": f.message, "mend": f.mend} for f in found]


def run_daemon(config: Path | None, state: Path | None) -> int:
    """Run orchd in this process; its exit code."""
    from orchestrator.daemon import main

    return main(config, state)


class CannotBundle(Exception):
    """The bundle could not be made or kept; the sentence says why."""


def keep_bundle(config: Path | None, state: Path | None, python: str, processor: str) -> str:
    """Make the agent's bundle and keep it in the object store; its digest. Raises CannotBundle."""
    from orchestrator import bundle
    from orchestrator.model.config import read_config
    from orchestrator.model.faults import BadFile

    try:
        store_url = read_config(config, os.environ, state).object_store
        return bundle.keep(store_url, bundle.make_bundle(python, processor))
    except BadFile:
        raise CannotBundle("the config file is wrong; `orch config check` says where") from None
    except bundle.CannotBundle as error:
        raise CannotBundle(str(error)) from None

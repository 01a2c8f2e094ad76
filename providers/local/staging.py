"""What a cloud does to its instances, done on purpose: for demos and tests.

Each works on a cloud's directory, from any process, and takes effect whoever else is alive.
"""

import time
import uuid
from pathlib import Path

from providers.local.directory import open_directory
from providers.local.life import sooner
from providers.local.record import Reclaim, new_reclaim


def reclaim(state_dir: Path, instance: str, window_s: float, announced: bool = True) -> Reclaim:
    """Take the instance in `window_s`, with a notice from now on or without a word.

    An earlier reclaim stands. Returns the one that holds. Raises ProviderError (gone).
    """
    home = open_directory(state_dir).living(instance)
    holds = sooner(home.reclaim(), new_reclaim(uuid.uuid4().hex, window_s, window_s, announced))
    home.write("reclaim.json", vars(holds))
    home.poke()
    return holds


def advise(state_dir: Path, instance: str) -> None:
    """Show the advice to rebalance. It ends nothing. Raises ProviderError (gone)."""
    home = open_directory(state_dir).living(instance)
    home.write("rebalance.json", {"at": time.time()})


def withdraw(state_dir: Path, instance: str) -> None:
    """Take back notice and advice: the instance stays. Raises ProviderError (gone)."""
    home = open_directory(state_dir).living(instance)
    home.remove("reclaim.json")
    home.remove("rebalance.json")
    home.poke()

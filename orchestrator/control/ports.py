"""What control is given by `daemon.py`, or by the simulation: every edge to the world."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.control.clock import Clock
from orchestrator.control.cloud import Cloud
from orchestrator.control.rules import House, Rules
from orchestrator.store.database import Database


@dataclass
class Ports:
    """`log` is a structlog logger; `random` draws the jitter of retries.

    `rules` is replaced whole when the config is read again: read it where it is used, keep no copy.
    """

    db: Database
    clouds: Mapping[str, Cloud]
    clock: Clock
    random: random.Random
    log: Any
    rules: Rules
    house: House

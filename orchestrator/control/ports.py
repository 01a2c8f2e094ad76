"""What control is given by `daemon.py`, or by the simulation: every edge to the world."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.control.clock import Clock
from orchestrator.control.cloud import Cloud
from orchestrator.control.rules import House, Rules
from orchestrator.store.database import Database


@dataclass(frozen=True)
class Ports:
    """`log` is a structlog logger; `random` draws the jitter of retries."""

    db: Database
    clouds: Mapping[str, Cloud]
    clock: Clock
    random: random.Random
    log: Any
    rules: Rules
    house: House

"""What the routes speak to, and how a route gets it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import AfterValidator

from orchestrator.api.printed import Printed
from orchestrator.control.desk import Desk
from orchestrator.control.office import Office
from orchestrator.control.ports import Ports
from orchestrator.objectstore import ObjectStore


@dataclass(frozen=True)
class Rooms:
    """`about` is the daemon's own description."""

    desk: Desk
    office: Office
    ports: Ports
    objects: ObjectStore
    printed: Printed
    about: Callable[[], dict[str, Any]]


def _rooms(request: Request) -> Rooms:
    rooms = request.app.state.rooms
    assert isinstance(rooms, Rooms)
    return rooms


MAX_WAIT_S = 30.0

# How long a request may be parked; a client that asks for more gets what there is.
WaitS = Annotated[float, Query(ge=0, allow_inf_nan=False), AfterValidator(lambda wait_s: min(wait_s, MAX_WAIT_S))]
# The seq of the last event that is known already.
After = Annotated[int, Query(ge=0, lt=2**63)]
Given = Annotated[Rooms, Depends(_rooms)]

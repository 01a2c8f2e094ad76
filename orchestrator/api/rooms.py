"""What the routes speak to, and how a route gets it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

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


Given = Annotated[Rooms, Depends(_rooms)]

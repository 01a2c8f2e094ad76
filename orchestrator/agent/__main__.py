"""`python -m orchestrator.agent`: what a machine's init runs."""

import os
import sys

import structlog

from orchestrator.agent.agent import Agent
from orchestrator.agent.place import find_place


def main() -> None:
    """Never returns but by a fault of the machine's set-up; init starts it again."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    place = find_place(os.environ)
    log = structlog.get_logger().bind(instance=place.instance, intent=place.recipe.intent)
    Agent(place, log).live()


main()

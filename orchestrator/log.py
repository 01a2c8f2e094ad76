"""Structured logs: JSON lines to stdout, or readable ones where a person looks."""

import logging
import sys
from typing import Literal

import structlog

Format = Literal["auto", "json", "console"]


def configure(form: Format, level: str) -> None:
    """Once, at the start. What libraries log through `logging` comes out in the same form."""
    readable = form == "console" or (form == "auto" and sys.stdout.isatty())
    last: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer()
    )
    exceptions = [] if readable else [structlog.processors.format_exc_info]
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        *exceptions,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for chatty in ("apscheduler", "uvicorn.access", "httpx", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)

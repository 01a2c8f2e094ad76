"""Listening for the cloud's own word that this instance will be taken: one file a metadata dialect.

A monitor knows one source and returns what it says now; what follows from it is decided elsewhere.
404 is quiet: there is nothing to say. Anything else that is not an answer is a MonitorError.
"""

from collections.abc import Callable

from orchestrator.agent.monitors.aliyun import AliyunMonitor
from orchestrator.agent.monitors.aws import AwsMonitor
from orchestrator.agent.monitors.metadata import Heard, Monitor, MonitorError

__all__ = ["AliyunMonitor", "AwsMonitor", "Heard", "Monitor", "MonitorError", "open_monitor"]


_DIALECTS: dict[str, Callable[[str], Monitor]] = {"aws": AwsMonitor, "aliyun": AliyunMonitor}


def open_monitor(dialect: str, url: str) -> Monitor:
    """The monitor of a dialect. Raises KeyError where nobody speaks it."""
    return _DIALECTS[dialect](url)

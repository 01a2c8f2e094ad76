"""systemd's notify protocol: readiness, reload, watchdog. Silent where systemd did not start us.

https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
"""

import os
import socket
from collections.abc import Mapping


def notify(state: str, env: Mapping[str, str]) -> bool:
    """Tell systemd, such as `READY=1`. Whether anybody listens."""
    address = env.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    # A leading @ is an abstract socket: its name begins with a NUL.
    target = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as speaker:
        speaker.sendto(state.encode(), target)
    return True


def watchdog_interval_s(env: Mapping[str, str]) -> float | None:
    """How long systemd waits for a sign of life of this very process; None: it does not."""
    if env.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    microseconds = env.get("WATCHDOG_USEC", "")
    return int(microseconds) / 1e6 if microseconds.isdigit() else None

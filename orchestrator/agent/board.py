"""What the agent's threads tell each other: the state that is reported, and the orders that came."""

import threading
import time
from typing import Any

from orchestrator.agent.notice import Notice
from orchestrator.agent.place import Place
from orchestrator.model.wire import Desired, NoticeHeard, Orders, Report

_STARTS_APART = 10**15


class Board:
    """Thread-safe. `dirty` is set by changes that control must hear of at once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._lock = threading.RLock()
        self._ordered = threading.Condition(self._lock)
        # Grows over the agent's lives on this machine, also where the count of starts could not be kept.
        self._seq = place.starts * _STARTS_APART + time.monotonic_ns() // 1000
        self._shown: dict[str, Any] = {}
        self._orders: Orders | None = None
        self._notice: Notice | None = None
        self.dirty = threading.Event()

    # ------------------------------------------------------------ what is reported

    def show(self, **changes: Any) -> None:
        """Change what is reported; only what differs is a change."""
        with self._lock:
            if all(self._shown.get(name, _ABSENT) == value for name, value in changes.items()):
                return
            self._shown.update(changes)
        self.dirty.set()

    def progress(self, **changes: Any) -> None:
        """Change what the next report will say; it need not hurry."""
        with self._lock:
            self._shown.update(changes)

    def shown(self, name: str) -> Any:
        with self._lock:
            return self._shown.get(name)

    def clear(self) -> None:
        """Forget what belonged to the last task."""
        with self._lock:
            kept = ("monitor_errors", "rebalance_advised")
            self._shown = {name: value for name, value in self._shown.items() if name in kept}

    def report(self) -> Report:
        """The whole state, as it is now."""
        with self._lock:
            self._seq += 1
            return Report.model_validate(
                {
                    **self._shown,
                    "intent": self._place.recipe.intent,
                    "owner": self._place.owner,
                    "seq": self._seq,
                    "revision": self._orders.revision if self._orders else 0,
                    "restarts": self._place.starts - 1,
                    "notice": self._heard(),
                }
            )

    def _heard(self) -> NoticeHeard | None:
        if self._notice is None:
            return None
        return NoticeHeard(source=self._notice.source, left_s=self._notice.left_s(time.monotonic()))

    # ------------------------------------------------------------ notices

    @property
    def notice(self) -> Notice | None:
        with self._lock:
            return self._notice

    def hear(self, notice: Notice) -> bool:
        """Whether it is news: the first notice stands."""
        with self._lock:
            if self._notice is not None:
                return False
            self._notice = notice
        self.dirty.set()
        return True

    def withdraw(self, source: str) -> bool:
        """Whether there was a notice of this source to take back."""
        with self._lock:
            if self._notice is None or self._notice.source != source:
                return False
            self._notice = None
        self.dirty.set()
        return True

    # ------------------------------------------------------------ orders

    def obey(self, orders: Orders) -> bool:
        """Whether these are newer than what we have; anything older is ignored."""
        with self._ordered:
            known = self._orders
            if known is not None and (orders.term, orders.revision) <= (known.term, known.revision):
                return False
            self._orders = orders
            self._ordered.notify_all()
            return True

    @property
    def desired(self) -> Desired | None:
        with self._lock:
            return self._orders.desired if self._orders else None

    def wait_for_orders(self, known: Desired | None, seconds: float) -> Desired | None:
        """What is desired, once it is not `known` any more or the time is up."""
        with self._ordered:
            self._ordered.wait_for(lambda: self.desired != known, seconds)
            return self.desired


_ABSENT = object()

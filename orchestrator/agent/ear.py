"""The thread that listens to the metadata service."""

import threading
import time
from typing import Any

from orchestrator.agent.board import Board
from orchestrator.agent.monitors import Heard, Monitor, MonitorError
from orchestrator.agent.notice import Notice


class Ear:
    """Polls one monitor. An answer that fails is counted, never taken for silence (B025)."""

    def __init__(self, monitor: Monitor, board: Board, poll_s: float, log: Any) -> None:
        self._monitor, self._board, self._poll_s, self._log = monitor, board, poll_s, log
        self._errors = 0

    def start(self) -> None:
        threading.Thread(target=self._listen, name="ear", daemon=True).start()

    def _listen(self) -> None:
        while True:
            self.listen_once()
            time.sleep(self._poll_s)

    def listen_once(self) -> None:
        try:
            heard = self._monitor.poll()
        except MonitorError as error:
            self._fail(error)
            return
        if self._errors:
            self._log.info("monitor.well", errors=self._errors)
        self._errors = 0
        self._board.show(monitor_errors=0, rebalance_advised=heard.advised)
        self._take(heard)

    def _fail(self, error: MonitorError) -> None:
        self._errors += 1
        if self._errors == 1:
            self._log.warning("monitor.unwell", reason=str(error))
        self._board.progress(monitor_errors=self._errors)

    def _take(self, heard: Heard) -> None:
        source = self._monitor.name
        if heard.left_s is None:
            # Once the trainer is being stopped, the way back is a new attempt.
            if self._board.shown("phase") not in ("stopping", "final") and self._board.withdraw(source):
                self._log.info("notice.withdrawn", source=source)
        elif self._board.hear(Notice(source, time.monotonic() + heard.left_s)):
            self._log.warning("notice.heard", source=source, left_s=heard.left_s)

"""Speaking with the control node: two kept-alive connections, one parked for orders, one for reports."""

import random
import threading
import time
from typing import Any

import httpx

from orchestrator.agent.board import Board
from orchestrator.agent.notice import Notice
from orchestrator.model.launch import BootRecipe
from orchestrator.model.wire import LogChunk, Orders

PARK_S = 20.0
ANSWER_WITHIN_S = 10.0
REPORT_EVERY_S = 1.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0


class Away(Exception):
    """The control node did not answer, or not with what we asked for."""


def open_client(recipe: BootRecipe) -> httpx.Client:
    """A connection of its own to the control node, with this instance's token."""
    headers = {"Authorization": f"Bearer {recipe.bootstrap_token}"}
    timeout = httpx.Timeout(ANSWER_WITHIN_S, read=PARK_S + ANSWER_WITHIN_S)
    if recipe.control_url.startswith("unix://"):
        transport = httpx.HTTPTransport(uds=recipe.control_url.removeprefix("unix://"))
        return httpx.Client(transport=transport, base_url="http://orch", headers=headers, timeout=timeout)
    return httpx.Client(base_url=recipe.control_url, headers=headers, timeout=timeout, trust_env=False)


def post(client: httpx.Client, path: str, body: str, **params: Any) -> Any:
    """The answer's JSON. Raises Away."""
    try:
        headers = {"Content-Type": "application/json"}
        response = client.post(path, content=body, params=params, headers=headers)
        if response.status_code != 200:
            raise Away(f"{path} answered {response.status_code}")
        return response.json()
    except (httpx.HTTPError, ValueError) as error:
        raise Away(f"{path}: {type(error).__name__}: {error}") from error


class Channel:
    """The two threads that sync. They never end by themselves: away is not dead."""

    def __init__(self, recipe: BootRecipe, board: Board, log: Any) -> None:
        self._recipe, self._board, self._log = recipe, board, log
        self._away: set[str] = set()

    def start(self) -> None:
        for name, loop in (("orders", self._listen), ("reports", self._tell)):
            threading.Thread(target=loop, name=name, daemon=True).start()

    def _listen(self) -> None:
        client = open_client(self._recipe)
        pause_s = FIRST_PAUSE_S
        while True:
            pause_s = self._sync("orders", client, PARK_S, pause_s)

    def _tell(self) -> None:
        client = open_client(self._recipe)
        pause_s = FIRST_PAUSE_S
        while True:
            self._board.dirty.clear()
            pause_s = self._sync("reports", client, 0.0, pause_s)
            if pause_s == FIRST_PAUSE_S:
                self._board.dirty.wait(REPORT_EVERY_S)

    def _sync(self, name: str, client: httpx.Client, wait_s: float, pause_s: float) -> float:
        """One exchange; the pause to make before the next one if that fails too."""
        try:
            body = self._board.report().model_dump_json()
            answer = Orders.model_validate(post(client, "/v1/agent/sync", body, wait_s=wait_s))
        except (Away, ValueError) as error:
            self._note_away(name, str(error))
            time.sleep(pause_s * random.uniform(0.5, 1.0))
            return min(LONGEST_PAUSE_S, pause_s * 2)
        self._note_back(name)
        self._take(answer)
        return FIRST_PAUSE_S

    def _take(self, orders: Orders) -> None:
        if orders.notice is not None:
            deadline = time.monotonic() + orders.notice.left_s
            if self._board.hear(Notice("control", deadline)):
                self._log.warning("notice.heard", source="control", left_s=round(orders.notice.left_s, 1))
        if self._board.obey(orders):
            self._log.info("orders.received", revision=orders.revision, desired=orders.desired.kind)

    def _note_away(self, name: str, reason: str) -> None:
        if name not in self._away:
            self._away.add(name)
            self._log.warning("control.away", connection=name, reason=reason)

    def _note_back(self, name: str) -> None:
        if name in self._away:
            self._away.discard(name)
            self._log.info("control.back", connection=name)


def ship(client: httpx.Client, chunk: LogChunk) -> int:
    """Send a piece of output; the offset that control wants next. Raises Away."""
    answer = post(client, "/v1/agent/logs", chunk.model_dump_json())
    try:
        return int(answer["next_offset"])
    except (KeyError, TypeError, ValueError) as error:
        raise Away(f"/v1/agent/logs: {error}") from error

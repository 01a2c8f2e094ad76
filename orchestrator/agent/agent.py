"""The agent: it does what is desired of it, and nothing else."""

import shutil
import threading
import time
from typing import Any

from orchestrator.agent import processes
from orchestrator.agent.board import Board
from orchestrator.agent.channel import Channel
from orchestrator.agent.ear import Ear
from orchestrator.agent.monitors import open_monitor
from orchestrator.agent.place import Place
from orchestrator.agent.shards import Shards
from orchestrator.agent.training import Training
from orchestrator.checkpoint import fetch_dataset, prefetch, stage_prefix
from orchestrator.model.wire import Desired, Leave, Run, Standby, TrainTask, Work
from orchestrator.objectstore import NotFound, ObjectStore, Unavailable, open_store

DISK_EVERY_S = 10.0


class Agent:
    """Follows the newest orders."""

    def __init__(self, place: Place, log: Any) -> None:
        self._place, self._log = place, log
        self._store: ObjectStore = open_store(place.recipe.object_store_url)
        self._board = Board(place)
        self._work: Training | Shards | None = None

    def live(self) -> None:
        """Until the machine ends."""
        processes.become_subreaper()
        found = processes.kill_marked(self._place.instance)
        self._log.info("agent.started", starts=self._place.starts, former_processes=found)
        Channel(self._place.recipe, self._board, self._log).start()
        monitor = open_monitor(self._place.recipe.monitor, self._place.metadata_url)
        Ear(monitor, self._board, self._place.recipe.monitor_poll_s, self._log).start()
        known: Desired | None = None
        while True:
            self._board.progress(disk_free_bytes=shutil.disk_usage(self._place.work).free)
            desired = self._board.wait_for_orders(known, DISK_EVERY_S)
            if self._work is None:
                # While a command runs, whoever runs it reaps.
                processes.reap([])
            if desired is not None and desired != known:
                self._follow(desired)
                known = desired

    def _follow(self, desired: Desired) -> None:
        if isinstance(desired, Standby):
            self._stand_by(desired.task)
        elif isinstance(desired, Run):
            self._run(desired.task)
        elif isinstance(desired, Work):
            self._do_shards(desired)
        elif isinstance(desired, Leave):
            self._leave(desired.grace_s)

    def _run(self, task: TrainTask) -> None:
        if isinstance(self._work, Training) and self._work.is_for(task):
            return
        self._leave()
        self._work = Training(task, self._place, self._store, self._board, self._log)

    def _do_shards(self, desired: Work) -> None:
        if isinstance(self._work, Shards):
            self._work.take(desired.task)
            return
        self._leave()
        self._work = Shards(desired.task, self._place, self._store, self._board, self._log)

    def _leave(self, grace_s: float = 0.0) -> None:
        """End what runs; a trainer may take its grace."""
        if self._work is not None:
            self._work.cancel(grace_s)
            self._work = None
            self._board.clear()
            self._board.show(phase="idle")

    def _stand_by(self, task: TrainTask) -> None:
        """Fetch everything, touch nothing."""
        self._leave()
        self._board.show(attempt=task.attempt, epoch=task.epoch)
        thread = threading.Thread(target=self._fetch, args=(task,), name="fetch", daemon=True)
        thread.start()

    def _fetch(self, task: TrainTask) -> None:
        """A help only: whatever is missing in the end is fetched when the attempt runs."""
        began_s = time.monotonic()
        try:
            if task.shards is not None:
                fetch_dataset(self._store, task.job, task.shards, self._place.dataset)
            chunks = prefetch(self._store, stage_prefix(task.job, "train"), self._place.cache)
            self._log.info("standby.fetched", chunks=chunks, took_s=round(time.monotonic() - began_s, 3))
        except (Unavailable, NotFound, OSError) as error:
            self._log.warning("standby.not_fetched", reason=str(error))
        if isinstance(self._board.desired, Standby):
            self._board.show(phase="standby")

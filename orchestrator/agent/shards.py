"""A worker's shards: one at a time, each in an empty directory, committed when its command succeeds."""

import shutil
import threading
import time
from typing import Any

from orchestrator.agent.board import Board
from orchestrator.agent.command import Command
from orchestrator.agent.keeper import FOR_EVER_S
from orchestrator.agent.place import Place
from orchestrator.agent.printing import HASTY_S, WHOLE_S, Printing, Stream
from orchestrator.checkpoint import Changed, Unstorable, commit_shard
from orchestrator.model.environment import resolve_environment
from orchestrator.model.wire import PreprocessTask, ShardLease, ShardReport
from orchestrator.objectstore import ObjectStore
from orchestrator.objectstore.patience import insist

TICK_S = 0.05


class Cancelled(Exception):
    """The lease is not ours any more, or the worker is to leave."""


class Shards:
    """A thread that works off the leases of the newest task it was given."""

    def __init__(self, task: PreprocessTask, place: Place, store: ObjectStore, board: Board, log: Any) -> None:
        self._task, self._place, self._store, self._board = task, place, store, board
        self._log = log.bind(job=task.job, attempt=task.attempt, epoch=task.epoch)
        self._lock = threading.Condition()
        self._reports: dict[tuple[int, int], ShardReport] = {}
        self._leaving = False
        board.show(attempt=task.attempt, epoch=task.epoch, phase="running", shards=())
        self._thread = threading.Thread(target=self._work, name="shards", daemon=True)
        self._thread.start()

    def take(self, task: PreprocessTask) -> None:
        """New leases; what is not among them any more is stopped."""
        with self._lock:
            self._task = task
            self._lock.notify_all()

    def cancel(self, _grace_s: float) -> None:
        """At once: a shard that is not committed is prepared anew in any case."""
        with self._lock:
            self._leaving = True
            self._lock.notify_all()
        self._thread.join()

    # ------------------------------------------------------------ leases

    def _work(self) -> None:
        while True:
            lease = self._next()
            if lease is None:
                return
            self._do(lease)

    def _next(self) -> ShardLease | None:
        """The next lease that was not tried; None when leaving."""
        with self._lock:
            while not self._leaving:
                for lease in self._task.leases:
                    if (lease.number, lease.lease) not in self._reports:
                        return lease
                self._lock.wait()
            return None

    def _holds(self, lease: ShardLease) -> bool:
        with self._lock:
            return not self._leaving and lease in self._task.leases

    def _report(self, lease: ShardLease, state: str, code: int = 0, reason: str = "") -> None:
        report = ShardReport.model_validate(
            {"number": lease.number, "lease": lease.lease, "state": state, "code": code, "reason": reason}
        )
        with self._lock:
            self._reports[(lease.number, lease.lease)] = report
            shown = tuple(self._reports.values())
        self._board.show(shards=shown)

    # ------------------------------------------------------------ one shard

    def _do(self, lease: ShardLease) -> None:
        self._report(lease, "running")
        try:
            self._run(lease)
        except Cancelled:
            return
        except (Changed, Unstorable) as error:
            self._report(lease, "failed", 0, str(error))
        except OSError as error:
            self._log.exception("shard.disk", shard=lease.number)
            self._report(lease, "failed", 0, f"the instance's disk: {error.strerror or error}")

    def _run(self, lease: ShardLease) -> None:
        home = self._place.attempt(self._task.attempt) / f"shard-{lease.number:05d}-{lease.lease}"
        output, cwd, printed = home / "output", home / "cwd", home / "shard.log"
        shutil.rmtree(home, ignore_errors=True)
        for directory in (output, cwd):
            directory.mkdir(parents=True)
        command = Command(self._task.command, self._environment(lease, str(output)), cwd, printed)
        name = f"shard-{lease.number:05d}"
        stream = Stream(printed, self._task.job, self._task.attempt, self._task.rank, name)
        printing = Printing(self._place, self._store, stream, self._log)
        within_s = HASTY_S
        try:
            code = self._wait(command, lease)
            within_s = WHOLE_S
        finally:
            command.end()
            printing.close(within_s)
        if code != 0:
            self._report(lease, "failed", code, f"the command ended with exit code {code}")
            return
        insist(
            lambda: commit_shard(self._store, self._task.job, lease.number, output),
            FOR_EVER_S,
            self._tell,
            self._sleep(lease),
        )
        self._log.info("shard.committed", shard=lease.number)
        self._report(lease, "committed")

    def _wait(self, command: Command, lease: ShardLease) -> int:
        while (code := command.poll()) is None:
            if not self._holds(lease):
                raise Cancelled
            time.sleep(TICK_S)
        return code

    def _environment(self, lease: ShardLease, output: str) -> dict[str, str]:
        task = self._task
        found = {
            **self._place.environment,
            "ORCH_JOB": task.job,
            "ORCH_ATTEMPT": str(task.attempt),
            "ORCH_EPOCH": str(task.epoch),
            "ORCH_SHARD": str(lease.number),
            "ORCH_SHARDS": str(task.shards),
            "ORCH_OUTPUT": output,
            "ORCH_NODE_RANK": str(task.rank),
        }
        return resolve_environment(task.env, found)

    def _tell(self, reason: str) -> None:
        self._board.show(trouble=f"the object store does not answer; trying again: {reason}")

    def _sleep(self, lease: ShardLease) -> Any:
        def sleep(seconds: float) -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                if not self._holds(lease):
                    raise Cancelled
                time.sleep(TICK_S)

        return sleep

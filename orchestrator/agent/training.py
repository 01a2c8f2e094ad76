"""One train attempt on this instance: fence, restore, run, stop in time, commit, say `final`."""

import secrets
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from orchestrator.agent.board import Board
from orchestrator.agent.command import Command
from orchestrator.agent.keeper import FOR_EVER_S, Keeper, Stopped, bug_sentence
from orchestrator.agent.notice import Notice, kill_at, stop_at
from orchestrator.agent.place import Place, write_json
from orchestrator.agent.printing import HASTY_S, WHOLE_S, Printing, Stream
from orchestrator.agent.progress import read_progress
from orchestrator.checkpoint import (
    Changed,
    DamagedLog,
    Fenced,
    NoTrustworthyCheckpoint,
    Restored,
    StageLog,
    Unstorable,
    complete,
    fetch_dataset,
    restore,
    stage_prefix,
)
from orchestrator.model.environment import resolve_environment
from orchestrator.model.wire import Exit, ExitKind, TrainTask
from orchestrator.objectstore import ObjectStore, Unavailable

TICK_S = 0.05
_SIGNALS = {number.value: number.name for number in signal.Signals} | {9: "SIGKILL, often for want of memory"}
FULL_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Directories:
    """An attempt's own places on the disk."""

    home: Path

    @property
    def cwd(self) -> Path:
        return self.home / "cwd"

    @property
    def checkpoints(self) -> Path:
        return self.home / "checkpoints"

    @property
    def output(self) -> Path:
        return self.home / "output"

    @property
    def notice(self) -> Path:
        return self.home / "notice.json"

    @property
    def progress(self) -> Path:
        return self.home / "progress.json"

    @property
    def printed(self) -> Path:
        return self.home / "train.log"

    def make(self) -> None:
        """Fresh for a trainer that starts; what was printed before stays."""
        for stale in (self.cwd, self.output):
            shutil.rmtree(stale, ignore_errors=True)
        for directory in (self.cwd, self.output, self.checkpoints):
            directory.mkdir(parents=True, exist_ok=True)
        for stale in (self.notice, self.progress):
            stale.unlink(missing_ok=True)


class Training:
    """A thread. `cancel` ends it and everything it started."""

    def __init__(self, task: TrainTask, place: Place, store: ObjectStore, board: Board, log: Any) -> None:
        self.task, self._place, self._store, self._board = task, place, store, board
        self._log = log.bind(job=task.job, attempt=task.attempt, epoch=task.epoch)
        self._at = Directories(place.attempt(task.attempt))
        self._stage_log = StageLog(store, stage_prefix(task.job, "train"), task.epoch, place.owner, _nonces(place))
        self._keeper = Keeper(self._stage_log, self._at.checkpoints, task.keep, board, self._log)
        self._cancelled = threading.Event()
        self._grace_s = 0.0
        self._stopped_mono: float | None = None
        self._stop_kind: ExitKind = "interrupted"
        self._last_step_mono = 0.0
        self._output_fault = ""
        self._seen_step: int | None = None
        self._thread = threading.Thread(target=self._live, name=f"training {task.attempt}", daemon=True)
        self._thread.start()

    def cancel(self, grace_s: float) -> None:
        """End it, and wait until it is gone. A trainer that runs hears its stop signal and has the grace."""
        self._grace_s = grace_s
        self._cancelled.set()
        self._keeper.leave()
        self._thread.join()

    def is_for(self, task: TrainTask) -> bool:
        return task.attempt == self.task.attempt

    # ------------------------------------------------------------ a life

    def _live(self) -> None:
        try:
            self._board.show(attempt=self.task.attempt, epoch=self.task.epoch, phase="restoring")
            restored = self._prepare()
            self._train(restored)
        except Stopped:
            return
        except Fenced as error:
            self._block("fenced", str(error))
        except NoTrustworthyCheckpoint as error:
            self._block("untrusted", f"no checkpoint in the log can be trusted: {error}")
        except DamagedLog as error:
            self._block("untrusted", f"the log of checkpoints cannot be read: {error}")
        except Unavailable as error:
            self._block("agent", f"the object store did not answer in time: {error}")
        except OSError as error:
            self._log.exception("training.disk")
            self._block("disk", f"the instance's disk: {error.strerror or error} ({error.filename})")
        except Exception as error:  # noqa: BLE001 - control must hear of it, the log has the traceback
            self._log.exception("training.bug")
            self._block("agent", bug_sentence(error))

    def _block(self, block: str, trouble: str) -> None:
        self._log.error("training.blocked", block=block, reason=trouble)
        self._board.show(phase="blocked", block=block, trouble=trouble)

    def _prepare(self) -> Restored | None:
        task, insist = self.task, self._keeper.insist
        self._at.make()
        if task.shards is not None:
            shards = task.shards
            insist(lambda: fetch_dataset(self._store, task.job, shards, self._place.dataset), FOR_EVER_S)
        insist(self._stage_log.open, FOR_EVER_S)
        restored = insist(lambda: restore(self._stage_log, self._at.checkpoints, self._place.cache), FOR_EVER_S)
        step = restored.step if restored else None
        self._log.info("training.restored", step=step)
        self._board.show(base_step=step, step=step)
        self._seen_step = step
        return restored

    def _train(self, restored: Restored | None) -> None:
        environment = self._environment(restored)
        command = Command(self.task.command, environment, self._at.cwd, self._at.printed)
        self._log.info("trainer.started", pid=command.pid)
        self._last_step_mono = command.started_mono
        stream = Stream(self._at.printed, self.task.job, self.task.attempt, self.task.rank, "train")
        printing = Printing(self._place, self._store, stream, self._log)
        self._keeper.start(restored.step if restored else None)
        self._board.show(phase="running")
        try:
            code = self._run_to_its_end(command)
            self._read_progress(command)
            self._finish(code)
        finally:
            printing.close(self._flush_s())
        self._say_final(code)

    def _flush_s(self) -> float:
        hasty = self._cancelled.is_set() or self._stopped_mono is not None or self._board.notice is not None
        return HASTY_S if hasty else WHOLE_S

    def _run_to_its_end(self, command: Command) -> int:
        """Its exit code, once nothing of it is left."""
        try:
            code = self._watch(command)
        finally:
            self._board.progress(trained_s=time.monotonic() - command.started_mono)
            ended_code = command.end()
        return ended_code if code is None else code

    def _environment(self, restored: Restored | None) -> dict[str, str]:
        task, at = self.task, self._at
        resume = str(at.checkpoints / restored.paths[0]) if restored else ""
        found = {
            **self._place.environment,
            "ORCH_JOB": task.job,
            "ORCH_ATTEMPT": str(task.attempt),
            "ORCH_EPOCH": str(task.epoch),
            "ORCH_CHECKPOINTS": str(at.checkpoints),
            "ORCH_RESUME": resume,
            "ORCH_OUTPUT": str(at.output),
            "ORCH_NODE_RANK": str(task.rank),
            "ORCH_NODES": "1",
            "ORCH_NOTICE_FILE": str(at.notice),
            "ORCH_PROGRESS_FILE": str(at.progress),
        }
        if task.shards is not None:
            found |= {"ORCH_DATA": str(self._place.dataset), "ORCH_SHARDS": str(task.shards)}
        return resolve_environment(task.env, found)

    # ------------------------------------------------------------ watching

    def _watch(self, command: Command) -> int | None:
        """Until the trainer has ended; its exit code, None where what is left must be ended by force."""
        while True:
            code = command.poll()
            if code is not None:
                return code
            if self._cancelled.is_set():
                self._let_go(command)
                raise Stopped
            if self._keeper.failure is not None:
                raise self._keeper.failure
            self._read_progress(command)
            self._board.progress(trained_s=time.monotonic() - command.started_mono)
            if self._should_go(command):
                return command.poll()
            time.sleep(TICK_S)

    def _let_go(self, command: Command) -> None:
        """It is not needed any more: what it saves now is kept nowhere, what it prints is."""
        until = time.monotonic() + self._grace_s
        if self._grace_s and self._stopped_mono is None:
            command.stop(self.task.stop_signal)
        while time.monotonic() < until and not command.has_stopped():
            time.sleep(TICK_S)

    def _should_go(self, command: Command) -> bool:
        """Stop it when it is time to; whether it has gone, or must."""
        now, notice = time.monotonic(), self._board.notice
        if self._stopped_mono is None:
            self._tell_trainer(notice)
            if notice is not None and now >= self._stop_moment(notice):
                self._stop(command, "interrupted")
            elif self._is_stalled(now):
                self._stop(command, "stalled")
            return False
        deadline = notice if self._stop_kind == "interrupted" else None
        return command.has_stopped() or now >= kill_at(deadline, self._stopped_mono, self.task.upload_p90_s)

    def _stop_moment(self, notice: Notice) -> float:
        return stop_at(notice, self.task.save_p90_s, self.task.upload_p90_s)

    def _tell_trainer(self, notice: Notice | None) -> None:
        """The notice file appears with a notice and goes with it."""
        if notice is None:
            self._at.notice.unlink(missing_ok=True)
        elif not self._at.notice.exists():
            left_s = notice.left_s(time.monotonic())
            deadline = datetime.now(timezone.utc) + timedelta(seconds=left_s)
            write_json(
                self._at.notice,
                {"deadline": deadline.isoformat(), "left_s": round(left_s, 3), "source": notice.source},
            )

    def _stop(self, command: Command, kind: ExitKind) -> None:
        self._stop_kind, self._stopped_mono = kind, time.monotonic()
        self._log.warning("trainer.stopping", kind=kind, signal=self.task.stop_signal)
        self._board.show(phase="stopping")
        command.stop(self.task.stop_signal)

    def _is_stalled(self, now: float) -> bool:
        return self.task.stall_s is not None and now - self._last_step_mono >= self.task.stall_s

    def _read_progress(self, command: Command) -> None:
        """Steps by the progress file; a trainer without one moves by its checkpoints."""
        found = read_progress(self._at.progress)
        committed = self._board.shown("committed")
        step = found.step if found.step is not None or committed is None else committed.step
        if step is None or step == self._seen_step:
            return
        self._seen_step, now = step, time.monotonic()
        self._last_step_mono = now
        self._board.progress(step=step, total_steps=found.total_steps, metrics=found.metrics)
        if self._board.shown("trainer_start_s") is None:
            # The first step is news: it ends the hand-over.
            self._board.show(trainer_start_s=now - command.started_mono)

    # ------------------------------------------------------------ the end

    def _finish(self, code: int) -> None:
        """Commit what the trainer left; with the last commit, that it ended well."""
        notice = self._board.notice
        left_s = None if notice is None else max(0.0, notice.left_s(time.monotonic()) - 1.0)
        began_mono = time.monotonic()
        self._keeper.finish(left_s)
        if self._keeper.failure is not None:
            raise self._keeper.failure
        if self._stopped_mono is not None:
            self._board.progress(save_s=began_mono - self._stopped_mono)
        if code == 0 and self._stopped_mono is None:
            self._complete(left_s)

    def _complete(self, left_s: float | None) -> None:
        output = self._at.output if self.task.output_path is not None else None
        for_s = FOR_EVER_S if left_s is None else left_s
        try:
            self._keeper.insist(lambda: complete(self._stage_log, 0, output), for_s)
        except (Unstorable, Changed) as error:
            self._output_fault = f"its output cannot be kept: {error}"

    def _say_final(self, code: int) -> None:
        kind: ExitKind = "succeeded" if code == 0 and not self._output_fault else "failed"
        if self._stopped_mono is not None:
            kind = self._stop_kind
        reason = self._output_fault or _sentence(kind, code, self.task.stall_s) + self._disk()
        self._log.info("training.final", kind=kind, code=code, step=self._board.shown("step"))
        self._board.show(phase="final", exit=Exit(kind=kind, code=code, reason=reason))

    def _disk(self) -> str:
        """A full disk explains most failures that come with it."""
        free_bytes = shutil.disk_usage(self._place.work).free
        full = f"; the instance's disk is full ({free_bytes} bytes are free)"
        return full if free_bytes <= FULL_BYTES else ""


def _sentence(kind: ExitKind, code: int, stall_s: float | None) -> str:
    if kind == "stalled":
        return f"the trainer made no step for {stall_s:.0f} s"
    if code < 0:
        return f"the trainer was ended by {_SIGNALS.get(-code, f'signal {-code}')}"
    # A shell ends with 128 and more where a signal ended its command.
    by = f" ({_SIGNALS[code - 128]})" if code - 128 in _SIGNALS else ""
    return f"the trainer ended with exit code {code}{by}"


def _nonces(place: Place) -> Callable[[], str]:
    return lambda: f"{place.starts}-{secrets.token_hex(8)}"

"""The init of one local instance: the first of its processes, and the one that ends all the others.

    python -m providers.local.init DIRECTORY LOCK_FD

It inherits the lock on `alive` from whoever launched it and holds it until it dies: the lock is the
instance's life. It belongs to nobody, so it carries out a reclaim in time whether or not the control
node is there. It sleeps until something is due, a child dies or a byte comes through the FIFO `wake`.
"""

import ctypes
import json
import os
import selectors
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

from providers.local import life, processes
from providers.local.metadata import LOOPBACK, Shown, serve
from providers.local.record import TERMINATE, Ended, InstanceDirectory

_PR_SET_CHILD_SUBREAPER = 36
_LONGEST_SLEEP_S = 1.0  # a wake-up that was lost costs no more than this
_KILL_ROUND_S = 1.0
_AGENT_LOG_BYTES = 8 * 1024 * 1024


class Agent:
    """The agent's process: started, and started again when it dies."""

    def __init__(self, home: InstanceDirectory, environment: dict[str, str], python: str) -> None:
        self._home = home
        self._environment = environment
        self._python = python
        self._pid: int | None = None
        self._started_mono = 0.0
        self._restarts = life.Restarts()
        self._start_at_mono = 0.0

    def start_if_due(self, now_mono: float) -> None:
        if self._pid is not None or now_mono < self._start_at_mono:
            return
        _bound_log(self._home.path / "agent.log")
        self._pid = self._spawn()
        self._started_mono = now_mono
        log("agent.started", pid=self._pid, crashes=self._restarts.crashes)

    def note_dead(self, ended: dict[int, int], now_mono: float) -> None:
        if self._pid not in ended:
            return
        self._restarts = self._restarts.after(now_mono - self._started_mono)
        self._start_at_mono = now_mono + self._restarts.pause_s()
        log("agent.died", pid=self._pid, code=ended[self._pid], again_in_s=self._restarts.pause_s())
        self._pid = None

    def due_mono(self) -> float | None:
        """When it wants to be started; None while it runs."""
        return None if self._pid is not None else self._start_at_mono

    def _spawn(self) -> int:
        boot = str(Path(__file__).with_name("boot.py"))
        output = str(self._home.path / "agent.log")
        appending = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return os.posix_spawn(
            self._python,
            [self._python, "-IS", boot, str(os.getpid()), str(self._home.path)],
            self._environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, output, appending, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setpgroup=0,
            setsigmask=(),
            setsigdef=(signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE),
        )


class Init:
    """One life of an instance, from boot to `ended.json`."""

    def __init__(self, home: InstanceDirectory, wakings: selectors.BaseSelector) -> None:
        self._home = home
        self._wakings = wakings
        self._instance = home.instance()
        self._terminate_asked = False
        self._host_stopping = False

    def live(self) -> None:
        end = self._booting() or self._running()
        log("instance.ending", reason=end.reason)
        while not processes.kill_own(self._home.id, _KILL_ROUND_S):
            log("instance.kill_again")
        self._record(end)

    def stop_host(self) -> None:
        self._host_stopping = True

    def _booting(self) -> life.Ending | None:
        up_mono = time.monotonic() + self._instance["boot_delay_s"]
        while (now := time.monotonic()) < up_mono:
            if end := self._ending():
                return end
            self._sleep_until(now, up_mono)
        return self._ending()

    def _running(self) -> life.Ending:
        url = self._serve_metadata()
        agent = Agent(self._home, self._environment(url), self._instance["python"])
        agent.start_if_due(time.monotonic())
        self._home.write("running.json", {"at": time.time(), "metadata_url": url})
        while (end := self._ending()) is None:
            now = time.monotonic()
            agent.note_dead(processes.reap(), now)
            agent.start_if_due(now)
            self._sleep_until(now, agent.due_mono())
        return end

    def _ending(self) -> life.Ending | None:
        if self._host_stopping:
            return life.Ending(life.HOST_STOPPED, reclaimed=False)
        asked = self._terminate_asked or self._home.has("terminate.json")
        return life.ending(self._home.reclaim(), asked, time.monotonic())

    def _sleep_until(self, now_mono: float, due_mono: float | None) -> None:
        reclaim = self._home.reclaim()
        dues = [now_mono + _LONGEST_SLEEP_S, due_mono, reclaim.take_mono if reclaim else None]
        sleep_s = min(due for due in dues if due is not None) - now_mono
        for key, _ in self._wakings.select(max(0.0, sleep_s)):
            self._read(key.fd)

    def _read(self, fd: int) -> None:
        if TERMINATE in os.read(fd, 4096):
            self._terminate_asked = True

    def _serve_metadata(self) -> str:
        server = serve(self._shown)
        threading.Thread(target=server.serve_forever, args=(3600.0,), daemon=True).start()
        return f"http://{LOOPBACK}:{server.server_address[1]}"

    def _shown(self) -> Shown:
        reclaim = self._home.reclaim()
        announced = reclaim is not None and reclaim.shows(time.monotonic())
        return Shown(
            instance=self._home.id,
            take_at=reclaim.take_at if reclaim and announced else None,
            advised_at=self._home.advised_at(),
        )

    def _environment(self, metadata_url: str) -> dict[str, str]:
        return {
            **self._instance["environment"],
            processes.MARKER: self._home.id,
            "ORCH_RECIPE": str(self._home.path / "recipe.json"),
            "ORCH_WORK": str(self._home.work),
            "ORCH_METADATA_URL": metadata_url,
        }

    def _record(self, end: life.Ending) -> None:
        ended = Ended(at=time.time(), reason=end.reason, reclaimed=end.reclaimed)
        while True:
            try:
                return self._home.record_end(ended)
            except OSError as error:
                log("instance.end_not_recorded", reason=str(error))
                time.sleep(_LONGEST_SLEEP_S)


def boot(home: InstanceDirectory) -> bool:
    """Mark the instance as booted. False where it has booted before: an instance lives once."""
    if home.has("boot.json") or home.ended() is not None:
        return False
    home.reserve_end()
    home.work.mkdir(exist_ok=True)
    home.wake.unlink(missing_ok=True)
    os.mkfifo(home.wake, 0o600)
    home.write("boot.json", {"at": time.time(), "pid": os.getpid()})
    return True


def wakings(home: InstanceDirectory) -> selectors.BaseSelector:
    """What may wake init: the FIFO, and signals through a pipe of their own."""
    selector = selectors.DefaultSelector()
    # Open for writing too, so that the last writer's close is not an end of file.
    selector.register(os.open(home.wake, os.O_RDWR | os.O_NONBLOCK), selectors.EVENT_READ)
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    selector.register(reading, selectors.EVENT_READ)
    return selector


def log(event: str, **values: object) -> None:
    """One JSON line in init.log. A full disk must not end an instance."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        print(json.dumps({"event": event, "at": at, **values}), flush=True)
    except OSError:
        return


def _bound_log(path: Path) -> None:
    if path.exists() and path.stat().st_size > _AGENT_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))


def main(arguments: list[str]) -> None:
    """Live one instance's life. The lock's descriptor stays open, and is not passed on."""
    home = InstanceDirectory(Path(arguments[0]))
    os.set_inheritable(int(arguments[1]), False)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if not boot(home):
        return
    init = Init(home, wakings(home))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: init.stop_host())
    log("instance.booted", pid=os.getpid())
    init.live()
    shutil.rmtree(home.work, ignore_errors=True)
    shutil.rmtree(home.bundle, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])

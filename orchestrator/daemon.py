"""orchd: the composition root. The only file that knows every room; it hands out the ports.

SIGTERM leaves through one door and leaves instances running; SIGHUP reads the config again.
"""

import asyncio
import os
import random
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from orchestrator import bundle, lock, log, systemd
from orchestrator.api.app import build_app
from orchestrator.api.printed import Printed
from orchestrator.api.rooms import Rooms
from orchestrator.control.clock import Clock
from orchestrator.control.cloud import ThreadedCloud
from orchestrator.control.desk import Desk
from orchestrator.control.loop import Control
from orchestrator.control.ports import Ports
from orchestrator.control.rules import House, Rules
from orchestrator.model import exits
from orchestrator.model.config import Config, read_config
from orchestrator.model.faults import BadFile
from orchestrator.objectstore import NotFound, ObjectStore, Unavailable, make_store, open_store
from orchestrator.objectstore.probe import ProbeFailed, probe
from orchestrator.store.cooldowns import forget_expired
from orchestrator.store.database import Database, StoreUnavailable, migrate, open_database
from orchestrator.store.installation import has_installation, installation
from orchestrator.store.instances import pools_in_use
from providers.base import Provider

GROUP = "orchestrator.providers"
PARTING_S = 2  # how long parked requests may take to end when we leave
CHORES_EVERY_MIN = 10


class CannotStart(Exception):
    """What stands in the way, in a sentence for people."""


@dataclass(frozen=True)
class Where:
    """What the command line said: which config file, which state directory."""

    config: Path | None
    state: Path | None

    def read(self) -> Config:
        """Raises BadFile."""
        return read_config(self.config, os.environ, self.state)

    def told(self, bad: BadFile) -> list[str]:
        """Each fault with its place."""
        return [fault.at(str(self.config or "the defaults")) for fault in bad.faults]


def main(config: Path | None, state: Path | None) -> int:
    """Run until SIGTERM or SIGINT; the exit code."""
    where = Where(config, state)
    try:
        settings = where.read()
        log.configure(settings.log.format, settings.log.level)
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = lock.hold(settings.state_dir)
        asyncio.run(_serve(where, settings))
        os.close(held)
    except BadFile as bad:
        return _tell(exits.BAD_FILE, *where.told(bad))
    except lock.Held as taken:
        return _tell(exits.REFUSED, str(taken))
    except (CannotStart, OSError) as error:
        return _tell(exits.FAILED, str(error))
    return exits.OK


def _tell(code: int, *lines: str) -> int:
    for line in lines:
        print(f"orchd: {line}", file=sys.stderr)
    return code


# ---------------------------------------------------------------- what is opened


def open_providers(settings: Config) -> dict[str, Provider]:
    """Every provider that the config names, by its entry point. Raises CannotStart."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    opened = {}
    for name, table in settings.providers.items():
        if name not in found:
            known = ", ".join(sorted(found)) or "none"
            raise CannotStart(f"[providers.{name}]: no such provider is installed; installed: {known}")
        try:
            opened[name] = found[name].load()(table)
        except ValueError as wrong:
            raise CannotStart(str(wrong)) from None
    return opened


async def open_objects(url: str, db: Database) -> ObjectStore:
    """The object store, once it has proved that its conditional writes hold. Raises CannotStart.

    Made for a new database only: whoever has jobs and finds no store has lost sight of it.
    """
    opened = open_store if await db.read(has_installation) else make_store
    try:
        store = opened(url)
        probe(store)
    except (ProbeFailed, Unavailable, ValueError) as error:
        raise CannotStart(f"object store {url}: {error}") from None
    return store


def migrate_database(url: str) -> None:
    """Raises CannotStart."""
    try:
        migrate(url)
    except StoreUnavailable as error:
        raise CannotStart(f"database {url}: {error}") from None


def check_bundle(settings: Config, objects: ObjectStore) -> None:
    """Raises CannotStart where instances would be told to fetch a bundle that they cannot run."""
    if settings.bundle is None:
        return
    try:
        bundle.verify(objects.get(bundle.key_of(settings.bundle)), settings.bundle)
    except NotFound:
        trouble = f"{bundle.key_of(settings.bundle)} is not in {settings.object_store}"
    except (bundle.CannotBundle, Unavailable) as error:
        trouble = str(error)
    else:
        return
    raise CannotStart(f"bundle: {trouble}; `orch bundle` makes one and names it")


async def check_providers(db: Database, opened: Collection[str]) -> None:
    """Raises CannotStart where a provider is not configured any more that may hold instances of ours."""
    missing = {pool.provider for pool in await db.read(pools_in_use)} - set(opened)
    if missing:
        names = " and ".join(f"[providers.{name}]" for name in sorted(missing))
        raise CannotStart(f"{names} is missing in the config, but may hold instances; put it back until none is left")


def rules_of(settings: Config) -> Rules:
    """What the control room goes by."""
    waits = settings.timings.model_dump(exclude={"monitor_poll_s"})
    return Rules(**waits, **settings.caps.model_dump())


def bind(path: Path, mode: int) -> socket.socket:
    """The unix socket; its file permissions decide who may speak. We hold the lock: a leftover is stale."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~mode)
    try:
        listener.bind(str(path))
    except OSError as error:
        raise CannotStart(f"the socket {path} cannot be made: {error.strerror or error}") from None
    finally:
        os.umask(before)
    return listener


async def _house(settings: Config, db: Database) -> House:
    ours = await db.write(installation)
    return House(
        installation=ours.id,
        key=ours.key,
        control_url=f"unix://{settings.socket}",
        object_store_url=settings.object_store,
        bundle_digest=settings.bundle,
        monitor_poll_s=settings.timings.monitor_poll_s,
    )


# ---------------------------------------------------------------- running


async def _serve(where: Where, settings: Config) -> None:
    logger = structlog.get_logger("orchd")
    migrate_database(settings.database)
    db = open_database(settings.database)
    objects = await open_objects(settings.object_store, db)
    check_bundle(settings, objects)
    opened = open_providers(settings)
    await check_providers(db, opened)
    clouds = {name: ThreadedCloud(one) for name, one in opened.items()}
    ports = Ports(
        db=db,
        clouds=clouds,
        clock=Clock(datetime.now(UTC), asyncio.get_running_loop()),
        random=random.SystemRandom(),
        log=logger,
        rules=rules_of(settings),
        house=await _house(settings, db),
    )
    try:
        await _run(where, settings, ports, objects)
    finally:
        for cloud in clouds.values():
            cloud.close()
        await db.close()
        logger.info("daemon.stopped", reason="Instances are left running; the next daemon finds them again.")


async def _run(where: Where, settings: Config, ports: Ports, objects: ObjectStore) -> None:
    control = Control(ports)
    server = _server(settings, ports, objects, control)
    listener = bind(settings.socket, settings.socket_mode)
    leaving = _on_signals(where, ports)
    async with _chores(ports):
        working = asyncio.create_task(control.run(), name="control")
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="api")
        watching = asyncio.create_task(_keep_watchdog(control, ports), name="watchdog")
        _announce(settings, ports)
        await asyncio.wait({working, serving, leaving}, return_when=asyncio.FIRST_COMPLETED)
        systemd.notify("STOPPING=1", os.environ)
        server.should_exit = True
        for task in (working, watching):
            task.cancel()
        ended = await asyncio.gather(working, serving, watching, return_exceptions=True)
        settings.socket.unlink(missing_ok=True)
    for outcome in ended:
        if isinstance(outcome, Exception):
            raise outcome


class _Server(uvicorn.Server):
    """Signals are the daemon's, not the web server's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with nullcontext():
            yield


def _server(settings: Config, ports: Ports, objects: ObjectStore, control: Control) -> uvicorn.Server:
    began = ports.clock.now()

    def about() -> dict[str, Any]:
        return {
            "version": version("orch"),
            "installation": ports.house.installation,
            "pid": os.getpid(),
            "started_at": began.isoformat(),
            "state_dir": str(settings.state_dir),
            "object_store": settings.object_store,
            "providers": sorted(ports.clouds),
        }

    rooms = Rooms(
        desk=Desk(control.office, control.market),
        office=control.office,
        ports=ports,
        objects=objects,
        printed=Printed(settings.state_dir / "logs"),
        about=about,
    )
    options = uvicorn.Config(
        build_app(rooms),
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=PARTING_S,
        timeout_keep_alive=60,
    )
    return _Server(options)


def _announce(settings: Config, ports: Ports) -> None:
    systemd.notify(f"READY=1\nMAINPID={os.getpid()}", os.environ)
    ports.log.info(
        "daemon.started",
        pid=os.getpid(),
        state_dir=str(settings.state_dir),
        socket=str(settings.socket),
        installation=ports.house.installation,
        providers=sorted(ports.clouds),
    )


def _on_signals(where: Where, ports: Ports) -> "asyncio.Future[None]":
    """A future that SIGTERM or SIGINT completes; SIGHUP reloads."""
    loop = asyncio.get_running_loop()
    leaving: asyncio.Future[None] = loop.create_future()

    def leave(name: str) -> None:
        ports.log.info("daemon.stopping", signal=name)
        if not leaving.done():
            leaving.set_result(None)

    loop.add_signal_handler(signal.SIGTERM, leave, "SIGTERM")
    loop.add_signal_handler(signal.SIGINT, leave, "SIGINT")
    loop.add_signal_handler(signal.SIGHUP, _reload, where, ports)
    return leaving


def _reload(where: Where, ports: Ports) -> None:
    """Limits, timings and the log change now; a wrong file changes nothing; the rest needs a restart."""
    systemd.notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}", os.environ)
    try:
        settings = where.read()
    except BadFile as bad:
        ports.log.error("config.refused", faults=where.told(bad), reason="The config file is wrong; nothing changed.")
    else:
        ports.rules = rules_of(settings)
        log.configure(settings.log.format, settings.log.level)
        ports.log.info("config.reloaded", reason="Limits, timings and logging are as the file says now.")
    systemd.notify("READY=1", os.environ)


async def _keep_watchdog(control: Control, ports: Ports) -> None:
    """Tell systemd that we live, as long as the loop turns and the resync comes round."""
    every_s = systemd.watchdog_interval_s(os.environ)
    while every_s is not None:
        age_s = (ports.clock.now() - control.turned_at).total_seconds()
        if age_s < 3 * ports.rules.resync_s:
            systemd.notify("WATCHDOG=1", os.environ)
        await ports.clock.sleep(every_s / 2)


@asynccontextmanager
async def _chores(ports: Ports) -> AsyncIterator[None]:
    """The light chores, which nothing waits for."""
    scheduler = AsyncIOScheduler(timezone=UTC)

    async def forget() -> None:
        now = ports.clock.now()
        await ports.db.write(lambda conn: forget_expired(conn, now))

    scheduler.add_job(forget, "interval", minutes=CHORES_EVERY_MIN)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)

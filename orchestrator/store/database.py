"""The database port: one writer, a few readers, no SQL on the event loop.

SQLite runs in WAL mode with synchronous=FULL: what `write` has returned survives a power cut.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError

from orchestrator.store.tables import metadata

T = TypeVar("T")
READERS = 4
BUSY_S = 30
DEADLINE_S = 120.0
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_S * 1000}")


class StoreUnavailable(Exception):
    """The database cannot be used now: a full disk, a lock, a lost file. The sentence says which."""


class Database(Protocol):
    """`fn` gets a connection inside one transaction, and runs to its end or not at all."""

    async def read(self, fn: Callable[[sa.Connection], T]) -> T:
        """`fn` on a consistent snapshot. Raises StoreUnavailable."""
        ...

    async def write(self, fn: Callable[[sa.Connection], T]) -> T:
        """`fn`, durable before this returns; rolled back where it raises. Raises StoreUnavailable."""
        ...

    async def close(self) -> None: ...


class ThreadedDatabase:
    """One writer thread and a few reader threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")

    async def read(self, fn: Callable[[sa.Connection], T]) -> T:
        return await self._in(self._readers, lambda: _run(self._engine, "BEGIN", fn))

    async def write(self, fn: Callable[[sa.Connection], T]) -> T:
        return await self._in(self._writer, lambda: _run(self._engine, "BEGIN IMMEDIATE", fn))

    async def _in(self, pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(loop.run_in_executor(pool, call), DEADLINE_S)
        except TimeoutError:
            raise StoreUnavailable(f"the store did not answer within {DEADLINE_S:.0f} s") from None

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.shutdown)
        await asyncio.to_thread(self._readers.shutdown)
        self._engine.dispose()


class InlineDatabase:
    """The same face on the calling thread, for the simulation: no threads, no waiting."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    async def read(self, fn: Callable[[sa.Connection], T]) -> T:
        return _run(self._engine, "BEGIN", fn)

    async def write(self, fn: Callable[[sa.Connection], T]) -> T:
        return _run(self._engine, "BEGIN IMMEDIATE", fn)

    async def close(self) -> None:
        self._engine.dispose()


def open_database(url: str) -> Database:
    """The store at this URL; `migrate` has been called."""
    return ThreadedDatabase(_engine(url))


def open_inline(url: str) -> Database:
    """For the simulation: `sqlite://` is in memory, with the schema made at once."""
    engine = _engine(url, poolclass=sa.pool.StaticPool)
    metadata.create_all(engine)
    return InlineDatabase(engine)


def migrate(url: str) -> None:
    """Bring the schema to this version; twice is once. Raises StoreUnavailable."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    engine = _engine(url)
    try:
        with _clear(), engine.connect() as conn:
            config.attributes["connection"] = conn
            command.upgrade(config, "head")
            conn.commit()
    except CommandError as error:
        raise StoreUnavailable(f"its schema was made by a newer version of orch: {error}") from None
    finally:
        engine.dispose()


def _run(engine: sa.Engine, begin: str, fn: Callable[[sa.Connection], T]) -> T:
    with _clear(), engine.connect() as conn:
        if conn.dialect.name == "sqlite":
            conn.exec_driver_sql(begin)
        try:
            result = fn(conn)
            conn.commit()
        except BaseException:
            conn.rollback()
            raise
        return result


@contextmanager
def _clear() -> Iterator[None]:
    """What the database says, in a sentence."""
    try:
        yield
    except sa.exc.IntegrityError:
        raise
    except (sa.exc.OperationalError, sa.exc.DatabaseError) as error:
        raise StoreUnavailable(f"the store cannot be used: {error.orig or error}") from error


def _engine(url: str, **options: Any) -> sa.Engine:
    engine = sa.create_engine(url, **options)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(raw: Any, _record: object) -> None:
    """Transactions are begun by us, explicitly: the driver's own are late and not IMMEDIATE."""
    raw.isolation_level = None
    cursor = raw.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()

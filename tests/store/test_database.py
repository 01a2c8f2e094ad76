"""The database: its schema by two roads, its transactions, and what it says when it cannot."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from orchestrator.store.database import StoreUnavailable, migrate, open_database, open_inline
from orchestrator.store.installation import has_installation, installation
from orchestrator.store.tables import metadata


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/orch.db"


def test_migrations_make_the_schema_that_the_code_knows(url: str) -> None:
    migrate(url)
    migrate(url)
    with sa.create_engine(url).connect() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_the_schema_of_the_simulation_is_the_same() -> None:
    async def tables() -> set[str]:
        return set(await open_inline("sqlite://").read(lambda conn: sa.inspect(conn).get_table_names()))

    assert asyncio.run(tables()) == set(metadata.tables)


def test_a_database_of_a_newer_orch_is_left_alone_in_words(url: str) -> None:
    migrate(url)
    with sa.create_engine(url).begin() as conn:
        conn.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreUnavailable, match="newer version of orch"):
        migrate(url)


def test_a_file_that_is_no_database_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "orch.db").write_text("not a database, but long enough to look like one" * 100)
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        migrate(f"sqlite:///{tmp_path}/orch.db")


def test_a_directory_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        migrate(f"sqlite:///{tmp_path}/nowhere/orch.db")


def test_what_raises_is_rolled_back_whole(url: str) -> None:
    async def scene() -> None:
        migrate(url)
        db = open_database(url)

        def half(conn: sa.Connection) -> None:
            installation(conn)
            raise RuntimeError("in the middle")

        with pytest.raises(RuntimeError):
            await db.write(half)
        assert not await db.read(has_installation)
        made = await db.write(installation)
        assert await db.write(installation) == made
        await db.close()

    asyncio.run(scene())


def test_what_was_written_is_on_the_disk_for_whoever_opens_it_next(url: str) -> None:
    async def scene() -> str:
        migrate(url)
        db = open_database(url)
        made = await db.write(installation)
        # Not closed: as after kill -9.
        return made.id

    made = asyncio.run(scene())
    with sqlite3.connect(url.removeprefix("sqlite:///")) as raw:
        assert raw.execute("SELECT id FROM installations").fetchall() == [(made,)]
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)

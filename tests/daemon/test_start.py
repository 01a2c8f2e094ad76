"""What the composition root looks at before it opens its doors."""

import asyncio

import pytest
from sqlalchemy import Connection

from orchestrator.control.record import put
from orchestrator.daemon import CannotStart, check_providers
from orchestrator.model.jobs import Attempt, Instance, Intent, Stage
from orchestrator.store.database import Database, open_inline
from orchestrator.store.jobs import insert_job
from tests.control.scenes import Scene


def test_a_provider_that_may_hold_instances_must_stay_in_the_config() -> None:
    scene = Scene()
    scene.decide()

    async def must_have_p(db: Database) -> None:
        with pytest.raises(CannotStart, match=r"\[providers.p\] is missing"):
            await check_providers(db, {"local"})
        await check_providers(db, {"local", "p"})

    async def story() -> None:
        db = open_inline("sqlite://")
        await check_providers(db, ())
        await db.write(lambda conn: _write(conn, scene))
        await must_have_p(db)
        scene.launch_all()
        await db.write(lambda conn: _write(conn, scene))
        await must_have_p(db)
        scene.gone(1)
        await db.write(lambda conn: put(conn, scene.instance(1)))
        await check_providers(db, {"local"})

    asyncio.run(story())


def _write(conn: Connection, scene: Scene) -> None:
    insert_job(conn, scene.job, (), "key")
    for kind in (Stage, Attempt, Intent, Instance):
        for row in scene.of(kind):
            put(conn, row)

"""The application: its routes over what it is given."""

from fastapi import FastAPI

from orchestrator.api import agents, follow, house, jobs
from orchestrator.api.errors import teach_errors
from orchestrator.api.rooms import Rooms


def build_app(rooms: Rooms) -> FastAPI:
    """All routes of docs/http.md."""
    app = FastAPI(title="orchd", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.rooms = rooms
    teach_errors(app)
    for router in (jobs.router, follow.router, agents.router, house.router):
        app.include_router(router)
    return app

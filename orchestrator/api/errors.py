"""What went wrong, as a status and one sentence."""

from collections.abc import Callable

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from orchestrator.api.printed import BadChunk
from orchestrator.checkpoint import DamagedLog
from orchestrator.control.desk import Forbidden, NoSuchJob, NotKnownYet
from orchestrator.control.drills import DrillRefused
from orchestrator.control.results import NoResult
from orchestrator.model.faults import BadFile
from orchestrator.objectstore import Unavailable
from orchestrator.store.database import StoreUnavailable

_STATUS: dict[type[Exception], int] = {
    BadChunk: 400,
    Forbidden: 401,
    NoSuchJob: 404,
    DamagedLog: 409,
    DrillRefused: 409,
    NoResult: 409,
    NotKnownYet: 503,
    StoreUnavailable: 503,
    Unavailable: 503,
}


def teach_errors(app: FastAPI) -> None:
    """Every exception that a person or an agent may cause has its status; the others are ours: 500."""
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _answer(status))
    app.add_exception_handler(BadFile, _bad_file)
    app.add_exception_handler(RequestValidationError, _bad_request)
    app.add_exception_handler(HTTPException, _no_route)


def _answer(status: int) -> Callable[[Request, Exception], JSONResponse]:
    return lambda _request, error: JSONResponse({"error": str(error)}, status)


def _bad_file(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, BadFile)
    faults = [{"path": f.path, "line": f.line, "message": f.message} for f in error.faults]
    return JSONResponse({"error": "the job file is wrong", "faults": faults}, 422)


def _no_route(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": f"{request.method} {request.url.path}: {error.detail}"}, error.status_code)


def _bad_request(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg']}" for e in error.errors()]
    return JSONResponse({"error": f"the request is wrong: {'; '.join(found)}"}, 400)

"""The HTTP face: what the command line and the agents ask, over the daemon's unix socket.

Requests come in as JSON and leave as questions to `control.desk`; rows come back and leave as JSON whose
shapes docs/http.md lists. Nothing is decided here.
"""

from orchestrator.api.app import build_app

__all__ = ["build_app"]

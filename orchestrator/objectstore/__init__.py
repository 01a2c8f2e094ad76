"""One narrow interface over object storage: bytes in, bytes out, by key.

Keys come in, bytes come out; nothing here knows what a checkpoint is. A back end must make `put`
and `create` atomic and durable before they return, and must let exactly one `create` of a key win.
"""

from orchestrator.objectstore.base import (
    AlreadyExists,
    NotFound,
    ObjectStore,
    Unavailable,
)
from orchestrator.objectstore.open import make_store, open_store

__all__ = ["AlreadyExists", "NotFound", "ObjectStore", "Unavailable", "make_store", "open_store"]

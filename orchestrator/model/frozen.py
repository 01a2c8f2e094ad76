"""The one base of all data that is stored as JSON or sent over a wire."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, and strict about names: an unknown key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Tolerant(BaseModel):
    """Immutable, and deaf to unknown keys: for messages between versions that may differ."""

    model_config = ConfigDict(frozen=True, extra="ignore")

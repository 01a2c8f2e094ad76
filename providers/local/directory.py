"""The cloud's directory: which instances there are, and where. Any number of processes may open it."""

import hashlib
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from providers.base import ProviderError
from providers.local.record import InstanceDirectory, read_json, sync_directory, waited_lock, write_json

_INSTANCE_ID = re.compile(r"i-[0-9a-f]{12}")


@dataclass(frozen=True)
class CloudDirectory:
    """`<state_dir>`, with the cloud's own id and the moment it was made (seconds since 1970)."""

    path: Path
    cloud: str
    made_at: float

    @property
    def instances(self) -> Path:
        return self.path / "instances"

    def lock(self) -> AbstractContextManager[None]:
        """Held by whoever adds an instance."""
        return waited_lock(self.path / "cloud.lock")

    def instance_id(self, token: str) -> str:
        """The same token is the same instance, in this cloud."""
        return f"i-{hashlib.sha256(f'{self.cloud}/{token}'.encode()).hexdigest()[:12]}"

    def homes(self) -> Iterator[InstanceDirectory]:
        """Every instance that ever was, in the order of their ids."""
        for path in sorted(self.instances.iterdir()):
            yield InstanceDirectory(path)

    def home(self, instance: str) -> InstanceDirectory | None:
        home = InstanceDirectory(self.instances / instance)
        return home if _INSTANCE_ID.fullmatch(instance) and home.path.is_dir() else None

    def living(self, instance: str) -> InstanceDirectory:
        """The instance, not ended. Raises ProviderError (gone)."""
        home = self.home(instance)
        if home is None or home.ended() is not None:
            raise ProviderError("gone", "InvalidInstanceID.NotFound", f"{instance} is not alive in {self.path}")
        return home

    def add(self, instance: str, fill: Callable[[InstanceDirectory], None]) -> InstanceDirectory:
        """Make the instance exist, whole or not at all. The caller holds the lock."""
        drafts = self.path / "drafts"
        shutil.rmtree(drafts, ignore_errors=True)  # of launchers that were killed: we hold the lock
        draft = InstanceDirectory(drafts / instance)
        draft.path.mkdir(parents=True, mode=0o700)
        fill(draft)
        sync_directory(draft.path)
        draft.path.rename(self.instances / instance)
        sync_directory(self.instances)
        return InstanceDirectory(self.instances / instance)


def open_directory(path: Path) -> CloudDirectory:
    """The cloud at `path`, made where there is none. Raises ValueError where it cannot be."""
    try:
        (path / "instances").mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(0o700)
        with waited_lock(path / "cloud.lock"):
            cloud = read_json(path / "cloud.json")
            if cloud is None:
                cloud = {"cloud": uuid.uuid4().hex, "made_at": time.time()}
                write_json(path / "cloud.json", cloud)
    except OSError as error:
        raise ValueError(
            f"the local cloud's state_dir {path} cannot be used: {error.strerror}; name one of your own"
        ) from None
    return CloudDirectory(path, cloud["cloud"], cloud["made_at"])

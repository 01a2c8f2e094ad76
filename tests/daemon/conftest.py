"""A daemon for one test, and an end to all it started."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.scenes import Orchd


@pytest.fixture
def orchd() -> Iterator[Orchd]:
    """Not yet started. Its directory has a short name: sockets lie below it."""
    home = Path(tempfile.mkdtemp(prefix="orchd-"))
    one = Orchd(home)
    one.configure()
    yield one
    one.close()
    shutil.rmtree(home)

"""The local cloud is a provider like any other."""

from typing import Any

import pytest

from providers.testing import Harness, ProviderConformance


class TestLocal(ProviderConformance):
    @pytest.fixture
    def harness(self, cloud: Any) -> Harness:
        harness: Harness = cloud
        return harness

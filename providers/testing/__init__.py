"""What shows that a provider is one: the conformance suite, for ours and for third parties'.

A provider and a harness that knows its ground truth come in; pass or fail comes out. Write one
subclass of `ProviderConformance` with a fixture named `harness`, and let pytest collect it:

    class TestMyCloud(ProviderConformance):
        @pytest.fixture
        def harness(self) -> Iterator[Harness]: ...

Needs pytest. Nothing here reaches a network of its own.
"""

import pytest

# So that a failure shows the values it compared, also where the suite is installed.
pytest.register_assert_rewrite("providers.testing.conformance")

from providers.testing.conformance import Harness, ProviderConformance  # noqa: E402

__all__ = ["Harness", "ProviderConformance"]

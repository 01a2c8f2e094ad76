"""What shows that a provider is one: the conformance suite, for ours and for third parties'.

A provider and a harness that knows its ground truth come in; pass or fail comes out. Write one
subclass of `ProviderConformance` with a fixture named `harness`, and let pytest collect it:

    class TestMyCloud(ProviderConformance):
        @pytest.fixture
        def harness(self) -> Iterator[Harness]: ...

Needs pytest. Nothing here reaches a network of its own.
"""

from providers.testing.conformance import Harness, ProviderConformance

__all__ = ["Harness", "ProviderConformance"]

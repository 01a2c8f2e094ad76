"""Telling changes, not polls: a provider call that begins to fail, and that works again."""

from typing import Any

from providers.base import ProviderError


class Wellness:
    """Per provider and call, whether it failed last time."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._failures: dict[tuple[str, str], int] = {}

    def failed(self, provider: str, call: str, error: ProviderError) -> None:
        key = (provider, call)
        self._failures[key] = self._failures.get(key, 0) + 1
        if self._failures[key] == 1:
            self._log.warning(
                "provider.unwell",
                provider=provider,
                call=call,
                outcome=error.outcome,
                code=error.code,
                reason=error.message,
                exc_info=error.__cause__,
            )

    def answered(self, provider: str, call: str) -> None:
        failures = self._failures.pop((provider, call), 0)
        if failures:
            self._log.info("provider.well", provider=provider, call=call, failures=failures)

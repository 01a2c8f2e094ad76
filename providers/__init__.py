"""The clouds. Each knows `providers.base` and `orchestrator.model`, and nothing else of ours.

Providers are found through the entry-point group `orchestrator.providers`; ours are no different
from a stranger's.
"""

"""What things are: job specs, pools and offers, attempts, events, money, wire messages.

Plain frozen data and pure functions over it. Everyone may import this room; it imports nothing of
ours and does no I/O. It must run on Python 3.10, because the agent carries it to instances.

The modules are the public names: import `orchestrator.model.pools`, not this package, so that a
command that needs only exit codes does not pay for pydantic.
"""

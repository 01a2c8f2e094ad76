"""What we remember: jobs, attempts, intents, instances, events, in SQLite (default) or PostgreSQL.

Rows come in and leave as the frozen dataclasses of `orchestrator.model.jobs`; `put_*` writes a whole row.
Every row function takes a connection: whoever calls decides what belongs into one transaction, by way of
`database.Database`. Nothing is decided here.
"""

"""How Alembic runs here: on the connection that `database.migrate` gives it."""

from alembic import context

from orchestrator.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()

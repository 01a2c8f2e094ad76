"""The whole first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cooldowns",
        sa.Column("pool", sa.String(), nullable=False),
        sa.Column("pool_json", sa.String(), nullable=False),
        sa.Column("until", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("pool"),
    )
    op.create_index(op.f("ix_cooldowns_until"), "cooldowns", ["until"], unique=False)
    op.create_table(
        "events",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=True),
        sa.Column("stage", sa.String(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=True),
        sa.Column("instance", sa.String(), nullable=True),
        sa.Column("pool", sa.String(), nullable=True),
        sa.Column("data", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_events_job"), "events", ["job"], unique=False)
    op.create_table(
        "installations",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "jobs",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("toml", sa.String(), nullable=False),
        sa.Column("spec", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=True),
        sa.Column("ended_at", sa.String(), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
        sa.UniqueConstraint("idempotency_key"),
    )
    op.create_index(op.f("ix_jobs_ended_at"), "jobs", ["ended_at"], unique=False)
    op.create_index(op.f("ix_jobs_name"), "jobs", ["name"], unique=False)
    op.create_index(op.f("ix_jobs_state"), "jobs", ["state"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.String(), nullable=True),
        sa.Column("replaces", sa.Integer(), nullable=True),
        sa.Column("told_run_at", sa.String(), nullable=True),
        sa.Column("first_step_at", sa.String(), nullable=True),
        sa.Column("final_at", sa.String(), nullable=True),
        sa.Column("ended_at", sa.String(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("committed_step", sa.Integer(), nullable=True),
        sa.Column("committed_at", sa.String(), nullable=True),
        sa.Column("reached_step", sa.Integer(), nullable=True),
        sa.Column("total_steps", sa.Integer(), nullable=True),
        sa.Column("base_step", sa.Integer(), nullable=True),
        sa.Column("trained_s", sa.Float(), nullable=False),
        sa.Column("trainer_start_s", sa.Float(), nullable=True),
        sa.Column("save_s", sa.Float(), nullable=True),
        sa.Column("upload_s", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("job", "stage", "number"),
    )
    op.create_table(
        "drills",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("instance", sa.String(), nullable=False),
        sa.Column("window_s", sa.Float(), nullable=False),
        sa.Column("asked_at", sa.String(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("ended_at", sa.String(), nullable=True),
        sa.Column("committed_step", sa.Integer(), nullable=True),
        sa.Column("resumed_step", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_drills_job"), "drills", ["job"], unique=False)
    op.create_table(
        "instances",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("intent", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("pool", sa.String(), nullable=False),
        sa.Column("usd_per_hour", sa.String(), nullable=False),
        sa.Column("on_demand_usd_per_hour", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("launched_at", sa.String(), nullable=True),
        sa.Column("ended_at", sa.String(), nullable=True),
        sa.Column("end_reason", sa.String(), nullable=False),
        sa.Column("reclaimed", sa.Boolean(), nullable=False),
        sa.Column("terminate_at", sa.String(), nullable=True),
        sa.Column("notice", sa.String(), nullable=True),
        sa.Column("report", sa.String(), nullable=True),
        sa.Column("reported_at", sa.String(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=True),
        sa.Column("desired", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_instances_intent"), "instances", ["intent"], unique=False)
    op.create_index(op.f("ix_instances_job"), "instances", ["job"], unique=False)
    op.create_index(op.f("ix_instances_phase"), "instances", ["phase"], unique=False)
    op.create_table(
        "intents",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("order", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_intents_job"), "intents", ["job"], unique=False)
    op.create_index(op.f("ix_intents_state"), "intents", ["state"], unique=False)
    op.create_table(
        "shards",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("lease", sa.Integer(), nullable=True),
        sa.Column("holder", sa.String(), nullable=True),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("job", "number"),
    )
    op.create_table(
        "stages",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=True),
        sa.Column("progress_step", sa.Integer(), nullable=True),
        sa.Column("barren_resumes", sa.Integer(), nullable=True),
        sa.Column("not_before", sa.String(), nullable=True),
        sa.Column("alarms", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("job", "name"),
    )

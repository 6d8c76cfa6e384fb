"""traces of messages, from the log to what is announced"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "message_traces",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("traceparent", sa.String(55), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_message_traces")),
    )
    op.create_index("ix_message_traces_created_ms", "message_traces", ["created_ms"], unique=False)
    op.add_column("outbox", sa.Column("traceparent", sa.String(55), nullable=True))


def downgrade() -> None:
    op.drop_column("outbox", "traceparent")
    op.drop_index("ix_message_traces_created_ms", table_name="message_traces")
    op.drop_table("message_traces")

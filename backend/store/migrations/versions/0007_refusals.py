"""how many messages were refused, of which samples are kept"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "refusals",
        sa.Column("hour_ms", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hour_ms", "reason", name=op.f("pk_refusals")),
    )
    with op.batch_alter_table("dead_letters") as letters:
        letters.add_column(sa.Column("source", sa.String(64), nullable=False, server_default=""))
        letters.add_column(sa.Column("bytes", sa.Integer(), nullable=False, server_default="0"))
        letters.create_index(letters.f("ix_dead_letters_bytes"), ["bytes"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("dead_letters") as letters:
        letters.drop_index(letters.f("ix_dead_letters_bytes"))
        letters.drop_column("bytes")
        letters.drop_column("source")
    op.drop_table("refusals")

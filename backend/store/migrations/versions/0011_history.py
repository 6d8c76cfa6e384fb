"""what was measured, kept with its roll-ups"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "history_series",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("sensor", sa.String(64), nullable=False),
        sa.Column("field", sa.String(32), nullable=False),
        sa.Column("newest_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_history_series")),
    )
    op.create_index("ix_history_series", "history_series", ["kind", "sensor", "field"], unique=True)
    op.create_table(
        "history_values",
        sa.Column("series", _KEY, autoincrement=False, nullable=False),
        sa.Column("at_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("series", "at_ms", name=op.f("pk_history_values")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "history_rollups",
        sa.Column("series", _KEY, autoincrement=False, nullable=False),
        sa.Column("span_s", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("start_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("low", sa.Float(), nullable=False),
        sa.Column("high", sa.Float(), nullable=False),
        sa.Column("total", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("series", "span_s", "start_ms", name=op.f("pk_history_rollups")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "followers",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_followers")),
    )


def downgrade() -> None:
    op.drop_table("followers")
    op.drop_table("history_rollups")
    op.drop_table("history_values")
    op.drop_index("ix_history_series", table_name="history_series")
    op.drop_table("history_series")

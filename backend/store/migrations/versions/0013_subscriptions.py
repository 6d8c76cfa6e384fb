"""who is told of changes at addresses of theirs"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("form", sa.String(16), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(128), nullable=False),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("filter", sa.JSON(), nullable=False),
        sa.Column("extra", sa.JSON(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("position", _KEY, nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("sent", sa.BigInteger(), nullable=False),
        sa.Column("success_ms", sa.BigInteger(), nullable=True),
        sa.Column("failure_ms", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subscriptions")),
    )
    op.create_index("ix_subscriptions_account", "subscriptions", ["account"], unique=False)
    op.create_table(
        "undelivered",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("subscription", sa.String(200), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("number", _KEY, nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("failed_ms", sa.BigInteger(), nullable=False),
        sa.Column("is_due", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_undelivered")),
    )
    op.create_index("ix_undelivered_subscription", "undelivered", ["subscription"], unique=False)
    op.create_index("ix_undelivered_account", "undelivered", ["account"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_undelivered_account", table_name="undelivered")
    op.drop_index("ix_undelivered_subscription", table_name="undelivered")
    op.drop_table("undelivered")
    op.drop_index("ix_subscriptions_account", table_name="subscriptions")
    op.drop_table("subscriptions")

"""duties of people at places, and the instances that come of them"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "duties",
        sa.Column("role", sa.String(32), nullable=False),
        sa.Column("place", sa.String(64), nullable=False),
        sa.Column("user", sa.String(64), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("role", "place", "user", name=op.f("pk_duties")),
    )
    op.create_index("ix_duties_user", "duties", ["user"], unique=False)
    op.add_column("instances", sa.Column("duty", sa.String(32), nullable=True))


def downgrade() -> None:
    op.drop_column("instances", "duty")
    op.drop_index("ix_duties_user", table_name="duties")
    op.drop_table("duties")

"""layers of a city, and duties at their places"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "layers",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("digest", sa.String(64), nullable=True),
        sa.Column("file_digest", sa.String(64), nullable=True),
        sa.Column("origin", sa.Text(), nullable=True),
        sa.Column("tag", sa.JSON(), nullable=False),
        sa.Column("places", sa.Integer(), nullable=False),
        sa.Column("remarks", sa.JSON(), nullable=False),
        sa.Column("taken_ms", sa.BigInteger(), nullable=True),
        sa.Column("asked_ms", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_layers")),
    )


def downgrade() -> None:
    op.drop_table("layers")

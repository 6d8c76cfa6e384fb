"""the places that people saved"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "saved_places",
        sa.Column("user", sa.String(64), nullable=False),
        sa.Column("box", sa.Text(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user", name=op.f("pk_saved_places")),
    )


def downgrade() -> None:
    op.drop_table("saved_places")

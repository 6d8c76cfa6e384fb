"""how late a notice was told that came while the system was away"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("notices", sa.Column("late_ms", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("notices") as notices:
        notices.drop_column("late_ms")

"""columns of meetings that nobody reads"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

NUMBERED = {"sqlite_autoincrement": True}
"""What a table that SQLite copies would lose."""


def upgrade() -> None:
    with op.batch_alter_table("meeting_people") as people:
        people.drop_column("updated_ms")
    with op.batch_alter_table("meeting_entries", table_kwargs=NUMBERED) as entries:
        entries.drop_column("kind")


def downgrade() -> None:
    with op.batch_alter_table("meeting_entries", table_kwargs=NUMBERED) as entries:
        entries.add_column(sa.Column("kind", sa.String(16), nullable=False, server_default=""))
    with op.batch_alter_table("meeting_people") as people:
        people.add_column(
            sa.Column("updated_ms", sa.BigInteger(), nullable=False, server_default="0")
        )

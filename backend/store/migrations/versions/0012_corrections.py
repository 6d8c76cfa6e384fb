"""events that are corrected and withdrawn, and notices that are taken back"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("events") as events:
        events.add_column(sa.Column("key", sa.String(160), nullable=True))
        events.add_column(sa.Column("opened_ms", sa.BigInteger(), nullable=True))
        events.add_column(sa.Column("revised", sa.JSON(none_as_null=True), nullable=True))
        events.add_column(sa.Column("withdrawn_ms", sa.BigInteger(), nullable=True))
    with op.batch_alter_table("notices") as notices:
        notices.add_column(sa.Column("taken_back", sa.JSON(none_as_null=True), nullable=True))
    op.execute("UPDATE events SET key = id, opened_ms = start_ms")
    op.create_index("ix_events_key", "events", ["key"], unique=False)
    op.create_index("ix_events_opened_ms", "events", ["opened_ms"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_events_opened_ms", table_name="events")
    with op.batch_alter_table("notices") as notices:
        notices.drop_column("taken_back")
    op.drop_index("ix_events_key", table_name="events")
    with op.batch_alter_table("events") as events:
        for name in ("withdrawn_ms", "revised", "opened_ms", "key"):
            events.drop_column(name)

"""Columns of meetings that nobody reads, once.

Their app makes these tables, and takes over those of old (`apps/meeting_mgr/tables.py`).
"""

from __future__ import annotations

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass

"""Meetings, once.

Their app makes these tables, and takes over those of old (`apps/meeting_mgr/tables.py`).
"""

from __future__ import annotations

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass

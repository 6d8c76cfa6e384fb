"""the second step of a log-in: authenticator apps and recovery codes"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("accounts", sa.Column("totp_secret", sa.String(64), nullable=True))
    op.add_column("accounts", sa.Column("totp_since_ms", sa.BigInteger(), nullable=True))
    op.add_column("accounts", sa.Column("totp_step", sa.BigInteger(), nullable=True))
    op.create_table(
        "recovery_codes",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_codes")),
    )
    op.create_index("ix_recovery_codes_account", "recovery_codes", ["account"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_recovery_codes_account", table_name="recovery_codes")
    op.drop_table("recovery_codes")
    op.drop_column("accounts", "totp_step")
    op.drop_column("accounts", "totp_since_ms")
    op.drop_column("accounts", "totp_secret")

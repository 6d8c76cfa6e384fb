"""who people are at a provider of identities"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("issuer", sa.String(400), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("used_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
    )
    op.create_index("ix_identities_account", "identities", ["account"], unique=False)
    with op.batch_alter_table("logins") as logins:
        logins.add_column(sa.Column("issuer", sa.String(400), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("logins") as logins:
        logins.drop_column("issuer")
    op.drop_index("ix_identities_account", table_name="identities")
    op.drop_table("identities")

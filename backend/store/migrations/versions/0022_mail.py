"""letters to people: addresses, links in letters, and what is waiting to be sent"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "mail_addresses",
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("address", sa.String(254), nullable=True),
        sa.Column("wanted", sa.String(254), nullable=True),
        sa.Column("language", sa.String(16), nullable=False),
        sa.Column("unsubscribe", sa.String(64), nullable=False),
        sa.Column("error", sa.String(500), nullable=True),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        sa.Column("hour_ms", sa.BigInteger(), nullable=False),
        sa.Column("hour_count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("account", name=op.f("pk_mail_addresses")),
        sa.UniqueConstraint("unsubscribe", name=op.f("uq_mail_addresses_unsubscribe")),
    )
    op.create_index("ix_mail_addresses_address", "mail_addresses", ["address"], unique=False)
    op.create_table(
        "mail_secrets",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("address", sa.String(254), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_secrets")),
    )
    op.create_index("ix_mail_secrets_account", "mail_secrets", ["account"], unique=False)
    op.create_table(
        "letters",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("about", sa.String(300), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(500), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_letters")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_letters_account", "letters", ["account"], unique=False)
    op.create_index("ix_letters_due_ms", "letters", ["due_ms"], unique=False)


def downgrade() -> None:
    for table in ("letters", "mail_secrets", "mail_addresses"):
        op.drop_table(table)

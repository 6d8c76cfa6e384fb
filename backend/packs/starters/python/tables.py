"""The app's table: one note of each person."""

from typing import Any

from sqlalchemy import Column, MetaData, String, Table

from citywise.backend.app import Tables


def first(op: Any) -> None:
    """Make version 1; a change of the table is another function, below."""
    user = Column("user", String(64), primary_key=True)
    op.create_table("python_notes", user, Column("note", String(200), nullable=False))


TABLES = Tables([first], personal={"python_notes": "user"})
NOTES = Table("python_notes", MetaData(), Column("user"), Column("note"))

"""The tables of meetings: whose a row is, and when; all else is sealed with the host's key."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Integer, String, Text, inspect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from citywise.backend.app import Tables

_KEY = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """Base of the tables. Columns ending in `_ms` are Unix milliseconds."""


class MeetingRow(Base):
    """A meeting; all that is in it is in its box."""

    __tablename__ = "meeting_mgr_meetings"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    user: Mapped[str] = mapped_column(String(64), index=True)
    """The host."""
    state: Mapped[str] = mapped_column(String(16), index=True)
    """`planned`, `running`, `ended` or `cancelled`."""
    version: Mapped[int] = mapped_column(BigInteger)
    """Grows with every change of the meeting, not with those of its proposals."""
    box: Mapped[str] = mapped_column(Text)
    """The meeting, sealed with the host's key (`backend.ingest.keyring`)."""
    proposals: Mapped[str] = mapped_column(Text)
    """A box too: what was proposed, oldest first."""
    join_key: Mapped[str] = mapped_column(String(64))
    """What the link to join holds; made anew when the host says so."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    updated_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    """Wall times, as all of a meeting's."""


class MeetingPersonRow(Base):
    """Somebody who joined a meeting, with an account or without."""

    __tablename__ = "meeting_mgr_people"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    meeting: Mapped[str] = mapped_column(String(64), index=True)
    user: Mapped[str | None] = mapped_column(String(64), index=True)
    """The account, of who is logged in."""
    secret: Mapped[str | None] = mapped_column(String(64), index=True)
    """SHA-256 of what the person's browser shows; None: they have left."""
    broker_hash: Mapped[str] = mapped_column(String(200))
    """Another secret, the password at the broker, as mosquitto's password file has it."""
    box: Mapped[str] = mapped_column(Text)
    """The person, sealed with the host's key."""


class MeetingEntryRow(Base):
    """What happened in a meeting, for its minutes: never a sensor's value."""

    __tablename__ = "meeting_mgr_entries"
    id: Mapped[int] = mapped_column(_KEY, primary_key=True, autoincrement=True)
    meeting: Mapped[str] = mapped_column(String(64), index=True)
    person: Mapped[str | None] = mapped_column(String(64), index=True)
    user: Mapped[str | None] = mapped_column(String(64), index=True)
    """The person's account."""
    at_ms: Mapped[int] = mapped_column(BigInteger)
    box: Mapped[str] = mapped_column(Text)
    """What exactly, sealed with the host's key."""
    __table_args__ = ({"sqlite_autoincrement": True},)


_ROWS: tuple[type[Base], ...] = (MeetingRow, MeetingPersonRow, MeetingEntryRow)
_FORMER = {
    "meetings": MeetingRow.__tablename__,
    "meeting_people": MeetingPersonRow.__tablename__,
    "meeting_entries": MeetingEntryRow.__tablename__,
}
"""What the tables were called when they were Citywise's own."""
_UNREAD = {"meeting_people": "updated_ms", "meeting_entries": "kind"}
"""Columns that they had until migration 0006."""


def first(op: Any) -> None:
    """Take over the tables of meetings that Citywise itself had, or make them."""
    connection = op.get_bind()
    there = set(inspect(connection).get_table_names())
    for former in sorted(_FORMER.keys() & there):
        _take_over(op, former)
    # As the classes are now: a second version has to write down here what they were.
    Base.metadata.create_all(connection)
    for table in Base.metadata.sorted_tables:
        for index in table.indexes:
            index.create(connection, checkfirst=True)


def _take_over(op: Any, former: str) -> None:
    found = inspect(op.get_bind())
    for index in found.get_indexes(former):
        op.drop_index(index["name"], table_name=former)
    unread = _UNREAD.get(former)
    if unread in {column["name"] for column in found.get_columns(former)}:
        numbered = {"sqlite_autoincrement": former == "meeting_entries"}
        with op.batch_alter_table(former, table_kwargs=numbered) as table:
            table.drop_column(unread)
    op.rename_table(former, _FORMER[former])
    if former == "meeting_entries" and op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER SEQUENCE {former}_id_seq RENAME TO {_FORMER[former]}_id_seq")


TABLES = Tables(
    [first],
    personal={row.__tablename__: "user" for row in _ROWS},
    exported=False,  # what is sealed is opened by `exported`
)

"""The tables of meetings: whose a row is, and when; all else is sealed with the host's key."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Integer, String, Text, inspect
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
    next_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """When the next of its series is to be made; None: there is none, or it is."""


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
    page_ms: Mapped[int | None] = mapped_column(BigInteger)
    """When a page of theirs was last known to be open; None: they have opened none so far."""


class ReminderRow(Base):
    """That somebody with an account wants to be reminded of a meeting."""

    __tablename__ = "meeting_mgr_reminders"
    meeting: Mapped[str] = mapped_column(String(64), primary_key=True)
    user: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    minutes: Mapped[int] = mapped_column(Integer)
    """So long before it starts."""
    due_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """When that is (wall time); None: there is nothing to remind of as things stand."""
    told_ms: Mapped[int | None] = mapped_column(BigInteger)
    """The start that they were reminded of last."""


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


_ROWS: tuple[type[Base], ...] = (MeetingRow, MeetingPersonRow, MeetingEntryRow, ReminderRow)
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
    _complete(connection)


def second(op: Any) -> None:
    """Note when pages were last open."""
    _complete(op.get_bind(), op)


def third(op: Any) -> None:
    """Make the table of reminders."""
    _complete(op.get_bind(), op)


def fourth(op: Any) -> None:
    """Note when the next meeting of a series is to be made."""
    _complete(op.get_bind(), op)


def _complete(connection: Any, op: Any = None) -> None:
    """Make what of the tables is not there yet: as the classes are now, so that a version that
    changes or drops a column has to write down here what it was. Columns are added with `op`."""
    Base.metadata.create_all(connection)
    for table in Base.metadata.sorted_tables:
        there = {column["name"] for column in inspect(connection).get_columns(table.name)}
        lacking = [column for column in table.columns if column.name not in there]
        for column in lacking if op is not None else ():
            op.add_column(table.name, Column(column.name, column.type, nullable=True))
            there.add(column.name)
        for index in table.indexes:
            if {column.name for column in index.columns} <= there:
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
    [first, second, third, fourth],
    personal={row.__tablename__: "user" for row in _ROWS},
    exported=False,  # what is sealed is opened by `exported`
)

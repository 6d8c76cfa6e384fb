"""The tables of the planner: trips that people follow or repeat, and what is usual at places."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Float, Integer, String, Text, inspect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from citywise.backend.app import Tables


class Base(DeclarativeBase):
    """Base of the tables. Columns ending in `_ms` are Unix milliseconds."""


class TripRow(Base):
    """A way or a garage that somebody has chosen and follows."""

    __tablename__ = "travel_planner_trips"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    user: Mapped[str] = mapped_column(String(64), index=True)
    kind: Mapped[str] = mapped_column(String(16))
    """`travel` or `parking`."""
    state: Mapped[str] = mapped_column(String(16), index=True)
    """`following`, `arrived` or `ended`."""
    box: Mapped[str] = mapped_column(Text)
    """All that tells where: sealed with the user's key (`backend.ingest.keyring`)."""
    instance: Mapped[str] = mapped_column(String(64))
    """The template instance that watches for it."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    updated_ms: Mapped[int] = mapped_column(BigInteger)
    ended_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """Stream times, as all of a trip's."""


class RepeatRow(Base):
    """A trip that somebody makes again and again."""

    __tablename__ = "travel_planner_repeats"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    user: Mapped[str] = mapped_column(String(64), index=True)
    box: Mapped[str] = mapped_column(Text)
    """All that tells where and when: sealed as that of a trip."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    updated_ms: Mapped[int] = mapped_column(BigInteger)
    due_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """Stream time at which it is looked at next; null: not any more."""


class LearnedRow(Base):
    """What is usual at a place in an hour of the week, as running totals."""

    __tablename__ = "travel_planner_learned"
    place_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    slot: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    """Weekday × 24 + hour, Danish time; Monday is 0."""
    total: Mapped[float] = mapped_column(Float)
    """Sum of what was seen, each by its weight."""
    weight: Mapped[float] = mapped_column(Float)
    updated_ms: Mapped[int] = mapped_column(BigInteger)
    """Stream time of the last reading in it."""


_FORMER = {"trips": TripRow.__tablename__, "learned": LearnedRow.__tablename__}
"""What the tables were called when they were Citywise's own."""


def first(op: Any) -> None:
    """Take over the tables that Citywise itself had, or make them."""
    connection = op.get_bind()
    found = inspect(connection)
    for former in sorted(_FORMER.keys() & set(found.get_table_names())):
        for index in found.get_indexes(former):
            op.drop_index(index["name"], table_name=former)
        op.rename_table(former, _FORMER[former])
    _make(connection, TripRow, LearnedRow)


def second(op: Any) -> None:
    """Make the table of repeating trips."""
    _make(op.get_bind(), RepeatRow)


def _make(connection: Any, *rows: type[Base]) -> None:
    """Make tables as their classes are now: a version that changes one has to write down here
    what it was."""
    for row in rows:
        table = Base.metadata.tables[row.__tablename__]
        table.create(connection, checkfirst=True)
        for index in table.indexes:
            index.create(connection, checkfirst=True)


TABLES = Tables(
    [first, second],
    personal={TripRow.__tablename__: "user", RepeatRow.__tablename__: "user"},
    exported=False,  # what is sealed is opened by `trips.export` and `repeats.export`
)

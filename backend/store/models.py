"""The tables of Citywise."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Float, Index, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

BigKey = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """Base of all tables. Columns ending in `_ms` are Unix milliseconds."""


class PlaceRow(Base):
    """A place sensors watch; written by the ingest when a place payload arrives."""

    __tablename__ = "places"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    kind: Mapped[str] = mapped_column(String(32), index=True)
    name: Mapped[str] = mapped_column(String(200))
    lat: Mapped[float] = mapped_column(Float)
    lon: Mapped[float] = mapped_column(Float)
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The whole `Place` payload."""
    updated_ms: Mapped[int] = mapped_column(BigInteger)


class ReadingRow(Base):
    """The latest observation of each sensor and kind."""

    __tablename__ = "readings"
    kind: Mapped[str] = mapped_column(String(32), primary_key=True)
    place_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    observed_ms: Mapped[int] = mapped_column(BigInteger)
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The values of the observation, without sensor and time."""
    change: Mapped[int] = mapped_column(BigKey, index=True)
    """Log position of the batch that wrote the row: grows with every batch."""


class EventRow(Base):
    """A city event: open while `end_ms` is null."""

    __tablename__ = "events"
    id: Mapped[str] = mapped_column(String(160), primary_key=True)
    type: Mapped[str] = mapped_column(String(64), index=True)
    level: Mapped[int] = mapped_column(Integer)
    place_id: Mapped[str] = mapped_column(String(64), index=True)
    start_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    confirmed_ms: Mapped[int] = mapped_column(BigInteger)
    end_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    request: Mapped[str] = mapped_column(String(64))
    causes: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Ground atoms behind it: `{"opened": [...], "confirmed": [...], "ended": [...]}`."""


class OutboxRow(Base):
    """An announcement, written in the transaction of the change; its id is the
    event stream's `id`."""

    __tablename__ = "outbox"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    t_ms: Mapped[int] = mapped_column(BigInteger)
    """Stream time of the evaluation."""
    kind: Mapped[str] = mapped_column(String(32))
    """`event.opened`, `event.updated` or `event.cleared`."""
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The event as the API shows it (DESIGN A10)."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    __table_args__ = ({"sqlite_autoincrement": True},)


class CursorRow(Base):
    """How far a request has come: the truth from which a restart continues."""

    __tablename__ = "cursors"
    request: Mapped[str] = mapped_column(String(64), primary_key=True)
    position: Mapped[int] = mapped_column(BigInteger)
    """Log position up to which answers are committed."""
    resume_from: Mapped[int] = mapped_column(BigInteger)
    """Log position from which the window's content can be rebuilt."""
    answered_ms: Mapped[int | None] = mapped_column(BigInteger)
    """Stream time up to which answers are committed."""
    state: Mapped[dict[str, Any]] = mapped_column(JSON)
    updated_ms: Mapped[int] = mapped_column(BigInteger)


class DeadLetterRow(Base):
    """A message or item that was not accepted, and why."""

    __tablename__ = "dead_letters"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    key: Mapped[str] = mapped_column(String(128), unique=True)
    """Makes the entry idempotent: where the message came from."""
    received_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    topic: Mapped[str] = mapped_column(String(1024))
    reason: Mapped[str] = mapped_column(String(64), index=True)
    detail: Mapped[str] = mapped_column(Text)
    size: Mapped[int] = mapped_column(Integer)
    payload: Mapped[str] = mapped_column(Text)
    """The beginning of the payload, undecodable bytes escaped."""


class TraceRow(Base):
    """One evaluation of a request, kept for a bounded time."""

    __tablename__ = "traces"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    request: Mapped[str] = mapped_column(String(64))
    t_ms: Mapped[int] = mapped_column(BigInteger)
    items: Mapped[int] = mapped_column(Integer)
    atoms: Mapped[int] = mapped_column(Integer)
    seconds: Mapped[float] = mapped_column(Float)
    created_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    __table_args__ = (Index("ix_traces_request_t", "request", "t_ms"),)


class HeartbeatRow(Base):
    """A process says that it lives and how it fares (read by `/readyz`)."""

    __tablename__ = "heartbeats"
    process: Mapped[str] = mapped_column(String(32), primary_key=True)
    at_ms: Mapped[int] = mapped_column(BigInteger)
    detail: Mapped[dict[str, Any]] = mapped_column(JSON)

"""Keeping dead letters: each is counted, and of each kind and sender samples are kept.

A flood from one sensor must neither fill the disk nor push out the letters of others.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, select

from citywise.backend.settings import Ingest
from citywise.backend.store.models import DeadLetterRow, RefusalRow
from citywise.backend.store.upsert import upsert

_HOUR_MS = 3_600_000
_SLACK = 1.2
"""Letters are removed when there are so many times the most, so that not each write does it."""
_OVERHEAD = 400
"""Bytes that a row takes beside its texts."""

_KEY = re.compile(r"([0-9a-f]{24})-(\d+)-(\d+)")
Row = dict[str, Any]


class Bounds(NamedTuple):
    """How many dead letters are kept, and how many bytes of them."""

    number: int
    bytes: int

    @classmethod
    def of(cls, limits: Ingest) -> Bounds:
        """Those of the settings."""
        return cls(limits.dead_letters, limits.dead_letter_bytes)


DEFAULT = Bounds.of(Ingest())


def message_key(topic: str, content: bytes) -> str:
    """What the letters of a message are known by, if it comes again, and by whoever sent it."""
    return hashlib.blake2b(topic.encode() + b"\0" + content, digest_size=12).hexdigest()


class Mark(NamedTuple):
    """Which letter of which message: what its key says."""

    message: str
    nth: int
    number: int
    """Of letters that the message has."""

    @property
    def key(self) -> str:
        """As it stands in the table."""
        return f"{self.message}-{self.nth}-{self.number}"

    @classmethod
    def of(cls, key: str) -> Mark | None:
        """What a key says; None if it is none of a message (of this version)."""
        found = _KEY.fullmatch(key)
        return cls(found[1], int(found[2]), int(found[3])) if found else None


def keep(
    connection: Connection, rows: Sequence[Row], bounds: Bounds, *, update: bool = True
) -> None:
    """Count dead letters, and keep as many as there is room for; the one that is there by its
    key is kept as it comes now, or left with `update=False`."""
    if not rows:
        return
    _count(connection, rows)
    chosen = _fair(rows, max(1, bounds.number // 10))
    sized = [row | {"bytes": _size(row)} for row in chosen]
    upsert(connection, DeadLetterRow, sized, keys=["key"], update=update)
    number, size = _kept_letters(connection)
    if number > _SLACK * bounds.number or size > _SLACK * bounds.bytes:
        trim(connection, bounds)


def trim(connection: Connection, bounds: Bounds) -> None:
    """Remove letters until they are within bounds: round by round each reason, and in it each
    source, keeps its next newest one."""
    row = DeadLetterRow
    newest = row.id.desc()
    in_source = func.row_number().over(partition_by=(row.reason, row.source), order_by=newest)
    one = select(row.id, row.reason, row.bytes, in_source.label("nth")).subquery()
    turn = func.row_number().over(partition_by=one.c.reason, order_by=(one.c.nth, one.c.id.desc()))
    two = select(one.c.id, one.c.bytes, turn.label("turn")).subquery()
    order = (two.c.turn, two.c.id.desc())
    place = func.row_number().over(order_by=order).label("place")
    so_far = func.sum(two.c.bytes).over(order_by=order).label("so_far")
    three = select(two.c.id, place, so_far).subquery()
    beyond = (three.c.place > bounds.number) | (three.c.so_far > bounds.bytes)
    connection.execute(delete(row).where(row.id.in_(select(three.c.id).where(beyond))))


def forget(connection: Connection, before_ms: int) -> None:
    """Remove letters, and their counts, that came before a time (Unix ms)."""
    connection.execute(delete(DeadLetterRow).where(DeadLetterRow.received_ms < before_ms))
    connection.execute(delete(RefusalRow).where(RefusalRow.hour_ms < before_ms - _HOUR_MS))


def refused(connection: Connection) -> dict[str, int]:
    """How many messages and readings were refused, by reason, kept or not."""
    total = func.sum(RefusalRow.number)
    query = select(RefusalRow.reason, total).group_by(RefusalRow.reason)
    return {reason: int(number) for reason, number in connection.execute(query)}


def _count(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    found = Counter((row["received_ms"] // _HOUR_MS * _HOUR_MS, row["reason"]) for row in rows)
    values = [
        {"hour_ms": hour, "reason": reason, "number": number}
        for (hour, reason), number in sorted(found.items())
    ]
    upsert(connection, RefusalRow, values, add=["number"])


def _fair(rows: Sequence[Row], most: int) -> list[Row]:
    """At most so many of the rows, in turns of reason and source; the first of each.

    The first of each message is among them, where those are few: it says how many there were.
    """
    if len(rows) <= most:
        return list(rows)
    turns: dict[str, Counter[str]] = defaultdict(Counter)
    ranked: list[tuple[int, int]] = []
    firsts = 0
    for index, row in enumerate(rows):
        turns[row["reason"]][row["source"]] += 1
        mark = Mark.of(row["key"]) if firsts < most // 2 else None
        is_first = mark is not None and mark.nth == 0
        firsts += is_first
        ranked.append((0 if is_first else turns[row["reason"]][row["source"]], index))
    by_reason: Counter[str] = Counter()
    placed: list[tuple[int, int]] = []
    for _turn, index in sorted(ranked):
        by_reason[rows[index]["reason"]] += 1
        placed.append((by_reason[rows[index]["reason"]], index))
    return [rows[index] for index in sorted(index for _place, index in sorted(placed)[:most])]


def _size(row: Mapping[str, Any]) -> int:
    return _OVERHEAD + sum(len(row[name]) for name in ("topic", "detail", "payload", "source"))


def _kept_letters(connection: Connection) -> tuple[int, int]:
    query = select(func.count(), func.coalesce(func.sum(DeadLetterRow.bytes), 0))
    number, size = connection.execute(query.select_from(DeadLetterRow)).one()
    return number, int(size)

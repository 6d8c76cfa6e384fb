"""What the ingest writes into the log, and what stands in it.

The log is trimmed, but what stands must be found in it for ever: what is old is appended
again, so that everything that stands lies in a bounded stretch at the log's end. What is
about one user is sealed with the user's key; where that is gone, it no longer stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from citywise.backend.ingest import belonging, frames, log, records
from citywise.backend.ingest.keyring import Key, Keyring, beside
from citywise.backend.ingest.records import StandingRecord, StandingRow
from citywise.backend.ingest.register import Register, digest, row_bytes
from citywise.backend.ingest.seals import Sealed, Sealer, content, seal
from citywise.backend.ingest.standing import CONTEXT, Body, Entry, owner

_SEGMENTS = 8
_SPREAD = 2
"""What stands lies in the last `_SEGMENTS` segments, or in `_SPREAD` times its own size."""
_MOST_USERS = 1000
_MOST_SCANNED = 4_000_000
_PORTION = 250_000
_MOST_PORTION = 1_000_000


class Overdue(NamedTuple):
    """What is to be removed of one user: a subject not heard of since (Unix ms)."""

    user: str
    subject: str
    heard_before_ms: int


class _Found(NamedTuple):
    """A row of the log that was read: its entry, and how the register knows its body."""

    row: list[Any]
    entry: Entry
    told: int | None
    """None: it says that something is removed."""


class Journal:
    """Gathers the records of a group, writes them together, and knows what stands.

    The keys lie beside the log's folder. Opening it reads what stands from the log, and
    removes that whose key is gone. Not for use by several threads. Raises `LogError` where the
    keys are not those of this log.
    """

    def __init__(self, folder: Path, segment_bytes: int) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._ring = Keyring(beside(folder))
        self._sealer = Sealer(self._ring)
        self._forgettings = 0
        belonging.check(folder, self._ring)
        self._log = log.LogWriter(folder, segment_bytes)
        belonging.settle(folder, self._ring)
        self._next = self._log.end
        self._refreshed = self._log.end
        self._gathered: list[bytes] = []
        self.register = Register()
        self.inlet_ids: Sequence[int] = ()
        """Rows of the inlet in the log's last record: a crash may have left them there."""
        self._recall()

    @property
    def end(self) -> int:
        """Position up to which the log is written."""
        return self._log.end

    @property
    def next(self) -> int:
        """Position of the next record that is added."""
        return self._next

    @property
    def needed_from(self) -> int:
        """Position from which on everything that stands is found; the log stays from there."""
        oldest = self.register.oldest
        return self._next if oldest is None else records.record_position(oldest)

    def _recall(self) -> None:
        since = records.standing_since(self._folder, self._log.end)
        for record in log.read(self._folder, since, self._log.end):
            self.inlet_ids = ()
            found = records.decode_standing(record)
            if found is not None:
                self._know(found)
        self.register.sort()

    def _know(self, record: StandingRecord) -> None:
        """What a record says; what no key opens stands no more."""
        position = records.item_position(record.position)
        for index, found in self._opened_rows(record.rows):
            (subject, key, _body), row = found.entry, found.row
            if found.told is None:
                self.register.remove(subject, key)
                continue
            size = row_bytes(StandingRow(row[0], row[1], _text(row[2])))
            lock = row[1] if Sealed.of(row) else ""
            self.register.put(subject, key, found.told, size, position + index, lock)
            if subject in CONTEXT:
                self.register.hear(subject, key, row[4] or record.received_ms)
        self.inlet_ids = [row[3] for row in record.rows if row[3] is not None]

    def _opened_rows(self, rows: Sequence[list[Any]]) -> Iterator[tuple[int, _Found]]:
        """Rows that are not sealed, or that a key opens, with their numbers."""
        boxes = [Sealed.of(row) for row in rows]
        sealed = [box for box in boxes if box]
        texts = iter(self._sealer.keys.open(sealed))
        for index, (row, box) in enumerate(zip(rows, boxes, strict=True)):
            if box is None:
                told = None if row[2] is None else digest(_dumped(row[2]))
                yield index, _Found(row, Entry(*row[:3]), told)
            elif (text := next(texts)) is not None:
                entry = Entry(box.subject, *orjson.loads(text))
                lock = self._sealer.key(box.id)
                told = digest(text, lock.secret) if lock and entry.body is not None else None
                yield index, _Found(row, entry, told)

    # -- writing ----------------------------------------------------------------------

    def add(self, payload: bytes) -> None:
        """A record for the log; it is written by the next `write`."""
        self._gathered.append(payload)
        self._next += frames.size(payload)

    def stand(self, entries: Sequence[Entry], received_ms: int, inlet: Sequence[int] = ()) -> int:
        """A record of what of this is news, if any; returns how many entries were none.

        `inlet` gives the row of the table `inlet` that each comes from.
        """
        self.expect(entries)
        position = records.item_position(self._next)
        rows: list[StandingRow] = []
        for (subject, key, body), number in zip_longest(entries, inlet):
            row = self._news(Entry(subject, key, body), position + len(rows))
            if row is not None:
                rows.append(row._replace(inlet=number))
            if subject in CONTEXT and body is not None:
                self.register.hear(subject, key, received_ms)
        self._gather(rows, received_ms)
        return len(entries) - len(rows)

    def check(self, entries: Iterable[Entry]) -> None:
        """Raise what `stand` would raise, of an entry that cannot be written, before it has
        changed anything."""
        for _subject, key, body in entries:
            content(key, body)

    def expect(self, entries: Iterable[Entry]) -> None:
        """Have the keys ready with which these will be sealed; new ones are made at once.

        Raises `sqlite3.Error` or `OSError` where that is not possible.
        """
        users = {user for entry in entries if (user := owner(*entry)) is not None}
        if users:
            self._sealer.expect(users)

    def _news(self, entry: Entry, position: int) -> StandingRow | None:
        """The row that says so, if it does not stand so already."""
        subject, key, body = entry
        if body is None:
            return self._removal(subject, key)
        user = owner(*entry)
        lock = None if user is None else self._sealer.key_of(user)
        text = _dumped(body) if lock is None else content(key, body)
        told = digest(text, lock.secret if lock else b"")
        if not self.register.is_news(subject, key, told):
            return None
        row = _row(subject, key, text, lock)
        self.register.put(subject, key, told, row_bytes(row), position, lock.id if lock else "")
        return row

    def _removal(self, subject: str, key: str) -> StandingRow | None:
        """The row that says that an entry stands no more; none where nobody can read that it
        stood."""
        name = self.register.lock_of(subject, key)
        self.register.remove(subject, key)
        if name is None:
            return None
        lock = self._sealer.key(name) if name else None
        if name and lock is None:
            return None
        return _row(subject, key, content(key, None) if lock else None, lock)

    def _drop_forgotten(self) -> None:
        """What was sealed for users whose keys are gone stands no more."""
        number = self._sealer.keys.forgettings()
        if number != self._forgettings:
            self.register.keep_only(self._ring.ids())
            self._forgettings = number

    def forget(
        self, heard_before_ms: int, received_ms: int, overdue: Iterable[Overdue] = ()
    ) -> None:
        """Remove what stands of users not heard of since, of some at a time; and of some
        users what they want removed sooner."""
        self._drop_forgotten()
        silent = list(self.register.silent(heard_before_ms, _MOST_USERS))
        for user, subject, before_ms in overdue:
            heard = self.register.heard_ms(subject, user)
            if heard is not None and heard < before_ms:
                silent.append(Entry(subject, user, None))
        self.stand(silent, received_ms)

    def refresh(self, seconds: float, received_ms: int) -> None:
        """Append again what was written more than `seconds` ago or lies too far behind.

        A call appends about as much as was written since the one before, within `_PORTION`
        and `_MOST_PORTION`, so that readings do not wait for it.
        """
        portion = min(max(_PORTION, self.end - self._refreshed), _MOST_PORTION)
        self._refreshed = self.end
        self._drop_forgotten()
        start, due = self.needed_from, self._due(seconds)
        if start < due:
            self._gather(self._again(start, due, portion), received_ms)

    def _due(self, seconds: float) -> int:
        spread = _SPREAD * self.register.bytes
        far = self.end - max(_SEGMENTS * self._segment_bytes, spread)
        return max(far, min(log.older_than(self._folder, seconds), self.end - spread))

    def _again(self, start: int, end: int, most: int) -> list[StandingRow]:
        """What still stands of a stretch, from `start` on, as rows of the next record."""
        position = records.item_position(self._next)
        rows: list[StandingRow] = []
        size = 0
        for found in self._live(start, end):
            rows.append(self._once_more(found, position + len(rows)))
            size += row_bytes(rows[-1])
            if size >= most or len(rows) == records.MOST_ROWS:
                break
        return rows

    def _once_more(self, found: _Found, position: int) -> StandingRow:
        """The same row again; what an older version wrote in the clear is sealed now."""
        subject, key, _body = found.entry
        heard = self.register.heard_ms(subject, key) if subject in CONTEXT else None
        if owner(*found.entry) is None or Sealed.of(found.row):
            self.register.move(subject, key, position)
            subject, name, value = found.row[:3]
            return StandingRow(subject, name, _text(value), None, heard)
        self.expect([found.entry])
        self.register.remove(subject, key)
        row = self._news(found.entry, position)
        assert row is not None
        if heard is not None:
            self.register.hear(subject, key, heard)
        return row._replace(heard_ms=heard)

    def _live(self, start: int, end: int) -> Iterator[_Found]:
        """Rows of a stretch of the log that are the newest of their entries."""
        for record in log.read(self._folder, start, end):
            standing = records.decode_standing(record)
            position = records.item_position(record.position)
            for index, found in self._opened_rows(standing.rows) if standing else ():
                if self.register.is_at(*found.entry[:2], position + index):
                    yield found
            if record.end - start >= _MOST_SCANNED:
                return

    def _gather(self, rows: Sequence[StandingRow], received_ms: int) -> None:
        if rows:
            self.add(records.encode_standing(rows, received_ms, self.needed_from))

    def write(self) -> None:
        """Append what was gathered and make it durable; if it raises, do it again."""
        if self._gathered:
            self._log.append(self._gathered)
            self._log.sync()
            self._gathered.clear()

    def close(self) -> None:
        """Close the log."""
        self._log.close()


def _row(subject: str, key: str, text: bytes | None, lock: Key | None) -> StandingRow:
    """A row that says so; sealed if there is a key."""
    if lock is None or text is None:
        return StandingRow(subject, key, text)
    return StandingRow(subject, lock.id, seal(lock, subject, text))


def _text(value: Body | str) -> bytes:
    """A body or a box as it stands in a record."""
    return f'"{value}"'.encode() if isinstance(value, str) else _dumped(value)


def _dumped(body: Body) -> bytes:
    """A body as it stands in the log: the same bytes for the same content."""
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS)

"""What the ingest writes into the log, and what stands in it.

The log is trimmed, but what stands must be found in it for ever: what is old is appended
again, so that everything that stands lies in a bounded stretch at the log's end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import orjson

from backend.ingest import frames, log, records
from backend.ingest.records import StandingRow
from backend.ingest.register import Register, row_bytes
from backend.ingest.standing import CONTEXT, Body, Entry

_SEGMENTS = 8
_SPREAD = 2
"""What stands lies in the last `_SEGMENTS` segments, or in `_SPREAD` times its own size."""
_MOST_USERS = 1000
_MOST_SCANNED = 4_000_000
_PORTION = 250_000
_MOST_PORTION = 1_000_000


class Journal:
    """Gathers the records of a group, writes them together, and knows what stands.

    Opening it reads what stands from the log. Not for use by several threads.
    """

    def __init__(self, folder: Path, segment_bytes: int) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._log = log.LogWriter(folder, segment_bytes)
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

    def _know(self, record: records.StandingRecord) -> None:
        position = records.item_position(record.position)
        for index, (subject, key, body, _inlet, heard) in enumerate(record.rows):
            self.register.put(subject, key, _json(body), position + index)
            if subject in CONTEXT and body is not None:
                self.register.hear(key, heard or record.received_ms)
        self.inlet_ids = [row[3] for row in record.rows if row[3] is not None]

    # -- writing ----------------------------------------------------------------------

    def add(self, payload: bytes) -> None:
        """A record for the log; it is written by the next `write`."""
        self._gathered.append(payload)
        self._next += frames.size(payload)

    def stand(self, entries: Sequence[Entry], received_ms: int, inlet: Sequence[int] = ()) -> int:
        """A record of what of this is news, if any; returns how many entries were none.

        `inlet` gives the row of the table `inlet` that each comes from.
        """
        position = records.item_position(self._next)
        rows: list[StandingRow] = []
        for (subject, key, body), row in zip_longest(entries, inlet):
            text = _json(body)
            if subject in CONTEXT and text is not None:
                self.register.hear(key, received_ms)
            if self.register.is_news(subject, key, text):
                self.register.put(subject, key, text, position + len(rows))
                rows.append(StandingRow(subject, key, text, row))
        self._gather(rows, received_ms)
        return len(entries) - len(rows)

    def forget(self, heard_before_ms: int, received_ms: int) -> None:
        """Remove what stands of users not heard of since, of some at a time."""
        self.stand(list(self.register.silent(heard_before_ms, _MOST_USERS)), received_ms)

    def refresh(self, seconds: float, received_ms: int) -> None:
        """Append again what was written more than `seconds` ago or lies too far behind.

        A call appends about as much as was written since the one before, within `_PORTION`
        and `_MOST_PORTION`, so that readings do not wait for it.
        """
        portion = min(max(_PORTION, self.end - self._refreshed), _MOST_PORTION)
        self._refreshed = self.end
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
        for subject, key, body in self._live(start, end):
            text = _dumped(body)
            self.register.put(subject, key, text, position + len(rows))
            heard = self.register.heard_ms(key) if subject in CONTEXT else None
            rows.append(StandingRow(subject, key, text, None, heard))
            size += row_bytes(subject, key, text)
            if size >= most or len(rows) == records.MOST_ROWS:
                break
        return rows

    def _live(self, start: int, end: int) -> Iterator[tuple[str, str, Body]]:
        """Rows of a stretch of the log that are the newest of their entries."""
        for record in log.read(self._folder, start, end):
            found = records.decode_standing(record)
            position = records.item_position(record.position)
            for index, (subject, key, body, *_) in enumerate(found.rows if found else ()):
                if self.register.is_at(subject, key, position + index):
                    yield subject, key, body
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


def _json(body: Body | None) -> bytes | None:
    return None if body is None else _dumped(body)


def _dumped(body: Body) -> bytes:
    """A body as it stands in the log: the same bytes for the same content."""
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS)

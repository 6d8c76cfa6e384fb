"""What is refused of a source: by its connector, and later by the ingest; some as samples.

The ingest knows no sources. It keeps letters of what it refuses anyway, whose keys name the
message; whoever sent the message finds them there, and the ingest has nothing more to do.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from typing import NamedTuple

from sqlalchemy import Connection, func, or_, select

from citywise.backend.connectors.values import whole
from citywise.backend.store.letters import Mark, message_key
from citywise.backend.store.models import DeadLetterRow

SAMPLES = 5
_MOST_TEXT = 300
_MOST_SENT = 20_000
_OVERLAP_MS = 10_000
Sample = dict[str, str]


class Samples:
    """The newest refusals; one reason does not push out the others."""

    def __init__(self) -> None:
        self._kept: list[Sample] = []

    def add(self, told: Sample) -> None:
        """Keep a refusal; its `reason` says of which sort it is."""
        self._kept.append({key: whole(value[:_MOST_TEXT]) for key, value in told.items()})
        if len(self._kept) > SAMPLES:
            reasons = Counter(one["reason"] for one in self._kept)
            most = max(reasons.values())
            gone = next(one for one in self._kept if reasons[one["reason"]] == most)
            self._kept.remove(gone)

    def shown(self) -> list[Sample]:
        """Those that are kept, the oldest first."""
        return list(self._kept)


class NotTaken(NamedTuple):
    """What the ingest refused of a message that a source sent."""

    source: str
    number: int
    """Of its readings; of a place or an event 1."""
    samples: list[Sample]


class Outcomes:
    """Which of the messages that sources sent lately the ingest refused, or parts of them."""

    def __init__(self, prefix: str) -> None:
        self._below = f"{prefix}/"
        self._senders: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()
        self._newest_id: int | None = None
        self._newest_ms = 0

    def sends(self, source: str, topic: str, payload: bytes) -> None:
        """A source is about to send a message; called by each source's own thread."""
        key = message_key(topic, payload)
        with self._lock:
            self._senders[key] = source
            self._senders.move_to_end(key)
            if len(self._senders) > _MOST_SENT:
                self._senders.popitem(last=False)

    def read(self, connection: Connection) -> list[NotTaken]:
        """What has been refused since this was asked last."""
        row = DeadLetterRow
        if self._newest_id is None:
            newest = select(func.max(row.id), func.max(row.received_ms))
            self._newest_id, self._newest_ms = (n or 0 for n in connection.execute(newest).one())
            return []
        # One that comes again, after a restart, is the same row with another time.
        again = row.received_ms >= self._newest_ms - _OVERLAP_MS
        query = select(row.id, row.key, row.received_ms).where(or_(row.id > self._newest_id, again))
        letters: dict[str, list[tuple[int, Mark]]] = {}
        for letter, key, received_ms in connection.execute(query):
            self._newest_id = max(self._newest_id, letter)
            self._newest_ms = max(self._newest_ms, received_ms)
            if (mark := Mark.of(key)) is not None:
                letters.setdefault(mark.message, []).append((letter, mark))
        with self._lock:
            known = [(self._senders.pop(key), key) for key in letters if key in self._senders]
        return [
            NotTaken(source, letters[key][0][1].number, self._samples(connection, letters[key]))
            for source, key in known
        ]

    def _samples(self, connection: Connection, letters: list[tuple[int, Mark]]) -> list[Sample]:
        row = DeadLetterRow
        query = select(row.reason, row.topic, row.detail, row.payload)
        some = [letter for letter, _mark in letters[-SAMPLES:]]
        return [
            {
                "reason": reason,
                "at": topic.removeprefix(self._below),
                "said": detail,
                "payload": payload,
            }
            for reason, topic, detail, payload in connection.execute(query.where(row.id.in_(some)))
        ]

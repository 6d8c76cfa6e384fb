"""What the ingest keeps in the database: places, dead letters, its heartbeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Engine, delete, select

from citywise.backend.ingest import admission, isolation
from citywise.backend.ingest.acceptance import Verdict
from citywise.backend.ingest.faults import DeadLetter, internal
from citywise.backend.ingest.payloads import Place
from citywise.backend.ingest.places import HOURS, readable, stored
from citywise.backend.store import progress
from citywise.backend.store.heartbeat import beat
from citywise.backend.store.letters import DEFAULT, Bounds, Mark, keep, message_key
from citywise.backend.store.models import PlaceRow
from citywise.backend.store.progress import Progress
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

_HOUR_MS = 3_600_000
KEPT_BYTES = 16_000
"""Of the payload of a dead letter: a place or a small batch is kept whole."""


@dataclass(frozen=True)
class Entry:
    """What one message leaves in the database; by `digest` it is known if it comes again
    (empty where it leaves nothing)."""

    topic: str
    received_ms: int
    digest: str
    verdict: Verdict
    payload: bytes = b""
    """What came; of an entry of the inlet nothing."""

    @property
    def is_kept(self) -> bool:
        """Whether it leaves anything in the database."""
        verdict = self.verdict
        return bool(verdict.place or verdict.removed_place or verdict.dead)

    def refused(self, error: Exception, payload: bytes) -> Entry:
        """What it leaves where an error was raised by it."""
        letter = internal(error, payload, personal=self.verdict.user is not None)
        verdict = Verdict(dead=[letter], user=self.verdict.user)
        told = f"{self.received_ms} {letter.detail}".encode("utf-8", "backslashreplace")
        digest = self.digest or message_key(self.topic, told)
        return replace(self, digest=digest, verdict=verdict)

    @classmethod
    def of(
        cls, prefix: str, topic: str, payload: bytes, received_ms: int, verdict: Verdict
    ) -> Entry:
        """What a message leaves; of one about a person only its faults, each once an hour."""
        told = payload
        if verdict.user is not None:
            topic = f"{prefix}/context/{admission.shown(verdict.user)}"
            faults = "".join(f"{letter.reason} {letter.detail}" for letter in verdict.dead)
            told = f"{received_ms // _HOUR_MS} {faults}".encode()
        entry = cls(topic, received_ms, "", verdict, payload)
        return replace(entry, digest=message_key(topic, told)) if entry.is_kept else entry


class IntakeStore:
    """The ingest's side of the store."""

    def __init__(self, engine: Engine, bounds: Bounds = DEFAULT) -> None:
        self.engine = engine
        self._bounds = bounds

    def places(self, prefix: str) -> list[Place]:
        """All known places that can be read; what of one cannot be is told of and removed, as
        if it came now at the broker's `prefix`."""
        with self.engine.connect() as connection:
            bodies = connection.scalars(select(PlaceRow.body)).all()
        found = [(place, *readable(place)) for place in stored(bodies)]
        self.write([_mended(prefix, *known) for known in found if known[2] is not None])
        return [place for _before, place, _fault in found]

    def write(self, entries: Sequence[Entry]) -> list[Entry]:
        """Keep places and dead letters; doing it twice changes only how many were refused.

        What one message leaves and cannot be kept is a dead letter instead. Returns what was
        kept of each.
        """
        kept = {id(entry): entry for entry in entries}

        def refuse(entry: Entry, error: Exception) -> None:
            kept[id(entry)] = self._refused(entry, error)

        isolation.each(entries, self._write, refuse)
        return list(kept.values())

    def _refused(self, entry: Entry, error: Exception) -> Entry:
        """What is kept instead of an entry that cannot be; raises `error` where nothing can."""
        for payload in (entry.payload, b""):
            letter = entry.refused(error, payload)
            try:
                self._write([letter])
            except Exception as again:
                if isolation.is_around(again):
                    raise
            else:
                return letter
        raise error

    def _write(self, entries: Sequence[Entry]) -> None:
        with self.engine.begin() as connection:
            places: dict[str, dict[str, Any] | None] = {}
            for entry in entries:
                if entry.verdict.place:
                    places[entry.verdict.place.id] = _place_row(entry)
                elif entry.verdict.removed_place:
                    places[entry.verdict.removed_place] = None
            upsert(connection, PlaceRow, [row for row in places.values() if row])
            gone = [place for place, row in places.items() if row is None]
            connection.execute(delete(PlaceRow).where(PlaceRow.id.in_(gone)))
            letters = {row["key"]: row for e in entries for row in _dead_rows(e)}
            keep(connection, list(letters.values()), self._bounds)

    def progress(self) -> Progress:
        """How far the pipeline has come; all zero before the first batch."""
        with self.engine.connect() as connection:
            return progress.read(connection)

    def beat(self, process: str, detail: Mapping[str, Any]) -> None:
        """Note that `process` lives."""
        with self.engine.begin() as connection:
            beat(connection, process, detail)


def _mended(prefix: str, before: Place, place: Place, fault: str | None) -> Entry:
    payload = before.model_dump_json().encode()
    verdict = Verdict(place=place, dead=[DeadLetter.of(HOURS, fault or "", payload)])
    topic = f"{prefix}/places/{place.kind}/{place.id}"
    return Entry.of(prefix, topic, payload, wall_ms(), verdict)


def _place_row(entry: Entry) -> dict[str, Any]:
    place = entry.verdict.place
    assert place is not None
    body = place.model_dump(mode="json")
    return {**place.summary(), "body": body, "updated_ms": entry.received_ms}


def _dead_rows(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "key": Mark(entry.digest, index, len(entry.verdict.dead)).key,
            "received_ms": entry.received_ms,
            "topic": shown(entry.topic.encode())[:1024],
            "reason": letter.reason,
            "detail": shown(letter.detail.encode("utf-8", "backslashreplace"))[:2000],
            "size": letter.size,
            "payload": shown(letter.payload),
            "replayed_ms": None,
            "source": shown((letter.sensor or _last(entry.topic)).encode())[:64],
        }
        for index, letter in enumerate(entry.verdict.dead)
    ]


def _last(topic: str) -> str:
    """What of a topic names a sender: its end. The beginning is the same for all."""
    return topic[-64:]


def shown(payload: bytes) -> str:
    """The beginning of a payload as text a database and a page can hold."""
    text = payload[:KEPT_BYTES].decode("utf-8", errors="backslashreplace")
    return text.replace("\0", "\\x00")

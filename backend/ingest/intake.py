"""What the ingest keeps in the database: places, dead letters, its heartbeat."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, delete, func, select

from backend.ingest import admission
from backend.ingest.acceptance import Verdict
from backend.ingest.payloads import Place
from backend.store.heartbeat import beat
from backend.store.models import CursorRow, DeadLetterRow, PlaceRow
from backend.store.upsert import upsert

_HOUR_MS = 3_600_000
KEPT_BYTES = 16_000
"""Of the payload of a dead letter: a place or a small batch is kept whole."""


@dataclass(frozen=True)
class Entry:
    """What one message leaves in the database; by `digest` it is known if it comes again."""

    topic: str
    received_ms: int
    digest: str
    verdict: Verdict

    @classmethod
    def of(
        cls, prefix: str, topic: str, payload: bytes, received_ms: int, verdict: Verdict
    ) -> Entry:
        """What a message leaves; of one about a person only its faults, each once an hour."""
        if verdict.user is None:
            return cls(topic, received_ms, _digest(topic.encode(), payload), verdict)
        topic = f"{prefix}/context/{admission.shown(verdict.user)}"
        faults = "".join(f"{letter.reason} {letter.detail}" for letter in verdict.dead)
        told = f"{received_ms // _HOUR_MS} {faults}".encode()
        return cls(topic, received_ms, _digest(topic.encode(), told), verdict)


@dataclass(frozen=True)
class Progress:
    """How far the pipeline has come in the log."""

    position: int
    needed_from: int
    answered_ms: int | None


class IntakeStore:
    """The ingest's side of the store."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def places(self) -> list[Place]:
        """All known places."""
        with self.engine.connect() as connection:
            bodies = connection.scalars(select(PlaceRow.body)).all()
        return [Place.model_validate(body, strict=False) for body in bodies]

    def write(self, entries: Sequence[Entry]) -> None:
        """Keep places and dead letters, all or none; doing it twice changes nothing."""
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
            upsert(connection, DeadLetterRow, list(letters.values()), keys=["key"])

    def progress(self) -> Progress:
        """How far the slowest request has come; all zero before the first batch."""
        with self.engine.connect() as connection:
            position, needed, answered = connection.execute(
                select(
                    func.min(CursorRow.position),
                    func.min(CursorRow.resume_from),
                    func.min(CursorRow.answered_ms),
                )
            ).one()
        return Progress(position or 0, needed or 0, answered)

    def beat(self, process: str, detail: Mapping[str, Any]) -> None:
        """Note that `process` lives."""
        with self.engine.begin() as connection:
            beat(connection, process, detail)


def _place_row(entry: Entry) -> dict[str, Any]:
    place = entry.verdict.place
    assert place is not None
    body = place.model_dump(mode="json")
    return {**place.summary(), "body": body, "updated_ms": entry.received_ms}


def _dead_rows(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "key": f"{entry.digest}-{index}",
            "received_ms": entry.received_ms,
            "topic": entry.topic[:1024],
            "reason": letter.reason,
            "detail": letter.detail[:2000],
            "size": letter.size,
            "payload": shown(letter.payload),
            "replayed_ms": None,
        }
        for index, letter in enumerate(entry.verdict.dead)
    ]


def shown(payload: bytes) -> str:
    """The beginning of a payload as text a database and a page can hold."""
    text = payload[:KEPT_BYTES].decode("utf-8", errors="backslashreplace")
    return text.replace("\0", "\\x00")


def _digest(topic: bytes, content: bytes) -> str:
    return hashlib.blake2b(topic + b"\0" + content, digest_size=12).hexdigest()

"""Whatever a message says: it is taken or a dead letter, and takes nothing else with it."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import orjson
import paho.mqtt.client as paho
import pytest
from sqlalchemy import select

from citywise.backend.ingest import log, records
from citywise.backend.ingest.acceptance import Verdict
from citywise.backend.ingest.intake import IntakeStore
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.records import ClockReading, LogEntry, Reading, Standing
from citywise.backend.ingest.service import IngestService
from citywise.backend.ingest.standing import CONTEXT
from citywise.backend.ingest.subscription import TOPICS
from citywise.backend.pipeline.played import Played
from citywise.backend.settings import Settings
from citywise.backend.store.models import DeadLetterRow, PlaceRow
from tests.databases import begun
from tests.ingest.mutations import KEPT, SEEDS, START, Message, message, place
from tests.packs.test_run import template

SEED = 19
GROUP = 500
RULES = """
notice(Me,"jam",X,1) :- near_route(Me,X,100).
notice(Me,"jam",X,1) :- near_me(Me,X,1000), distance(Me,X,M), M < 500.
notice(Me,"jam",X,1) :- ahead(Me,X,M), M < 500, not opposite(Me,X), not passed(Me,X).
notice(Me,"jam",X,2) :- near_me(Me,X,1000), rdf_type(X,C), ev_level(X,L), ev_place(X,P),
                        ev_start(X,T), ev_source(X,S).
notice(Me,"jam",P,3) :- place(P,K), open(P), near_me(Me,P,1000).
notice(Me,"jam",A,4) :- ctx_activity(Me,A), preference(Me,N,V), off_route(Me), has_route(Me),
                        has_position(Me).
notice(Me,"jam",P,5) :- radius(Me,R), city_averageSpeed(P,V), city_vehicleCount(P,N), N > 5.
notice(Me,"jam",P,5) :- radius(Me,R), city_occupiedPlaces(P,N), city_capacity(P,M), N > M.
"""
SCALES = "#scale city_averageSpeed 10.\n"
READ_AT_ONCE = 2_000
CLOCKS = 20
"""Of so many clocks about one is evaluated."""
USERS = [f"user-{n}" for n in range(5)]


class Held:
    """In place of the broker: messages that have come, and those that were acknowledged."""

    is_connected = True

    def __init__(self) -> None:
        self.reconnected = threading.Event()
        self.waiting: list[tuple[paho.MQTTMessage, datetime]] = []
        self.acknowledged = 0

    def put(self, one: Message) -> None:
        came = paho.MQTTMessage(1, one.topic)
        came.payload = one.payload
        self.waiting.append((came, START))

    def group(self) -> list[tuple[paho.MQTTMessage, datetime]]:
        found, self.waiting = self.waiting[:GROUP], self.waiting[GROUP:]
        return found

    def acknowledge(self, group: Sequence[object]) -> None:
        self.acknowledged += len(group)

    def oldest_waiting(self) -> datetime | None:
        return self.waiting[0][1] if self.waiting else None

    def tell(self, payload: bytes) -> None:
        pass


class Watched(IngestService):
    """An ingest without a broker, whose verdicts are seen; it waits for nothing."""

    def __init__(self, settings: Settings, store: IntakeStore) -> None:
        stopped = threading.Event()
        stopped.set()
        super().__init__(settings, store, stopped)
        self.held = Held()
        self._subscription = self.held  # type: ignore[assignment]
        self.verdicts: list[Verdict] = []

    def take_all(self) -> None:
        while self.held.waiting:
            self._step()

    def _count(self, verdict: Verdict) -> None:
        super()._count(verdict)
        self.verdicts.append(verdict)


@pytest.fixture
def ingest(tmp_path: Path) -> Iterator[Watched]:
    settings = Settings.model_validate(
        {"data_dir": tmp_path, "ingest": {"clock": "topic", "segment_bytes": 1_000_000}}
    )
    engine = begun(settings.database_url)
    one = Watched(settings, IntakeStore(engine))
    yield one
    one._journal.close()
    engine.dispose()


def is_taken(one: Verdict) -> bool:
    left = one.observations or one.duplicates or one.place or one.removed_place
    return bool(left or one.standing or one.clock)


def judged(ingest: Watched, number: int) -> Counter[str]:
    """Send so many messages; how many were taken, and the dead letters by reason."""
    chance = random.Random(SEED)
    for kind, name in KEPT.items():
        topic = f"citywise/places/{kind}/{name}".encode()
        ingest.held.put(Message(topic, orjson.dumps(place(kind, name)), ("place", name)))
    sent = [message("citywise", n, chance) for n in range(number)]
    for one in sent:
        ingest.held.put(one)
    ingest.take_all()
    verdicts = ingest.verdicts[len(KEPT) :]
    assert ingest.held.acknowledged == number + len(KEPT) == len(ingest.verdicts)
    found = Counter[str]()
    for one, verdict in zip(sent, verdicts, strict=True):
        assert all(letter.reason and letter.detail for letter in verdict.dead), one
        assert is_taken(verdict) or verdict.dead or _says_nothing(one), one
        assert not (one.leaves and verdict.dead), (one, verdict.dead)
        found.update(letter.reason for letter in verdict.dead)
        found["taken"] += is_taken(verdict)
    assert "internal" not in found
    check_kept(ingest, sent)
    return found


def _says_nothing(one: Message) -> bool:
    """A clock that was overtaken, and an empty list."""
    return one.topic == b"citywise/clock" or one.payload.split() in ([b"[]"], [b"[", b"]"])


def check_kept(ingest: Watched, sent: Sequence[Message]) -> None:
    """All that was sound is in the log, which can be read from end to end, and opened again."""
    folder = ingest._settings.log_dir
    entries = list(records.read(folder, 0, log.durable_end(folder)))
    left: set[tuple[str, str | int]] = set()
    for entry in entries:
        if isinstance(entry, Reading):
            left.add((entry.sensor, entry.observed_ms))
        elif isinstance(entry, ClockReading):
            left.add(("clock", entry.now_ms))
        elif entry.body is not None:
            left.add((entry.subject, entry.key))
    clocks = {one.leaves for one in sent if one.leaves and one.leaves[0] == "clock"}
    assert {one.leaves for one in sent if one.leaves} - clocks <= left
    with ingest._store.engine.connect() as connection:
        kept = set(connection.scalars(select(PlaceRow.id)))
        letters = connection.execute(select(DeadLetterRow.reason, DeadLetterRow.detail)).all()
    assert all(reason and detail for reason, detail in letters)
    assert set(KEPT.values()) <= kept
    ingest._journal.close()
    ingest._journal = Journal(folder, 1_000_000)
    check_read(entries)


def check_read(entries: Sequence[LogEntry]) -> None:
    """Requests and templates evaluate what was taken, and say of nothing that they cannot."""
    for first in range(0, len(entries), READ_AT_ONCE):
        check_evaluated(entries[first : first + READ_AT_ONCE])


def check_evaluated(entries: Sequence[LogEntry]) -> None:
    failed: list[str] = []
    one = template(SCALES + RULES, name="jam")
    played = Played((), [one], failed=lambda _t, name, why: failed.append(f"{name}: {why}"))
    body = {"app": "test", "template": "jam", "version": 1, "values": {}}
    for user in USERS:
        list(played.take(Standing("instance", f"{user}.jam", {**body, "user": user}, 0)))
    heard = 0
    for entry in entries:
        if isinstance(entry, Standing) and entry.subject in CONTEXT and entry.key not in USERS:
            continue
        if isinstance(entry, ClockReading) and (entry.position >> 16) % CLOCKS:
            continue
        heard += len(list(played.take(entry)))
    last = max(e.position for e in entries)
    end_ms = round(START.timestamp() * 1000) + 600_000
    heard += len(list(played.take(ClockReading(end_ms, end_ms, last + 1))))
    assert [why for why in failed if "later than the windows" not in why] == []
    assert heard


def test_each_topic_that_the_ingest_asks_for_has_sound_messages_to_spoil() -> None:
    assert set(SEEDS) == set(TOPICS)


def test_a_thousand_spoiled_messages_harm_nothing(ingest: Watched) -> None:
    found = judged(ingest, 1_000)
    assert found["taken"] > 300
    assert {"json", "schema", "topic"} <= found.keys()


@pytest.mark.long
def test_a_hundred_thousand_spoiled_messages_harm_nothing(ingest: Watched) -> None:
    found = judged(ingest, 100_000)
    assert found["taken"] > 30_000
    print(dict(found))

"""Events and readings as MQTT topics.

`city/events/<type>/<id>` has the event as it is, retained while it is open, so that whoever
connects knows it; when it is over it is told once more, with its end, and the retained message is
removed. After each connection the topics are made to agree with the events.

`city/readings/<kind>/<sensor>` has each reading of a public kind as the log has it, not retained.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
from sqlalchemy import Connection, Engine, select

from citywise.backend.city.events import event_object
from citywise.backend.ingest import log
from citywise.backend.ingest.records import Reading, Withdrawal
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.kinds.observation import WITHDRAW
from citywise.backend.outgoing.changes import Change, since
from citywise.backend.outgoing.measured import told_since
from citywise.backend.store import followers, outbox
from citywise.backend.store.models import EventRow, PlaceRow
from citywise.backend.times import iso

FOLLOWER = "topics"
ROOM = "city/events"
PATTERN = f"{ROOM}/+/+"
READERS = "reading-topics"
"""As what readings follow the log."""
READINGS = "city/readings"
OPEN = (PATTERN, f"{READINGS}/+/+")
"""What every device may hear."""
_PAGE = 200
_PAGE_BYTES = 30_000
"""Of the log: some 500 readings, behind which an alert may have to wait."""
Publish = Callable[[str, bytes, bool], None]
"""Sends a payload to a topic (without prefix), retained or not; returns when the broker has it."""
PublishAll = Callable[[Sequence[tuple[str, bytes]]], None]
"""Sends payloads to topics, in order and not retained; returns when the broker has them all."""


class EventTopics:
    """Follows the outbox; `step` publishes what is new."""

    def __init__(self, engine: Engine, publish: Publish) -> None:
        self._engine, self._publish = engine, publish
        self._retained: set[str] = set()
        self._is_new = threading.Event()
        self._is_new.set()

    def connected(self) -> None:
        """The broker may have lost what it retained, or hold what is over; called in another
        thread."""
        self._retained = set()
        self._is_new.set()

    def hear(self, topic: str, payload: bytes) -> None:
        """Note a retained topic that the broker has; called in another thread."""
        if payload:
            self._retained.add(topic)

    def step(self) -> bool:
        """Publish what is new; False if there is nothing."""
        if self._is_new.is_set():
            self._is_new.clear()
            self._restate()
            return True
        with self._engine.connect() as connection:
            changes = since(connection, self._begin(connection), _PAGE)
        for change in changes:
            self._tell(change)
        if changes:
            self._keep(changes[-1].id)
        return bool(changes)

    def tidy(self) -> None:
        """Remove what the broker retains of events that are over, once it has said what it has."""
        if not self._retained:
            return
        with self._engine.connect() as connection:
            rows = connection.execute(select(EventRow.id, EventRow.type).where(_OPEN))
            there = {topic_of(row.type, row.id) for row in rows}
        for topic in sorted(self._retained - there):
            self._publish(topic, b"", True)
        self._retained = set()

    def _restate(self) -> None:
        """Say all that is open; from where on changes are told next."""
        query = select(EventRow.__table__).where(_OPEN).order_by(EventRow.id)
        with self._engine.connect() as connection:
            newest = outbox.newest(connection)
            begin = self._begin(connection)
            rows = [dict(row) for row in connection.execute(query).mappings()]
            ids = {row["place_id"] for row in rows}
            places = _places(connection, ids)
        for row in rows:
            event = event_object(row, places.get(row["place_id"]))
            body = {**event, "change": None, "announcement": newest}
            self._publish(topic_of(event["type"], event["id"]), orjson.dumps(body), True)
        self._keep(begin)

    def _begin(self, connection: Connection) -> int:
        """After which announcement to go on; a new follower begins at the end."""
        newest = outbox.newest(connection)
        known = followers.position(connection, FOLLOWER, newest)
        return newest if known is None else known

    def _tell(self, change: Change) -> None:
        body = {**change.body, "change": change.kind, "announcement": change.id}
        topic = topic_of(str(change.body.get("type")), str(change.body["id"]))
        self._publish(topic, orjson.dumps(body), not change.is_over)
        if change.is_over:
            self._publish(topic, b"", True)

    def _keep(self, position: int) -> None:
        with self._engine.begin() as connection:
            followers.keep(connection, FOLLOWER, position)


class ReadingTopics:
    """Follows the log; `step` publishes what is new of kinds that are public."""

    def __init__(self, engine: Engine, location: Path, publish: PublishAll) -> None:
        """`location`: the folder of the log."""
        self._engine, self._location, self._publish = engine, location, publish
        self._known = KnownKinds()
        self._position: int | None = None

    def step(self) -> bool:
        """Publish what is new, for who begins what comes from now on; False if there is nothing."""
        end = log.durable_end(self._location)
        if self._position is None:
            with self._engine.begin() as connection:
                known = followers.position(connection, READERS, end)
                self._position = end if known is None else known
                followers.keep(connection, READERS, self._position)
        if self._position >= end:
            return False
        with self._engine.connect() as connection:
            kinds = self._known.read(connection)
        public = {name for name, kind in kinds.items() if kind.public}
        told, stop = told_since(self._location, self._position, public, _PAGE_BYTES)
        self._publish([(_reading_topic(one), orjson.dumps(_reading(one))) for one in told])
        with self._engine.begin() as connection:
            followers.keep(connection, READERS, stop)
        self._position = stop
        return True


def _reading_topic(told: Reading | Withdrawal) -> str:
    return f"{READINGS}/{told.kind}/{told.sensor}"


def _reading(told: Reading | Withdrawal) -> dict[str, Any]:
    """A reading as sensors send them, with what is unknown as null, and nothing that its kind does
    not know."""
    said = told.values if isinstance(told, Reading) else {WITHDRAW: True}
    return {"kind": told.kind, "sensor": told.sensor, "observed_at": iso(told.observed_ms), **said}


_OPEN = EventRow.end_ms.is_(None) & EventRow.withdrawn_ms.is_(None)


def topic_of(kind: str, identity: str) -> str:
    """The topic of an event: type and id as one level each, percent-encoded where they must be."""
    name = kind.rpartition("#")[2].rpartition("/")[2] or "event"
    return f"{ROOM}/{quote(name, safe='')}/{quote(identity, safe=':@!$,;= ')}"


def _places(connection: Connection, ids: set[str]) -> Mapping[str, Mapping[str, Any]]:
    rows = connection.execute(select(PlaceRow.__table__)).mappings() if ids else ()
    return {row["id"]: dict(row) for row in rows if row["id"] in ids}

"""The ingest process against a real broker: nothing is acknowledged before it is durable."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import paho.mqtt.client as paho
import pytest
from sqlalchemy import delete, func, insert, select
from sqlalchemy.exc import OperationalError

from citywise.backend import machine, mqtt
from citywise.backend.ingest import detected, inlet, log, own_hours, records, remote
from citywise.backend.ingest.acceptance import Verdict
from citywise.backend.ingest.intake import Entry, IntakeStore
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.payloads import Place, Point
from citywise.backend.ingest.service import IngestService
from citywise.backend.ingest.subscription import CLIENT_ID
from citywise.backend.people import consents
from citywise.backend.people.ids import new_id
from citywise.backend.settings import Broker, Ingest, Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import (
    AccountRow,
    ConsentRow,
    CursorRow,
    DeadLetterRow,
    EventRow,
    InletRow,
    PlaceRow,
)
from tests.api.town import soon
from tests.databases import begun

ROAD = Place(
    id="1", kind="road", name="Ringgaden", geometry=Point(coordinates=(10.1, 56.2)),
    sensors=("traffic",),
)  # fmt: skip


GARAGE = (
    b'{"id":"G9","kind":"garage","name":"G","geometry":{"type":"Point",'
    b'"coordinates":[10.1,56.1]},"sensors":["parking"],"capacity":9}'
)
EVENT = (
    b'{"type":"TrafficJam","level":3,"geometry":{"type":"Point","coordinates":[10.1,56.1]},'
    b'"start_ms":1407222000000,"source":"sensor"}'
)

GRACE_S = 0.2
"""So late readings may come, where they are to come later than that."""


class Street:
    """A broker, an ingest in a thread, and a client that publishes."""

    def __init__(self, folder: Path, broker: Broker, **limits: object) -> None:
        self.settings = Settings(
            data_dir=folder, broker=broker, ingest=Ingest.model_validate(limits)
        )
        self.engine = create_engine_for(self.settings.database_url)
        self.client = mqtt.connect(broker, "tester")
        self.start()

    def start(self) -> None:
        self.stop_event = threading.Event()
        self.service = IngestService(self.settings, IntakeStore(self.engine), self.stop_event)
        self.thread = threading.Thread(target=self.service.run)
        self.thread.start()

    def stop(self) -> None:
        self.stop_event.set()
        self.thread.join(120)

    def close(self) -> None:
        """End it, and leave nothing of it at the broker."""
        self.stop()
        # First the session: the removal would wait in it, and come to the next test's ingest.
        fresh = mqtt.connect(self.settings.broker, CLIENT_ID)
        soon(fresh.is_connected)
        self.publish("places/road/1", b"", retain=True)
        for client in (self.client, fresh):
            client.disconnect()
            client.loop_stop()
        self.engine.dispose()

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> paho.MQTTMessageInfo:
        info = self.client.publish(f"citywise/{topic}", payload, qos=1, retain=retain)
        info.wait_for_publish(30)
        return info

    def readings(self) -> list[tuple[str, float]]:
        folder = self.settings.log_dir
        entries = records.read(folder, 0, log.durable_end(folder))
        return [
            (e.sensor, float(e.values["speed_kmh"] or 0))
            for e in entries
            if isinstance(e, records.Reading)
        ]

    def standing_now(self) -> dict[tuple[str, str], object]:
        """What a reader finds who starts at the log's end."""
        folder, end = self.settings.log_dir, log.durable_end(self.settings.log_dir)
        entries = records.read_standing(folder, records.standing_since(folder, end), end)
        found = {(e.subject, e.key): e.body for e in entries}
        return {key: body for key, body in found.items() if body is not None}

    def answered_up_to(self, position: int) -> None:
        """As if the pipeline needed the log only from a position on."""
        row = {"request": "r", "position": position, "resume_from": position, "state": {}}
        with self.engine.begin() as connection:
            connection.execute(insert(CursorRow), [{**row, "updated_ms": 0}])

    def standing(self) -> list[tuple[str, str, object]]:
        """What the log says to stand, one after the other, without the places."""
        folder = self.settings.log_dir
        entries = records.read_standing(folder, 0, log.durable_end(folder))
        return [(e.subject, e.key, e.body) for e in entries if e.subject != "place"]

    def put(self, *entries: tuple[str, str, Mapping[str, object] | None]) -> None:
        with self.engine.begin() as connection:
            inlet.write(connection, entries)

    def unwritten(self) -> list[str]:
        """Topics of the messages that have come and are not taken for the log."""
        return [message.topic for message, _at in list(self.service._subscription._messages.queue)]

    def waiting(self) -> int:
        """Rows in the inlet."""
        with self.engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(InletRow)) or 0

    def overtaken(self) -> list[int]:
        """Readings that the log's time had passed before they came: their windows are gone."""
        folder = self.settings.log_dir
        complete, found = 0, []
        for entry in records.read(folder, 0, log.durable_end(folder)):
            if isinstance(entry, records.ClockReading):
                complete = max(complete, entry.complete_ms)
            elif isinstance(entry, records.Reading) and entry.observed_ms <= complete:
                found.append(entry.observed_ms)
        return found

    def dead(self) -> list[str]:
        with self.engine.connect() as connection:
            return sorted(connection.scalars(select(DeadLetterRow.reason)))


Begin = Callable[..., Street]


@pytest.fixture
def begin(tmp_path: Path, broker: Broker) -> Iterator[Begin]:
    """Starts a street with limits of its own."""
    begun(Settings(data_dir=tmp_path).database_url).dispose()
    streets: list[Street] = []

    def begin(**limits: object) -> Street:
        streets.append(Street(tmp_path, broker, **limits))
        return streets[-1]

    yield begin
    for street in streets:
        street.close()


@pytest.fixture
def street(begin: Begin) -> Street:
    return begin()


def reading(speed: float, millisecond: int = 0) -> bytes:
    observed = datetime.now(UTC).replace(microsecond=1000 * (millisecond % 1000))
    return orjson.dumps(
        {"sensor": "1", "observed_at": observed, "speed_kmh": speed, "vehicle_count": 3}
    )


def know_road(street: Street) -> None:
    street.publish("places/road/1", ROAD.model_dump_json().encode(), retain=True)
    with street.engine.connect() as connection:
        soon(lambda: connection.scalar(select(PlaceRow.id)) == "1")


def test_readings_reach_the_log_and_bad_ones_the_dead_letters(street: Street) -> None:
    know_road(street)
    street.publish("observations/traffic", reading(10, 1))
    street.publish("observations/traffic", b"{broken")
    street.publish("observations/traffic", b"\x00\xff" * 5_000_000)
    street.publish("observations/traffic/1", reading(20, 2))
    soon(lambda: len(street.readings()) == 2 and len(street.dead()) == 2)
    assert street.readings() == [("1", 10.0), ("1", 20.0)]
    assert street.dead() == ["json", "oversized"]


def test_a_place_with_an_endless_number_takes_nothing_else_with_it(street: Street) -> None:
    know_road(street)
    garage = GARAGE.replace(b'"capacity":9', b'"capacity":1' + b"0" * 30)
    street.publish("places/garage/G9", garage)
    street.publish("observations/traffic", reading(10, 1))
    soon(lambda: len(street.readings()) == 1 and street.dead() == ["schema"])
    assert street.thread.is_alive()


def test_of_a_group_only_the_message_that_cannot_be_written_is_a_dead_letter(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is raised by one after it was judged: here in the log, the database, the events."""
    know_road(street)
    fail_at(monkeypatch, records, "encode_readings", "13.0")
    fail_at(monkeypatch, Journal, "check", "broken-context")
    fail_at(monkeypatch, IntakeStore, "_write", "Place(id='G9'")
    fail_at(monkeypatch, detected, "keep", "broken-event")
    for speed in (12, 13, 14):
        street.publish("observations/traffic", reading(speed, speed))
    for user in ("ok-context", "broken-context"):
        street.publish(f"context/{user}", b'{"activity": "DrivingCar"}')
    street.publish("places/garage/G9", GARAGE)
    for name in ("ok-event", "broken-event"):
        street.publish(f"events/{name}", EVENT)
    soon(lambda: len(street.dead()) == 4)
    soon(
        lambda: {("activity", "ok-context"), ("event", "ok-event")} <= street.standing_now().keys()
    )
    assert street.dead() == ["internal"] * 4
    assert street.readings() == [("1", 12.0), ("1", 14.0)]
    assert ("activity", "broken-context") not in street.standing_now()
    with street.engine.connect() as connection:
        payloads = list(connection.scalars(select(DeadLetterRow.payload)))
        assert not any("DrivingCar" in payload for payload in payloads)
        assert any('"capacity":9' in payload for payload in payloads)
        assert list(connection.scalars(select(EventRow.id))) == ["ok-event"]
        assert list(connection.scalars(select(PlaceRow.id))) == ["1"]


def fail_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, what: str) -> None:
    """A function that cannot take anything that mentions `what`."""
    real = getattr(owner, name)

    def failing(*arguments: object) -> object:
        if what in repr(arguments):
            raise TypeError("Integer exceeds 64-bit range")
        return real(*arguments)

    monkeypatch.setattr(owner, name, failing)


def test_what_no_letter_can_be_written_of_is_waited_for(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be written, it is no message's fault: none is acknowledged and lost."""
    real, broken = IntakeStore._write, threading.Event()

    def write(store: IntakeStore, entries: Sequence[Entry]) -> None:
        if broken.is_set():
            raise TypeError("the table has another shape")
        real(store, entries)

    monkeypatch.setattr(IntakeStore, "_write", write)
    know_road(street)
    broken.set()
    street.publish("places/garage/G9", GARAGE)
    soon(lambda: street.service._blocked is not None)
    broken.clear()
    with street.engine.connect() as connection:
        soon(lambda: set(connection.scalars(select(PlaceRow.id))) == {"1", "G9"})
    assert street.dead() == []


def test_the_log_is_served_while_the_ingest_runs_and_no_longer(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(remote.TOKEN, "0123456789abcdef")
    monkeypatch.setattr(remote, "_PAUSES_S", ())
    port = machine.free_port()
    street = begin(serve_port=port, serve_token="0123456789abcdef")
    address = f"http://127.0.0.1:{port}/log"
    know_road(street)
    street.publish("observations/traffic", reading(10, 1))
    soon(lambda: len(street.readings()) == 1)
    found = records.read(address, 0, log.durable_end(address))
    readings = [entry for entry in found if isinstance(entry, records.Reading)]
    assert [r.values["speed_kmh"] for r in readings] == [10.0]
    street.stop()
    with pytest.raises(log.LogError, match="no answer"):
        log.durable_end(address)


def test_what_comes_while_the_ingest_is_away_is_there_when_it_is_back(begin: Begin) -> None:
    street = begin(grace_s=GRACE_S)
    know_road(street)
    street.publish("observations/traffic", reading(1, 1))
    soon(lambda: len(street.readings()) == 1)
    street.stop()
    for speed in (2, 3):
        street.publish("observations/traffic", reading(speed, speed))
    time.sleep(3 * GRACE_S)
    street.start()
    soon(lambda: len(street.readings()) == 3)
    assert [speed for _sensor, speed in street.readings()] == [1.0, 2.0, 3.0]
    assert street.overtaken() == []


def test_a_redelivered_reading_is_known_after_a_restart(street: Street) -> None:
    know_road(street)
    payload = reading(1)
    street.publish("observations/traffic", payload)
    soon(lambda: len(street.readings()) == 1)
    street.stop()
    street.start()
    street.publish("observations/traffic", payload)
    street.publish("observations/traffic", reading(2, 999))
    soon(lambda: len(street.readings()) >= 2)
    assert [speed for _sensor, speed in street.readings()] == [1.0, 2.0]


def test_a_full_disk_stops_acknowledgement_and_loses_nothing(begin: Begin) -> None:
    street = begin(min_free_bytes=1 << 60)

    def is_subscribed() -> bool:
        """A first subscription gets only what is published after it."""
        street.publish("events/probe", b"")
        return "citywise/events/probe" in street.unwritten()

    soon(is_subscribed)
    street.publish("places/road/1", ROAD.model_dump_json().encode(), retain=True)
    street.publish("observations/traffic", reading(1))
    soon(lambda: "citywise/observations/traffic" in street.unwritten())
    street.stop()
    assert street.readings() == []
    free = street.settings.ingest.model_copy(update={"min_free_bytes": 0})
    street.settings = street.settings.model_copy(update={"ingest": free})
    street.start()
    soon(lambda: len(street.readings()) == 1)
    assert street.overtaken() == []


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ("write", errno.EROFS),
        ("write", errno.ENOSPC),
        ("fdatasync", errno.EIO),
        ("fdatasync", errno.EROFS),
    ],
)
def test_a_log_that_cannot_be_written_for_a_while_loses_and_doubles_nothing(
    street: Street, monkeypatch: pytest.MonkeyPatch, step: str, fault: int
) -> None:
    """Its disk became read-only, full or faulty: what came meanwhile is written when it is mended,
    and `/readyz` says why nothing is."""
    know_road(street)
    street.publish("observations/traffic", reading(1))
    soon(lambda: len(street.readings()) == 1)
    failed = threading.Event()

    def fails(*_: object) -> int:
        failed.set()
        raise OSError(fault, os.strerror(fault))

    with monkeypatch.context() as patch:
        patch.setattr(f"citywise.backend.ingest.log.os.{step}", fails)
        for number in (2, 3):
            street.client.publish("citywise/observations/traffic", reading(number, number), qos=1)
        assert failed.wait(60)
        soon(lambda: os.strerror(fault) in (street.service._blocked or ""))
        assert [speed for _sensor, speed in street.readings()] == [1.0]
    soon(lambda: len(street.readings()) == 3)
    assert [speed for _sensor, speed in street.readings()] == [1.0, 2.0, 3.0]
    soon(lambda: street.service._blocked is None)


def test_contexts_and_events_reach_the_log_once_and_bad_ones_the_dead_letters(
    street: Street,
) -> None:
    event = {
        "type": "PublicEvent", "level": 2, "start_ms": 1_407_222_000_000, "source": "social",
        "geometry": {"type": "Point", "coordinates": [10.2, 56.1]},
        "place_id": None, "name": "Festuge", "revision": None,
    }  # fmt: skip
    know_road(street)
    for _ in range(2):
        street.publish("context/alice", b'{"activity": "DrivingCar"}')
        street.publish("events/party", orjson.dumps(event))
    street.publish("context/alice", b'{"position": {"lat": 91, "lon": 10}}')
    street.publish("context/al ice", b'{"activity": "DrivingCar"}')
    street.publish("events/party", b'{"type": "PublicEvent"}')
    street.publish("events/party", b"")
    street.publish("context/alice", b"")
    soon(lambda: len(street.standing()) == 4 and len(street.dead()) == 3)
    assert street.standing() == [
        ("activity", "alice", {"activity": "DrivingCar"}),
        ("event", "party", event),
        ("event", "party", None),
        ("activity", "alice", None),
    ]
    assert street.dead() == ["schema", "schema", "schema"]


def test_a_place_stands_once_however_often_the_broker_tells_it(street: Street) -> None:
    know_road(street)
    street.stop()
    street.start()
    renamed = ROAD.model_copy(update={"name": "Ringvejen"})
    street.publish("places/road/1", renamed.model_dump_json().encode(), retain=True)
    street.publish("places/road/1", b"", retain=True)
    folder = street.settings.log_dir

    def places() -> list[str | None]:
        entries = records.read_standing(folder, 0, log.durable_end(folder))
        return [None if e.body is None else str(e.body["name"]) for e in entries]

    soon(lambda: None in places())
    assert places() == ["Ringgaden", "Ringvejen", None]


def test_places_known_before_they_stood_in_the_log_are_written_at_the_start(
    street: Street,
) -> None:
    street.stop()
    known = Entry("citywise/places/road/1", 0, "digest", Verdict(place=ROAD))
    IntakeStore(street.engine).write([known])
    street.start()
    soon(lambda: [key for _subject, key in street.standing_now()] == ["1"])


def test_what_is_committed_to_the_inlet_reaches_the_log_in_order_and_leaves_the_table(
    street: Street,
) -> None:
    with street.engine.connect() as connection:
        inlet.write(connection, [("activity", "bob", {"activity": "OnBicycle"})])
        connection.rollback()
    positions = [{"lat": 56.0 + n / 1000, "lon": 10.0} for n in range(inlet.MOST_ROWS + 50)]
    street.put(*(("position", "alice", position) for position in positions))
    street.put(("position", "alice", positions[0]), ("position", "alice", positions[0]))
    street.put(("weather", "x", {}), ("position", "alice", {"lat": 91.0, "lon": 0.0}))
    street.put(("instance", "huge", {**instance(1), "values": {"radius": 1 << 70}}))
    street.put(("position", "alice", None))
    soon(lambda: street.waiting() == 0)
    found = [
        body["lat"] if isinstance(body, dict) else body
        for _subject, _key, body in street.standing()
    ]
    assert found == [*(p["lat"] for p in positions), 56.0, None]
    assert street.dead() == ["schema", "schema", "schema"]


def test_a_crash_between_append_and_removal_appends_nothing_twice(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_self: inlet.Inlet, _ids: object) -> None:
        raise OperationalError("delete", {}, Exception("the machine is gone"))

    bodies: list[dict[str, object]] = [{"activity": "OnFoot"}, {"activity": "DrivingCar"}]
    know_road(street)  # its start removes, too
    with monkeypatch.context() as broken:
        broken.setattr(inlet.Inlet, "remove", crash)
        broken.setattr(threading, "excepthook", lambda _args: None)
        street.put(*(("activity", "alice", body) for body in bodies))
        soon(lambda: len(street.standing()) == 2)
        street.stop()
    assert street.waiting() == 2
    street.start()
    soon(lambda: street.waiting() == 0)
    street.put(("activity", "alice", None))
    soon(lambda: street.waiting() == 0)
    assert [body for _subject, _key, body in street.standing()] == [*bodies, None]


def test_what_cannot_be_written_waits_in_the_inlet(begin: Begin) -> None:
    street = begin(min_free_bytes=1 << 60)
    street.put(("activity", "alice", {"activity": "OnFoot"}))
    soon(lambda: street.service._blocked is not None)
    street.stop()
    assert (street.waiting(), street.standing()) == (1, [])


def instance(number: int) -> dict[str, object]:
    return {
        "app": "jams", "template": "jam", "version": 1, "user": "alice",
        "values": {"radius": number},
    }  # fmt: skip


@pytest.mark.slow
def test_no_segment_is_removed_in_which_something_stands(begin: Begin) -> None:
    street = begin(retention_hours=0, segment_bytes=200)
    street.answered_up_to(1 << 40)
    expected = {}
    for number in range(6):
        street.put(("instance", f"i{number}", instance(number)))
        expected["instance", f"i{number}"] = instance(number)
        soon(lambda: street.waiting() == 0)
    time.sleep(0.6)  # two looks for segments that nobody needs
    assert street.standing_now() == expected


@pytest.mark.slow
def test_what_stands_outlives_the_log_s_retention_and_silent_users_do_not(
    begin: Begin,
) -> None:
    street = begin(retention_hours=1e-4, segment_bytes=4000, context_hours=5e-4)
    folder = street.settings.log_dir
    street.answered_up_to(1 << 40)
    street.put(("instance", "alice.jam", instance(1)))
    street.put(("activity", "alice", {"activity": "OnFoot"}))
    soon(lambda: street.waiting() == 0)
    for number in range(12):
        route = {"coordinates": [[10 + n / 1e6 + number, 56.1] for n in range(150)]}
        street.publish("context/bob", orjson.dumps({"route": route}))
        time.sleep(0.1)
    soon(lambda: log.segments(folder)[0] > 8000)
    soon(lambda: street.standing_now() == {("instance", "alice.jam"): instance(1)})
    street.stop()
    patient = street.settings.ingest.model_copy(update={"context_hours": 1.0})
    street.settings = street.settings.model_copy(update={"ingest": patient})
    street.start()
    street.put(("activity", "alice", {"activity": "OnFoot"}))
    soon(lambda: len(street.standing_now()) == 2)
    assert street.standing_now()["instance", "alice.jam"] == instance(1)


def test_of_a_person_only_what_they_consent_to_reaches_the_log_and_nothing_tells_who_it_is(
    street: Street,
) -> None:
    user, folder = new_id(), street.settings.data_dir
    account = {"id": user, "name": "Alice", "name_key": "alice", "roles": [], "created_ms": 0}
    with street.engine.begin() as connection:
        connection.execute(insert(AccountRow), account)
        consents.write(connection, user, "activity", given=True)
    know_road(street)
    told = b'{"activity": "DrivingCar", "position": {"lat": 56.7654321, "lon": 10}}'
    for _ in range(2):
        street.publish(f"context/{user}", told)
    soon(lambda: street.dead() == ["no-consent"] and len(street.standing()) == 1)
    assert street.standing() == [("activity", user, {"activity": "DrivingCar"})]
    with street.engine.begin() as connection:
        connection.execute(delete(AccountRow))
        connection.execute(delete(ConsentRow))
        inlet.write(connection, [("activity", user, None)])
    street.publish(f"context/{user}", told)
    soon(lambda: street.dead() == ["no-consent", "unknown-user"] and not street.waiting())
    assert street.standing()[-1] == ("activity", user, None)
    street.stop()
    with street.engine.connect() as connection:
        letters = connection.execute(select(DeadLetterRow.__table__)).mappings().all()
    assert {letter["topic"] for letter in letters} == {"citywise/context/(a person)"}
    assert {letter["size"] for letter in letters} == {len(told)}
    left = b"".join(p.read_bytes() for p in (folder / "log").iterdir())
    left += b"".join(repr(dict(letter)).encode() for letter in letters)
    assert not any(part in left for part in (user.encode(), b"DrivingCar", b"7654321"))


@pytest.mark.slow
def test_what_a_person_wants_kept_for_minutes_is_gone_after_them(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_hours, "_LOOK_SECONDS", 0.2)
    street = begin()
    street.put(("activity", "alice", {"activity": "OnFoot"}))
    street.put(("route", "alice", {"coordinates": [[10.0, 56.0], [10.1, 56.0]]}))
    soon(lambda: len(street.standing_now()) == 2)
    with street.engine.begin() as connection:
        consents.write(connection, "alice", "route", given=True, hours=1 / 3600)
    soon(lambda: set(street.standing_now()) == {("activity", "alice")})

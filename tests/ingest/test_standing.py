"""What may stand in the log: bodies of events, contexts and instances, and their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from citywise.backend.ingest.payloads import Place, Point
from citywise.backend.ingest.standing import (
    CONTEXT,
    MOST_BYTES,
    SUBJECTS,
    Entry,
    checked,
    context_entries,
    event_entries,
    of_place,
)

EVENT: dict[str, Any] = {
    "type": "TrafficJam", "level": 3, "place_id": "158324", "name": "Ringvej",
    "geometry": {"type": "LineString", "coordinates": [[10.1, 56.2], [10.2, 56.2]]},
    "start_ms": 1_407_222_000_000, "source": "sensor", "revision": None,
}  # fmt: skip
INSTANCE: dict[str, Any] = {
    "app": "jam_watch", "template": "jam_ahead", "version": 1, "user": "alice",
    "values": {"radius": 300, "places": ["158324"]},
}  # fmt: skip
PLACE = (
    of_place(
        Place(
            id="alice", kind="spot", name="A", geometry=Point(coordinates=(10.2, 56.15)), sensors=()
        )
    ).body
    or {}
)
BODIES: dict[str, Mapping[str, Any]] = {
    "event": EVENT,
    "place": PLACE,
    "position": {"lat": 56.2, "lon": 10.1, "heading": 90.0, "along_m": None},
    "route": {"coordinates": [[10.1, 56.2], [10.2, 56.2]]},
    "activity": {"activity": "https://example.org/Skating"},
    "preferences": {"distance": 3, "language": "da"},
    "instance": INSTANCE,
}


@pytest.mark.parametrize("subject", BODIES)
def test_a_body_stands_as_it_came_and_can_be_removed(subject: str) -> None:
    assert checked(subject, "alice", BODIES[subject]) == Entry(subject, "alice", BODIES[subject])
    assert checked(subject, "alice", None) == Entry(subject, "alice", None)


def test_every_subject_has_a_case_here() -> None:
    assert set(SUBJECTS) == set(BODIES)


def test_numbers_and_what_is_left_out_have_one_form() -> None:
    (entry,) = context_entries("alice", b'{"position": {"lon": 10, "lat": 56}}')
    assert entry.body == {"lat": 56.0, "lon": 10.0, "heading": None, "along_m": None}
    event = {k: v for k, v in EVENT.items() if k not in ("name", "place_id", "revision")}
    (entry,) = event_entries("e1", orjson.dumps(event))
    assert entry.body == {**EVENT, "name": None, "place_id": None}


@pytest.mark.parametrize(
    ("subject", "change", "says"),
    [
        ("event", {"level": 6}, "level"),
        ("event", {"level": 0}, "level"),
        ("event", {"level": True}, "level"),
        ("event", {"type": "Traffic Jam"}, "TrafficJam"),
        ("event", {"type": 'x"). p(y'}, "TrafficJam"),
        ("event", {"geometry": None}, "geometry"),
        ("event", {"geometry": {"type": "Point", "coordinates": [10.1, 95]}}, "geometry"),
        ("event", {"start_ms": "2014-08-05T07:00:00Z"}, "start_ms"),
        ("event", {"source": 'a"b'}, "source"),
        ("event", {"colour": "red"}, "colour"),
        ("position", {"heading": 361}, "heading"),
        ("position", {"along_m": -1}, "along_m"),
        ("position", {"lat": "56"}, "lat"),
        ("route", {"coordinates": [[10.1, 56.2]]}, "at least 2"),
        ("route", {"coordinates": [[10.1, 56.2]] * 10_001}, "at most 10000"),
        ("activity", {"activity": ""}, "local name"),
        ("preferences", {"a b": 1}, "pattern"),
        ("preferences", {"distance": 1.5}, "integer of 32 bits"),
        ("preferences", {"distance": True}, "integer of 32 bits"),
        ("preferences", {"distance": 2**31}, "integer of 32 bits"),
        ("preferences", {"note": "x" * 201}, "200 characters"),
        ("preferences", {"note": "a\nb"}, "200 characters"),
        ("preferences", {f"p{n}": 1 for n in range(101)}, "at most 100"),
        ("instance", {"version": 0}, "version"),
        ("instance", {"app": "Jam-Watch"}, "app"),
        ("instance", {"user": "a b"}, "user"),
        ("instance", {"values": {"area": "x" * MOST_BYTES}}, "bytes, at most"),
        ("instance", {"values": {"area": 2**70}}, "no JSON"),
    ],
)
def test_a_body_that_does_not_fit_is_refused(
    subject: str, change: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        checked(subject, "alice", {**BODIES[subject], **change})


@pytest.mark.parametrize(
    ("subject", "key", "says"),
    [
        ("weather", "alice", "subject `weather`: expected one of place, event, position"),
        ("place", "a b", "place `a b`: expected 1 to 64 letters"),
        ("position", 'a"b', 'position `a"b`: expected 1 to 64 letters'),
        ("instance", "x" * 65, "expected 1 to 64 letters"),
        ("event", 'a"b', "without blanks, quotes"),
        ("event", "a\n", "without blanks, quotes"),
        ("event", "x" * 161, "1 to 160 characters"),
    ],
)
def test_a_key_that_could_break_out_of_a_fact_is_refused(subject: str, key: str, says: str) -> None:
    for body in (None, BODIES.get(subject)):
        with pytest.raises(ValueError, match=says):
            checked(subject, key, body)


def test_an_update_changes_what_it_names_and_removes_what_is_null() -> None:
    update = {"activity": "DrivingCar", "route": None}
    assert context_entries("alice", orjson.dumps(update)) == [
        Entry("route", "alice", None),
        Entry("activity", "alice", {"activity": "DrivingCar"}),
    ]


def test_an_update_that_names_nothing_is_refused_and_an_empty_payload_forgets_the_user() -> None:
    with pytest.raises(ValueError, match="at least one of position, route"):
        context_entries("alice", b"{}")
    with pytest.raises(ValueError, match="user `a b`"):
        context_entries("a b", b"")
    assert context_entries("alice", b"") == [Entry(s, "alice", None) for s in CONTEXT]


def test_a_place_stands_with_its_opening_hours() -> None:
    place = Place(
        id="BRUUNS", kind="garage", name="Bruuns", geometry=Point(coordinates=(10.2, 56.1)),
        sensors=("parking",), opening_hours="Mo-Sa 07:00-20:00",
    )  # fmt: skip
    entry = of_place(place)
    assert (entry.subject, entry.key) == ("place", "BRUUNS")
    assert Place.model_validate_json(orjson.dumps(entry.body)) == place

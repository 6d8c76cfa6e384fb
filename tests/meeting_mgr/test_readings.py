"""What devices and rooms tell is checked, and only values of sensors come out of it."""

from __future__ import annotations

import json

import pytest

from citywise.apps.meeting_mgr.model import SENSORS, Room
from citywise.apps.meeting_mgr.readings import (
    MAX_BYTES,
    BadReadingError,
    observed,
    observed_in_room,
    reading,
    room_reading,
)
from citywise.backend.times import parse_ms

AT = "2026-11-22T10:00:00.250+01:00"
ROOM = Room(name="B", lat=56.1629, lon=10.2039)


def told(**values: object) -> bytes:
    """A message with values."""
    return json.dumps({"at": AT, "values": values}).encode()


def test_all_that_a_device_may_tell() -> None:
    values = {
        "noise_db": 71.5,
        "light_lux": 230,
        "proximity_cm": 5,
        "motion_ms2": 0.3,
        "speed_kmh": 0,
        "lat": 56.1629,
        "lon": 10.2039,
        "accuracy_m": 12,
        "visible": True,
        "battery_pct": 80,
        "network_mbps": 9.5,
    }
    heard = reading(told(**values))
    assert heard.at == parse_ms(AT)
    found = observed(heard, ROOM)
    assert set(found) == set(SENSORS)
    assert found["noise"] == 71.5
    assert found["distance"] == 0
    assert found["visible"] == 1


def test_what_is_left_out_or_null_is_not_observed() -> None:
    assert observed(reading(told()), ROOM) == {}
    assert observed(reading(told(speed_kmh=None, visible=False)), ROOM) == {"visible": 0}


@pytest.mark.parametrize(
    ("lat", "lon", "metres"),
    [(56.1629, 10.2049, 62), (56.1719, 10.2039, 1001), (-56.1629, -169.7961, 20_015_087)],
)
def test_of_a_position_the_distance_to_the_room_remains(
    lat: float, lon: float, metres: float
) -> None:
    found = observed(reading(told(lat=lat, lon=lon)), ROOM)
    assert found == {"distance": pytest.approx(metres, rel=0.01)}


def test_without_a_place_of_the_room_a_position_tells_nothing() -> None:
    assert observed(reading(told(lat=56.1, lon=10.2)), Room(name="B")) == {}


def test_a_vague_position_tells_something_only_if_it_is_farther_away_than_it_is_vague() -> None:
    near, far = {"lat": 56.1629, "lon": 10.2049}, {"lat": 56.2, "lon": 10.2}
    assert observed(reading(told(**near, accuracy_m=100)), ROOM)
    assert not observed(reading(told(**near, accuracy_m=101)), ROOM)
    assert observed(reading(told(**far, accuracy_m=4000)), ROOM)
    assert not observed(reading(told(**far, accuracy_m=4200)), ROOM)


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        (b"", "the message: Invalid JSON"),
        (b'{"values": {}}', "at: Field required"),
        (b'{"at": "now", "values": {}}', "at: found 'now', expected a time in ISO 8601"),
        (b'{"at": "2026-11-22T10:00:00", "values": {}}', "expected a time in ISO 8601 with a zone"),
        (b'{"at": 5, "values": {}}', "at: found 5, expected a time"),
        (told(noise_db="loud"), "values.noise_db: Input should be a valid number"),
        (told(battery_pct=101), "values.battery_pct: Input should be less than or equal to 100"),
        (told(lat=56), "values: found one of `lat` and `lon`, expected both or none"),
        (told(sound="a recording"), "values.sound: Extra inputs are not permitted"),
        (told(noise_db=float("nan")), "noise_db"),
        (told(sound="a" * MAX_BYTES), "expected at most 2,000"),
    ],
)
def test_what_is_no_reading_is_refused_with_what_is_wrong(payload: bytes, complaint: str) -> None:
    with pytest.raises(BadReadingError) as caught:
        reading(payload)
    assert complaint in str(caught.value)


def test_a_rooms_sensors_tell_noise_and_light() -> None:
    heard = room_reading(told(noise_db=40, light_lux=300))
    assert observed_in_room(heard) == {"noise": 40, "light": 300}
    assert observed_in_room(room_reading(told())) == {}
    with pytest.raises(BadReadingError, match=r"values.battery_pct: Extra inputs"):
        room_reading(told(battery_pct=5))

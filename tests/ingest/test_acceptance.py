"""Which messages are accepted, and the reason for each that is not."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from citywise.backend.ingest import acceptance
from citywise.backend.ingest.acceptance import Acceptor, Verdict
from citywise.backend.ingest.log import Record
from citywise.backend.ingest.payloads import Place, Point
from citywise.backend.ingest.records import Reading, decode, encode_readings
from citywise.backend.kinds import Observation, builtin
from citywise.backend.settings import Ingest

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
POINT = {"type": "Point", "coordinates": [10.2, 56.1]}
TOPIC = "citywise/observations/traffic"
GARAGE = Place(
    id="NORREPORT", kind="garage", name="Nørreport", geometry=Point(coordinates=(10.2, 56.1)),
    sensors=("parking",),
)  # fmt: skip
ROAD = Place(
    id="158324", kind="road", name="Århusvej", geometry=Point(coordinates=(10.1, 56.2)),
    sensors=("traffic",),
)  # fmt: skip


def acceptor(clock: str = "wall", **limits: float) -> Acceptor:
    found = Acceptor("citywise", Ingest.model_validate({"clock": clock, **limits}), builtin())
    found.know(GARAGE)
    found.know(ROAD)
    return found


def reading(**changes: object) -> dict[str, object]:
    values = {"sensor": "158324", "observed_at": NOW, "speed_kmh": 31.5, "vehicle_count": 12}
    return {k: v for k, v in (values | changes).items() if v != "absent"}


def judge(payload: object, topic: str = TOPIC) -> Verdict:
    data = payload if isinstance(payload, bytes) else orjson.dumps(payload)
    return acceptor().judge(topic, data, NOW)


def test_a_reading_and_a_batch_of_readings_are_accepted() -> None:
    assert len(judge(reading()).observations) == 1
    batch = [reading(), reading(observed_at=NOW - timedelta(minutes=5))]
    verdict = judge(batch)
    assert (len(verdict.observations), verdict.dead) == (2, [])


def test_a_time_in_any_zone_is_kept_in_utc() -> None:
    (observation,) = judge(reading(observed_at="2026-05-01T14:00:00+02:00")).observations
    assert observation.observed_at == NOW


@pytest.mark.parametrize(
    ("payload", "reason", "says"),
    [
        (b"{", "json", ""),
        (b"", "json", ""),
        (b"\xff\xfe\x00\x01", "json", ""),
        (b"[" * 100_000, "json", ""),
        (b"[" * 500 + b"]" * 500, "json", ""),
        (b"null", "schema", "object"),
        (b'"text"', "schema", "object"),
        (reading(speed_kmh="31"), "schema", "`speed_kmh`"),
        (reading(speed_kmh=-1), "schema", "`speed_kmh`"),
        (reading(speed_kmh=1e9), "schema", "`speed_kmh`"),
        (reading(vehicle_count=1.5), "schema", "`vehicle_count`"),
        (reading(vehicle_count=True), "schema", "`vehicle_count`"),
        (reading(vehicle_count="absent"), "schema", "`vehicle_count`"),
        (reading(sensor="../etc"), "schema", "`sensor`"),
        (reading(sensor=158324), "schema", "`sensor`"),
        (reading(observed_at="2026-05-01T12:00:00"), "schema", "timezone"),
        (reading(observed_at="noon"), "schema", "`observed_at`"),
        (reading(observed_at=1777636800), "schema", "`observed_at`"),
        (orjson.dumps(reading()).replace(b"31.5", b"NaN"), "schema", "finite"),
        (orjson.dumps(reading()).replace(b"31.5", b"Infinity"), "schema", "finite"),
        (orjson.dumps(reading()).replace(b"31.5", b"1e999"), "schema", ""),
        (reading(observed_at="2031-05-01T12:00:00Z"), "future", "after the present"),
        (reading(observed_at="1999-05-01T12:00:00Z"), "ancient", "before"),
        (reading(observed_at="9999-12-31T23:59:59-12:00"), "schema", "year"),
        (reading(observed_at="0001-01-01T00:00:00+12:00"), "schema", "year"),
        (reading(sensor="999"), "unknown-sensor", "citywise/places/<kind>/999"),
        (reading(sensor="NORREPORT"), "unknown-sensor", "traffic"),
        (b"x" * 10_000_000, "oversized", "10000000 bytes"),
    ],
)
def test_a_bad_message_becomes_a_dead_letter_with_its_reason(
    payload: object, reason: str, says: str
) -> None:
    verdict = judge(payload)
    assert verdict.observations == []
    (letter,) = verdict.dead
    assert letter.reason == reason
    assert says in letter.detail


def test_a_bad_reading_in_a_batch_takes_no_other_with_it() -> None:
    earlier = NOW - timedelta(minutes=5)
    verdict = judge([reading(), reading(speed_kmh=-1), reading(observed_at=earlier)])
    assert len(verdict.observations) == 2
    assert [letter.reason for letter in verdict.dead] == ["schema"]


@pytest.mark.parametrize(
    ("payload", "reason", "says", "topic"),
    [
        (b"[" + b"0," * 200_000 + b"0]", "oversized", "200001 observations", TOPIC),
        (b"[" + b"{}," * 200_000 + b"{}]", "oversized", "200001 observations", TOPIC),
        (
            b"{" + b",".join(b'"%d":0' % n for n in range(30_000)) + b"}",
            "schema",
            "30005 faults",
            "citywise/events/e1",
        ),
    ],
)
def test_a_message_with_very_many_faults_is_one_letter_and_little_work(
    payload: bytes, reason: str, says: str, topic: str
) -> None:
    tracemalloc.start()
    try:
        (letter,) = judge(payload, topic).dead
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (letter.reason, says in letter.detail) == (reason, True), letter.detail
    assert most < 200 * len(payload)


def test_fields_that_a_kind_does_not_know_are_kept_apart_and_refuse_nothing() -> None:
    sent = reading(battery_pct=87, rssi=None, radio={"sf": 7, "gateways": ["a", "b"]})
    (found,) = judge(sent).observations
    assert kept(found) == ({"speed_kmh": 31.5, "vehicle_count": 12}, found.extra)
    assert found.extra == {k: sent[k] for k in ("battery_pct", "rssi", "radio")}


@pytest.mark.parametrize(
    ("odd", "remains"),
    [
        ('"n": 1' + "0" * 400, {}),
        ('"deep": ' + "[" * 150 + "]" * 150, None),
        ('"text": "' + "x" * 5_000 + '"', {}),
        ('"bad": NaN', {"bad": None}),
        (", ".join(f'"f{n}": {n}' for n in range(1_000)), None),
        ('"__class__": 1, "model_config": 2, "__dict__": {"speed_kmh": 0}', None),
    ],
)
def test_what_a_device_sends_besides_neither_breaks_nor_fills_the_log(
    odd: str, remains: dict[str, object] | None
) -> None:
    text = orjson.dumps(reading()).decode()
    (found,) = judge(f"{text[:-1]}, {odd}}}".encode()).observations
    values, extra = kept(found)
    assert values == {"speed_kmh": 31.5, "vehicle_count": 12}
    assert len(orjson.dumps(extra)) <= 1_000
    if remains is not None:
        assert extra == remains


def kept(observation: Observation) -> tuple[dict[str, object], dict[str, object]]:
    """The values and the rest of an observation as the log gives them back."""
    text = encode_readings("traffic", 0, [observation])
    (found,) = decode(Record(0, len(text), text))
    assert isinstance(found, Reading)
    return dict(found.values), dict(found.extra)


def test_of_the_air_one_pollutant_is_enough_and_none_is_not() -> None:
    one = acceptor()
    point = Point(coordinates=(10.1, 56.2))
    one.know(Place(id="a", kind="air_station", name="a", geometry=point, sensors=("air",)))
    air = {"sensor": "a", "observed_at": NOW.isoformat()}
    topic = TOPIC.replace("traffic", "air")
    (found,) = one.judge(topic, orjson.dumps(air | {"ozone": 3}), NOW).observations
    assert (found.values["ozone"], found.values["sulfur_dioxide"]) == (3, None)
    for known in ({}, {"ozone": None}, {"pm25": 12.5}):
        (letter,) = one.judge(topic, orjson.dumps(air | known), NOW).dead
        assert letter.reason == "schema"
        assert "none of `ozone`, " in letter.detail


def test_the_same_sensor_and_instant_again_is_a_duplicate_not_a_dead_letter() -> None:
    one = acceptor()
    payload = orjson.dumps(reading())
    assert len(one.judge(TOPIC, payload, NOW).observations) == 1
    again = one.judge(TOPIC, payload, NOW)
    assert (again.duplicates, again.observations, again.dead) == (1, [], [])


def test_an_unknown_topic_and_a_sensor_that_is_not_its_topics_are_refused() -> None:
    assert judge(reading(), "citywise/observations/smell").dead[0].reason == "topic"
    assert judge(reading(), TOPIC + "/158324").dead == []
    assert judge(reading(), TOPIC + "/158355").dead[0].reason == "schema"


def test_a_place_makes_its_sensors_known_and_an_empty_payload_forgets_it() -> None:
    one = acceptor()
    topic = "citywise/places/road/77"
    place = ROAD.model_copy(update={"id": "77"}).model_dump_json().encode()
    assert one.judge(topic, place, NOW).place is not None
    payload = orjson.dumps(reading(sensor="77"))
    assert len(one.judge(TOPIC, payload, NOW).observations) == 1
    assert one.judge(topic, b"", NOW).removed_place == "77"
    assert one.judge(TOPIC, payload, NOW).dead[0].reason == "unknown-sensor"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capacity", 10**30),
        ("capacity", 2**64 - 1),
        ("capacity", 100_001),
        ("length_m", 1e308),
        ("free_flow_kmh", 1e-300),
        ("sensors", ["traffic"] * 21),
    ],
)
def test_a_place_with_a_number_that_cannot_be_is_refused(field: str, value: object) -> None:
    place = json.dumps(ROAD.model_dump(mode="json") | {field: value}).encode()
    (letter,) = judge(place, "citywise/places/road/158324").dead
    assert (letter.reason, letter.detail.split(":")[0]) == ("schema", f"`{field}`")


def test_an_event_whose_start_no_rule_can_hold_is_refused() -> None:
    event = {"type": "TrafficJam", "level": 3, "geometry": POINT, "source": "sensor"}
    verdict = judge(event | {"start_ms": 2**31 * 1000 - 1}, "citywise/events/e1")
    assert verdict.standing
    (letter,) = judge(event | {"start_ms": 2**31 * 1000}, "citywise/events/e1").dead
    assert (letter.reason, letter.detail.split(":")[0]) == ("schema", "`start_ms`")


def test_a_time_before_1970_in_utc_is_refused_whatever_its_zone_says() -> None:
    (letter,) = judge(reading(observed_at="1970-01-01T00:00:00+14:00")).dead
    assert (letter.reason, "year" in letter.detail) == ("schema", True)


def test_with_a_source_s_clock_its_time_decides_what_is_future_and_ancient() -> None:
    one = acceptor("topic", max_age_s=3600)
    clock = {"now": "2014-08-05T06:00:00Z", "complete": "2014-08-05T05:55:00Z"}
    assert one.judge("citywise/clock", orjson.dumps(clock), NOW).clock is not None

    def reasons(time: str) -> list[str]:
        payload = orjson.dumps(reading(observed_at=time))
        return [letter.reason for letter in one.judge(TOPIC, payload, NOW).dead]

    assert reasons("2014-08-05T06:00:00Z") == []
    assert reasons("2014-08-05T06:02:00Z") == ["future"]
    assert reasons("2014-08-05T04:50:00Z") == ["ancient"]


def test_a_clock_is_refused_where_the_wall_s_counts() -> None:
    assert judge({"now": NOW, "complete": NOW}, "citywise/clock").dead[0].reason == "clock"


def test_after_a_reconnect_a_clock_that_overtook_older_readings_is_held_back() -> None:
    one = acceptor("topic")

    def clock(minute: int) -> bytes:
        time = NOW + timedelta(minutes=minute)
        return orjson.dumps({"now": time, "complete": time})

    def accepted(minute: int, at: datetime) -> int:
        payload = orjson.dumps(reading(observed_at=NOW + timedelta(minutes=minute)))
        return len(one.judge(TOPIC, payload, at).observations)

    assert one.judge("citywise/clock", clock(0), NOW).clock is not None
    one.reconnected(NOW)
    assert one.judge("citywise/clock", clock(30), NOW).clock is None
    assert accepted(5, NOW + timedelta(seconds=0.9)) == 1
    assert not one.settled(NOW + timedelta(seconds=1.8))
    assert accepted(10, NOW + timedelta(seconds=1.8)) == 1
    assert not one.settled(NOW + timedelta(seconds=2.7))
    assert one.settled(NOW + timedelta(seconds=2.9))
    assert one.clock is not None
    assert one.clock.complete == NOW + timedelta(minutes=30)
    assert not one.holds_time


@pytest.mark.parametrize(
    "change",
    [
        {"geometry": {"type": "Point", "coordinates": [1.7e308, 56.2]}},
        {"geometry": {"type": "Point", "coordinates": [10.1, 91]}},
        {"name": "a\0b"},
        {"name": ""},
        {"kind": "garage"},
        {"id": "78"},
    ],
)
def test_a_place_that_cannot_be_is_refused(change: dict[str, object]) -> None:
    place = ROAD.model_copy(update={"id": "77"}).model_dump(mode="json") | change
    verdict = acceptor().judge("citywise/places/road/77", orjson.dumps(place), NOW)
    assert [letter.reason for letter in verdict.dead] == ["schema"]
    assert verdict.place is None


def test_a_clock_beyond_the_end_of_its_recording_is_refused() -> None:
    clock = {"now": NOW + timedelta(days=9), "complete": NOW, "until": NOW}
    verdict = acceptor("topic").judge("citywise/clock", orjson.dumps(clock), NOW)
    assert [letter.reason for letter in verdict.dead] == ["clock"]


@pytest.mark.parametrize(
    ("topic", "payload", "reason", "says"),
    [
        ("context/alice", b"{", "json", ""),
        ("context/alice", b"{}", "schema", "at least one of position"),
        ("context/alice", b'{"route": {"coordinates": []}}', "schema", "`route.coordinates`"),
        ("context/a b", b"", "schema", "user `a b`"),
        ("context/alice/position", b"{}", "topic", "docs/mqtt.md"),
        ("events/e1", b'{"type": "TrafficJam"}', "schema", "`level`"),
        ("events/" + "x" * 161, b"", "schema", "1 to 160 characters"),
    ],
)
def test_a_context_or_event_that_cannot_be_is_refused(
    topic: str, payload: bytes, reason: str, says: str
) -> None:
    verdict = judge(payload, f"citywise/{topic}")
    assert verdict.standing == []
    (letter,) = verdict.dead
    assert (letter.reason, says in letter.detail) == (reason, True)


def test_a_place_stands_in_the_log_until_it_is_gone() -> None:
    payload = ROAD.model_dump_json().encode()
    (entry,) = judge(payload, "citywise/places/road/158324").standing
    assert entry.body is not None
    assert entry[:2] == ("place", "158324")
    assert Place.model_validate(entry.body, strict=False) == ROAD
    (entry,) = judge(b"", "citywise/places/road/158324").standing
    assert entry == ("place", "158324", None)


SECRET = "56.1234567"


@pytest.mark.parametrize(
    ("topic", "payload", "detail"),
    [
        ("context/alice", f'{{"position": {{"lat": {SECRET}, "lon": 500}}}}', "`position.lon`: "),
        ("context/alice", f'{{"activity": "at {SECRET}"}}', "`activity`: "),
        ("context/alice", f'{{"preferences": {{"{SECRET}": 1.5}}}}', "`preferences.…`: "),
        ("context/alice", f'{{"preferences": {{"{SECRET} ": 1}}}}', "`preferences.…"),
        ("context/alice", f'{{"{SECRET}": 1}}', "`…`: "),
        ("context/alice", f'{{"route": "{SECRET}', "EOF"),
        ("context/alice/extra", f'{{"lat": {SECRET}}}', "no payload is defined"),
        ("context/alice", SECRET + " " * 5_000_000, "5000010 bytes"),
    ],
)
def test_nothing_of_a_message_about_a_person_is_kept_in_a_dead_letter(
    topic: str, payload: str, detail: str
) -> None:
    verdict = judge(payload.encode(), f"citywise/{topic}")
    (letter,) = verdict.dead
    assert detail in letter.detail
    assert SECRET not in letter.detail
    size = len(payload)
    assert letter.payload == f"({size} bytes, not kept: context of a person)".encode()
    assert (letter.size, verdict.user) == (size, "alice")


def test_not_even_an_error_of_our_own_tells_what_a_message_about_a_person_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_user: str, payload: bytes) -> Verdict:
        raise RuntimeError(payload.decode())

    monkeypatch.setattr(acceptance, "_context", broken)
    (letter,) = judge(SECRET.encode(), "citywise/context/alice").dead
    assert (letter.reason, letter.detail) == ("internal", "RuntimeError")
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text

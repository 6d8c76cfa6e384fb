"""Every connector makes of small messages what is written beside them in `samples.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.connectors import (
    BUILTIN,
    Desk,
    Event,
    Message,
    Place,
    Reading,
    Refused,
    recorded,
)
from citywise.backend.connectors.message import MOST_BYTES
from citywise.backend.ingest.payloads import Place as PlacePayload
from citywise.backend.ingest.standing import EventState
from citywise.backend.kinds import Kinds, builtin
from citywise.backend.machine import REPOSITORY
from citywise.backend.times import parse_ms
from tests.conftest import PACK
from tests.connectors.samples import SAMPLES, Sample
from tests.connectors.telling import printed, told
from tests.connectors.test_mutations import FILES

AT = "2026-05-04T12:00:00Z"
EVENTS = REPOSITORY / "ontologies" / "event.ttl"
ALL = [(name, one) for name, samples in SAMPLES.items() for one in samples]


@pytest.mark.parametrize(
    ("connector", "one"), ALL, ids=lambda x: x if isinstance(x, str) else x.name
)
def test_a_sample_gives_what_is_written_beside_it(
    connector: str, one: Sample, tmp_path: Path
) -> None:
    arguments = []
    for number, (topic, body) in enumerate(one.messages):
        (file := tmp_path / f"{number}.msg").write_bytes(body)
        arguments.append(f"{topic}={file}" if topic else str(file))
    found, code = printed(connector, *arguments, "--at", AT)
    lines = [told(thing) for thing in found]
    assert lines == [line.strip() for line in one.expected.strip().splitlines()]
    assert code == any(line.startswith("refused") for line in lines)


def test_every_connector_has_samples() -> None:
    assert set(SAMPLES) == set(BUILTIN)


@pytest.mark.parametrize("connector", BUILTIN)
def test_what_is_found_is_what_the_ingest_takes(connector: str) -> None:
    """Observations, places and events are valid, and events of classes that there are."""
    classes = set(re.findall(r"^ev:(\w+) a owl:Class", EVENTS.read_text("utf-8"), re.MULTILINE))
    sources = [one.messages for one in SAMPLES[connector]]
    for pattern in FILES[connector]:
        files = sorted((PACK / "feeds").glob(pattern))
        sources += [
            tuple((m.topic, m.body) for m in recorded(Message(f.read_bytes()))) for f in files
        ]
    for messages in sources:
        reader = BUILTIN[connector](Desk(source=connector))
        for topic, body in messages:
            for found in reader.read(Message(body, topic, parse_ms(AT))):
                if isinstance(found, Reading):
                    told = dict(found.to_json()["observation"])
                    kind = told.pop("kind")
                    assert builtin().reader(kind).of(told).sensor == found.sensor
                elif isinstance(found, Place):
                    taken = PlacePayload.model_validate_json(json.dumps(found.body))
                    assert taken.kind in builtin().places
                elif isinstance(found, Event) and found.body is not None:
                    event = EventState.model_validate_json(json.dumps(found.body))
                    assert event.type in classes


@pytest.mark.parametrize("connector", BUILTIN)
@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        (b"", {"json", "xml", "protobuf"}),
        (b"\xff\x00\xfe", {"encoding", "xml", "protobuf", "json"}),
        (b"[" * 5_000, {"too-deep", "xml", "protobuf"}),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, {"too-deep", "xml", "protobuf"}),
        (b"<a>" * 5_000, {"too-deep", "json", "protobuf"}),
        (b"9" * 10_000, {"json", "xml", "protobuf"}),
    ],
    ids=["empty", "binary", "lists", "objects", "elements", "digits"],
)
def test_what_is_no_message_at_all_is_refused_as_a_whole(
    connector: str, body: bytes, reasons: set[str]
) -> None:
    reader = BUILTIN[connector](Desk(source=connector))
    found = reader.read(Message(body, "tele/x/SENSOR", 0))
    assert all(isinstance(one, Refused) and one.reason in reasons for one in found)
    assert found


@pytest.mark.parametrize("connector", BUILTIN)
def test_a_message_that_is_too_large_is_refused_unread(connector: str) -> None:
    reader = BUILTIN[connector](Desk(source=connector))
    found = reader.read(Message(b" " * (MOST_BYTES + 1), "a/b", 0))
    assert [one.reason for one in found if isinstance(one, Refused)] == ["too-large"]


def test_a_file_that_is_too_large_is_refused_by_the_command(tmp_path: Path) -> None:
    with (file := tmp_path / "large.json").open("wb") as large:
        large.truncate(MOST_BYTES * 3)
    found, code = printed("ngsi-ld", str(file))
    assert ([told(one) for one in found], code) == (["refused too-large"], 1)


def test_a_kind_of_the_city_takes_what_is_otherwise_extra(tmp_path: Path) -> None:
    (tmp_path / "light.toml").write_text(
        'kind = "light"\n[fields.luminosity]\ntype = "decimal"\nstep = 0.1\n', encoding="utf-8"
    )
    (file := tmp_path / "up.json").write_bytes(
        b'{"end_device_ids":{"device_id":"d"},"uplink_message":{"received_at":'
        b'"2026-05-04T09:00:00Z","decoded_payload":{"luminosity":0.64,"temperature":1.0}}}'
    )
    found, _code = printed("ttn", str(file), "--kinds", str(tmp_path))
    assert [told(one) for one in found] == [
        "light d 2026-05-04T09:00:00Z luminosity=0.6",
        "climate d 2026-05-04T09:00:00Z temperature_c=1",
    ]


def test_without_any_kind_nothing_is_known_and_nothing_fails() -> None:
    for connector, samples in SAMPLES.items():
        for one in samples:
            reader = BUILTIN[connector](Desk(Kinds(), source=connector))
            for topic, body in one.messages:
                found = reader.read(Message(body, topic, parse_ms(AT)))
                assert not any(isinstance(thing, Reading) for thing in found)


def test_a_prefix_keeps_the_ids_of_two_sources_apart() -> None:
    reader = BUILTIN["sensor-community"](Desk(source="s", prefix="sc-"))
    body = b'{"esp8266id":"9","sensordatavalues":[{"value_type":"SDS_P1","value":"4"}]}'
    (found,) = reader.read(Message(body, at_ms=0))
    assert isinstance(found, Reading)
    assert found.sensor == "sc-9"


def test_the_same_place_again_is_told_once() -> None:
    (one,) = SAMPLES["opensensemap"]
    reader = BUILTIN["opensensemap"](Desk(source="o"))
    first, second = (reader.read(Message(one.messages[0][1])) for _ in range(2))
    assert len(first) == len(second) + 1


@settings(max_examples=50)
@given(st.sampled_from(sorted(BUILTIN)), st.binary(max_size=300), st.text(max_size=30))
def test_any_bytes_at_any_topic_crash_nothing(connector: str, body: bytes, topic: str) -> None:
    BUILTIN[connector](Desk(source=connector)).read(Message(body, topic, 0))

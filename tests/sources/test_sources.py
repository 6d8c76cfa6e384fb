"""Sources of a running system: what is new is sent once, events end, none stops another."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from citywise.backend.connectors import Event, Place, Reading
from citywise.backend.kinds import Kind, builtin
from citywise.backend.settings import Settings, Source
from citywise.backend.sources.relay import Relay, Sent
from citywise.backend.sources.working import UnknownConnectorError, Working
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.store.models import HeartbeatRow
from citywise.backend.times import wall_ms
from tests.api.town import soon
from tests.sources.running import listening, running
from tests.sources.servers import body, serving, status

NOW = wall_ms() // 1000


def station(free: int, at: int) -> bytes:
    told = {"station_id": "a", "num_bikes_available": free, "last_reported": at}
    return json.dumps({"last_updated": at, "data": {"stations": [told]}}).encode()


def reading(sensor: str = "a", at: int = 1, **extra: Any) -> Reading:
    return Reading("noise", sensor, at, {"level": 60}, extra)


def event(name: str, level: int = 1, ends: int | None = None) -> Event:
    return Event(name, {"type": "RoadWorks", "level": level}, ends)


def topics(sent: Any) -> list[str]:
    return [f"{one.topic}{'' if one.payload else ' over'}" for one in sent]


# -- what is sent ---------------------------------------------------------------------


def test_what_a_source_tells_twice_is_one_observation() -> None:
    relay = Relay()
    (first,) = relay.messages([reading(battery=9), reading("b"), reading()])
    assert first.topic == "observations/noise"
    assert json.loads(first.payload) == [
        {"battery": 9, "sensor": "a", "observed_at": "1970-01-01T00:00:00.001Z", "level": 60},
        {"sensor": "b", "observed_at": "1970-01-01T00:00:00.001Z", "level": 60},
    ]
    assert list(relay.messages([reading(), reading("b")])) == []
    assert topics(relay.messages([reading(at=2)])) == ["observations/noise"]


def test_what_a_source_corrects_is_sent_once_more_and_not_each_time() -> None:
    relay = Relay()
    right, wrong = reading(), replace(reading(), values={"level": 160})
    told = [level for _poll in range(3) for level in levels(relay.messages([wrong]))]
    told += [level for _poll in range(3) for level in levels(relay.messages([wrong, right]))]
    assert told == [160, 60]
    told = [level for one in (wrong, right) for level in levels(relay.messages([one]))]
    assert told == [160, 60]  # back and forth, too


def levels(sent: Any) -> list[int]:
    return [one["level"] for message in sent for one in json.loads(message.payload)]


def test_many_observations_are_several_messages() -> None:
    sent = list(Relay().messages(reading(at=number) for number in range(1_200)))
    assert [len(json.loads(one.payload)) for one in sent] == [500, 500, 200]


def test_a_place_with_sensors_of_its_own_is_one_for_each() -> None:
    told = {"id": "box", "kind": "air_station", "name": "Box", "geometry": {}, "sensors": ["noise"]}
    place = Place(told, {"s1": ("noise",), "s2": ("climate",)})
    sent = list(Relay().messages([place]))
    assert topics(sent) == ["places/air_station/s1", "places/air_station/s2"]
    assert all(one.retain for one in sent)
    assert json.loads(sent[1].payload)["sensors"] == ["climate"]


def test_an_event_that_an_answer_no_longer_names_is_over_and_others_are_not() -> None:
    relay = Relay()
    assert topics(relay.messages([event("x"), event("y")], "url1", whole=True)) == [
        "events/x", "events/y",
    ]  # fmt: skip
    assert topics(relay.messages([event("z")], "url2", whole=True)) == ["events/z"]
    assert topics(relay.messages([event("x"), event("y", 2)], "url1", whole=True)) == ["events/y"]
    assert topics(relay.messages([event("y", 2)], "url1", whole=True)) == ["events/x over"]
    assert topics(relay.messages([Event("y", None)], "url1")) == ["events/y over"]
    assert topics(relay.messages([Event("y", None)], "url1")) == []


def test_an_event_ends_at_its_time_also_after_a_restart() -> None:
    relay = Relay()
    list(relay.messages([event("x", ends=100), event("y")]))
    again = Relay(json.loads(json.dumps(relay.state())))
    assert topics(again.over(99)) == []
    assert topics(again.over(100)) == ["events/x over"]
    assert topics(again.over(100)) == []


# -- a source at work -----------------------------------------------------------------


def source(url: str | None = None, **more: Any) -> Source:
    given: dict[str, Any] = {"name": "bikes", "connector": "gbfs", "urls": (url,) if url else ()}
    return Source.model_validate({**given, **more})


def test_a_source_that_fails_says_so_and_goes_on_when_it_answers(tmp_path: Path) -> None:
    answers = iter([503, 200, 304, 200])

    def answer(handler: BaseHTTPRequestHandler) -> None:
        code = next(answers)
        if code == 200:
            body(handler, station(3, NOW), ETag='"1"')
        else:
            status(handler, code)

    sent: list[Sent] = []
    with serving(answer) as url:
        one = Working(source(url), builtin(), sent.append, tmp_path)
        assert one.fetch_all() > 100
        assert one.report()["error"] == f"{url}: status 503"
        for _time in range(3):
            assert one.fetch_all() < 70
    found = one.report()
    assert topics(sent) == ["observations/bikes"]
    assert found["error"] is None
    assert (found["messages"], found["unchanged"], found["failures"]) == (2, 1, 1)
    assert found["lag_s"] is not None


def page(level: int, following: str | None) -> bytes:
    """A Datastream with one Observation, in a page of several."""
    stream = {
        "@iot.id": level, "name": "Noise", "unitOfMeasurement": {"symbol": "dB"},
        "ObservedProperty": {"name": "noise"},
        "Observations": [{"result": level, "phenomenonTime": "2026-05-04T09:00:00Z"}],
    }  # fmt: skip
    return json.dumps(
        {"value": [stream], **({"@iot.nextLink": following} if following else {})}
    ).encode()


def test_all_pages_of_an_answer_are_read_and_asked_anew_each_time(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        assert handler.headers["If-None-Match"] is None
        following = {"/feed.json": "/feed.json?$skip=1", "/feed.json?$skip=1": "feed.json?$skip=2"}
        body(handler, page(len(asked), following.get(handler.path)), ETag='"1"')

    sent: list[Sent] = []
    with serving(answer) as url:
        one = Working(source(url, connector="sensorthings"), builtin(), sent.append, tmp_path)
        one.fetch_all()
        one.fetch_all()
    assert asked == ["/feed.json", "/feed.json?$skip=1", "/feed.json?$skip=2"] * 2
    levels = [each["level"] for one_ in sent for each in json.loads(one_.payload)]
    assert levels == [1, 2, 3, 4, 5, 6]
    assert one.report()["error"] is None


@pytest.mark.parametrize(
    ("following", "says"),
    [("/feed.json", "goes on after 1 pages, or begins anew"), ("http://192.0.2.1/", "another")],
)
def test_pages_without_end_or_elsewhere_are_left(tmp_path: Path, following: str, says: str) -> None:
    with serving(lambda h: body(h, page(1, following))) as url:
        one = Working(source(url, connector="sensorthings"), builtin(), lambda _s: None, tmp_path)
        one.fetch_all()
    assert says in one.report()["error"]


def test_a_source_that_leaves_ends_its_events(tmp_path: Path) -> None:
    sent: list[Sent] = []
    one = Working(source("http://x.org/"), builtin(), sent.append, tmp_path)
    list(one._relay.messages([event("x"), event("y")]))
    one.leave()
    assert topics(sent) == ["events/x over", "events/y over"]


def test_what_is_refused_is_counted_and_the_last_five_are_shown(tmp_path: Path) -> None:
    one = Working(source(topics=("x",)), builtin(), lambda _sent: None, tmp_path)
    for number in range(8):
        one.hear("x", f"{{{number}".encode())
        one.read_heard(1)
    found = one.report()
    assert found["refused"] == 8
    assert [sample["reason"] for sample in found["samples"]] == ["json"] * 5


def test_a_table_that_loses_a_column_says_so_and_other_refusals_do_not_push_it_out(
    tmp_path: Path,
) -> None:
    mapping = """
        connector = "table"
        format = "csv"
        [[observation]]
        kind = "bikes"
        sensor = "id"
        time = "at"
        fields.available = "free"
        fields.docks = "docks"
    """
    rows = "".join(f"{number},2026-05-04T09:00:00Z,many\n" for number in range(9))
    with serving(lambda handler: body(handler, f"id,at,free\n{rows}".encode())) as url:
        told = {"name": "table", "mapping": mapping, "urls": (url,)}
        one = Working(Source.model_validate(told), builtin(), lambda _sent: None, tmp_path)
        one.fetch_all()
    found = one.report()
    assert (found["messages"], found["refused"]) == (1, 10)
    (lost,) = [sample for sample in found["samples"] if sample["reason"] == "column"]
    assert lost["said"] == "there is no column `docks`, there is `id`, `at`, `free`"


def test_a_connector_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnknownConnectorError, match="citywise connect list"):
        Working(source("http://x.org/", connector="gbsf"), builtin(), lambda _s: None, tmp_path)


def test_a_kind_that_an_operator_makes_is_known_from_then_on(tmp_path: Path) -> None:
    sent: list[Sent] = []
    one = Working(source(connector="ttn", topics=("up",)), builtin(), sent.append, tmp_path)
    decoded = {"decoded_payload": {"lux": 3}}
    up = json.dumps({"end_device_ids": {"device_id": "d"}, "uplink_message": decoded}).encode()
    light = Kind.model_validate({"kind": "light", "fields": {"lux": {"type": "integer"}}})
    for kinds in (builtin(), builtin().with_kinds(light)):
        one.know(kinds)
        one.hear("up", up)
        one.read_heard(1)
    assert topics(sent) == ["observations/light"]


def test_a_damaged_note_of_events_is_as_none(tmp_path: Path) -> None:
    (tmp_path / "bikes.json").write_text('{"events": {"x": 5}}', encoding="utf-8")
    one = Working(source("http://x.org/"), builtin(), lambda _s: None, tmp_path)
    one.end_what_is_over()


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"urls": ["ftp://x.org/"]}, "no http"),
        ({"urls": []}, "give `urls`, `topics` or a `secret`"),
        ({"urls": ["http://x.org/"], "zone": "Mars"}, "no time zone `Mars`"),
        ({"topics": ["a/#/b"]}, "`a/#/b` is no topic of MQTT"),
        ({"urls": ["http://x.org/"], "mapping": "x"}, "give a `connector` or a `mapping`"),
        (
            {
                "subscribe": {"broker": "http://b/", "types": ["A"], "notify": "http://c/"},
                "urls": ["http://x.org/"],
            },
            "`subscribe` needs a `secret`",
        ),
    ],
)
def test_a_source_that_cannot_be_is_refused_at_the_start(told: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Settings.model_validate({"sources": [{"name": "a", "connector": "cap", **told}]})


def test_two_sources_of_one_name_are_refused() -> None:
    told = {"name": "a", "connector": "cap", "urls": ["http://x.org/"]}
    with pytest.raises(ValueError, match="two sources are called `a`"):
        Settings.model_validate({"sources": [told, told]})


# -- all of them ----------------------------------------------------------------------


@pytest.mark.thorough
def test_a_source_that_hangs_stops_no_other_and_topics_are_heard(tmp_path: Path) -> None:
    """One server never answers, one sends for ever, one is sound, and one source is MQTT."""

    def hang(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(60)

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"[" * 10_000)

    heard: dict[str, Any] = {}

    def listen(client: Any) -> None:
        client.on_connect = lambda c, *_: c.subscribe("citywise/#", 1)
        client.on_message = lambda _c, _d, m: heard.update({m.topic: bytes(m.payload)})

    sound = lambda handler: body(handler, station(5, NOW))  # noqa: E731
    with (
        listening(listen) as (at, listener),
        serving(hang) as slow,
        serving(endless) as huge,
        serving(sound) as well,
    ):
        sources = (
            source(slow, name="slow", timeout_s=5),
            source(huge, name="huge", max_bytes=100_000),
            source(well, name="well"),
            source(well, name="odd", connector="none.toml"),
            source(name="lora", connector="ttn", topics=("v3/+/devices/+/up",)),
        )
        settings = Settings(data_dir=tmp_path, broker=at, sources=sources)
        engine = create_engine_for(settings.database_url)
        migrate(engine)
        with running(settings, engine):
            soon(lambda: "citywise/observations/bikes" in heard)
            up = {
                "end_device_ids": {"device_id": "n1"},
                "uplink_message": {"decoded_payload": {"noise": 61}},
            }
            soon(lambda: _told(listener, up, "citywise/observations/noise", heard))
            soon(lambda: _reports(engine).get("huge", {}).get("error"))
    assert "citywise connect list" in _reports(engine)["odd"]["error"]
    assert json.loads(heard["citywise/observations/bikes"])[0]["available"] == 5
    assert json.loads(heard["citywise/observations/noise"])[0]["level"] == 61
    engine.dispose()


def _told(client: Any, message: Any, topic: str, heard: dict[str, Any]) -> bool:
    client.publish("v3/app/devices/n1/up", json.dumps(message), 1)
    return topic in heard


def _reports(engine: Any) -> dict[str, Any]:
    with engine.connect() as connection:
        query = select(HeartbeatRow.detail).where(HeartbeatRow.process == "connectors")
        detail = connection.scalar(query) or {}
    return {one["name"]: one for one in detail.get("sources", [])}

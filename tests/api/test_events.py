"""Events as JSON and GeoJSON."""

from __future__ import annotations

import gzip

import pytest
from flask.testing import FlaskClient

from tests.api.town import Town


@pytest.fixture
def busy(town: Town) -> Town:
    town.road("100", "Viborgvej, Aarhus: 1 → 2")
    town.garage("NORREPORT", "Norreport")
    town.running(now="2014-08-05T12:00:00Z")
    town.event("a", "100", "2014-08-05T06:00:00Z", "2014-08-05T07:00:00Z")
    town.event("b", "100", "2014-08-05T08:00:00Z", "2014-08-05T09:00:00Z", level=4)
    town.event("c", "NORREPORT", "2014-08-05T08:30:00Z", kind="ParkingFull")
    town.event("d", "unheard", "2014-08-05T11:00:00Z", confirmed="2014-08-05T11:30:00Z")
    return town


def ids(client: FlaskClient, query: str) -> list[str]:
    answer = client.get(f"/api/v1/events{query}")
    assert answer.status_code == 200, answer.text
    return [event["id"] for event in answer.json["events"]]


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("form", ["", ".geojson"])
def test_many_events_travel_compressed(client: FlaskClient, form: str) -> None:
    plain = client.get(f"/api/v1/events{form}")
    packed = client.get(f"/api/v1/events{form}", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 2


@pytest.mark.usefixtures("busy")
def test_an_event_has_the_shape_of_the_contract(client: FlaskClient) -> None:
    body = client.get("/api/v1/events").json
    assert body["now"] == "2014-08-05T12:00:00Z"
    assert body["events"][1] == {
        "id": "b",
        "type": "TrafficJam",
        "level": 4,
        "place": {
            "id": "100",
            "name": "Viborgvej, Aarhus: 1 → 2",
            "kind": "road",
            "lat": 56.155,
            "lon": 10.2,
        },
        "start": "2014-08-05T08:00:00Z",
        "confirmed": "2014-08-05T08:00:00Z",
        "end": "2014-08-05T09:00:00Z",
        "request": "traffic_jam",
        "causes": {"opened": ['reading("road",1,"obs",3000,12)'], "confirmed": [], "ended": []},
    }


@pytest.mark.usefixtures("busy")
def test_an_event_at_a_place_nobody_described_keeps_the_places_id(client: FlaskClient) -> None:
    place = client.get("/api/v1/events/d").json["place"]
    assert place == {"id": "unheard", "name": "unheard", "kind": None, "lat": None, "lon": None}


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "abcd"),
        ("?type=ParkingFull", "c"),
        ("?type=ParkingFull&type=TrafficJam", "abcd"),
        ("?type=ParkingFull,Flood", "c"),
        ("?open=true", "cd"),
        ("?open=false", "ab"),
        # An event overlaps the period if any instant of it lies inside, ends included.
        ("?from=2014-08-05T07:00:00Z", "abcd"),
        ("?from=2014-08-05T07:00:01Z", "bcd"),
        ("?until=2014-08-05T08:00:00Z", "ab"),
        ("?until=2014-08-05T07:59:59Z", "a"),
        ("?from=2014-08-05T07:30:00Z&until=2014-08-05T08:10:00Z", "b"),
        ("?from=2014-08-05T10:00:00Z&until=2014-08-05T10:30:00Z", "c"),
        # The same instant in another zone, its + decoded to a blank or not.
        ("?until=2014-08-05T10:00:00+02:00", "ab"),
        ("?until=2014-08-05T10:00:00%2B02:00", "ab"),
        ("?open=true&type=TrafficJam&from=2014-08-05T00:00:00Z", "d"),
    ],
)
def test_filters_select_what_they_say(client: FlaskClient, query: str, found: str) -> None:
    assert "".join(ids(client, query)) == found


@pytest.mark.usefixtures("busy")
def test_pages_follow_each_other_without_gap_or_repetition(client: FlaskClient) -> None:
    found, query = [], "?limit=1"
    for _ in range(5):
        body = client.get(f"/api/v1/events{query}").json
        found += [event["id"] for event in body["events"]]
        if body["next"] is None:
            break
        query = f"?limit=1&cursor={body['next']}"
    assert found == ["a", "b", "c", "d"]


def test_events_that_start_at_once_are_split_over_pages_by_id(
    client: FlaskClient, town: Town
) -> None:
    for name in "cab":
        town.event(name, "100", "2014-08-05T06:00:00Z")
    first = client.get("/api/v1/events?limit=2").json
    assert [event["id"] for event in first["events"]] == ["a", "b"]
    assert ids(client, f"?cursor={first['next']}") == ["c"]


@pytest.mark.usefixtures("busy")
def test_geojson_holds_the_same_events_as_points(client: FlaskClient) -> None:
    answer = client.get("/api/v1/events.geojson?open=true")
    assert answer.content_type == "application/geo+json"
    parking, unheard = answer.json["features"]
    assert parking["geometry"] == {"type": "Point", "coordinates": [10.2, 56.155]}
    assert parking["properties"]["type"] == "ParkingFull"
    assert unheard["geometry"] is None


def test_position_is_where_the_stream_goes_on(client: FlaskClient, town: Town) -> None:
    assert client.get("/api/v1/events").json["position"] == 0
    town.event("a", "100", "2014-08-05T06:00:00Z", announce="event.opened")
    assert client.get("/api/v1/events").json["position"] == 1


def test_without_a_source_now_is_the_wall_clock(client: FlaskClient) -> None:
    assert client.get("/api/v1/events").json["now"] > "2020"


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("from=yesterday", "from"),
        ("until=2014-08-05T00:00:00", "until"),
        ("from=2014-08-06T00:00:00Z&until=2014-08-05T00:00:00Z", "until"),
        ("open=perhaps", "open"),
        ("limit=0", "limit"),
        ("limit=10001", "limit"),
        ("limit=ten", "limit"),
        ("cursor=nonsense", "cursor"),
        ("cursor=9999999999999999999999~a", "cursor"),
        ("form=2014-08-05T00:00:00Z", "form"),
    ],
)
def test_a_bad_parameter_is_named_in_a_problem(
    client: FlaskClient, query: str, parameter: str
) -> None:
    for address in ("events", "events.geojson"):
        answer = client.get(f"/api/v1/{address}?{query}")
        assert answer.status_code == 400
        assert answer.content_type == "application/problem+json"
        assert answer.json["parameter"] == parameter
        assert answer.json["detail"].startswith(f"{parameter}: ")


def test_an_unknown_event_is_not_found(client: FlaskClient) -> None:
    answer = client.get("/api/v1/events/nothing")
    assert answer.status_code == 404
    assert "nothing" in answer.json["detail"]

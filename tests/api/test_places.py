"""Places, readings, dead letters."""

from __future__ import annotations

from flask.testing import FlaskClient

from tests.api.town import Town


def test_places_are_features_with_their_own_geometry(client: FlaskClient, town: Town) -> None:
    town.road("100", line=[[10.0, 56.0], [10.1, 56.1]])
    town.garage("BRUUNS", "Bruuns")
    answer = client.get("/api/v1/places")
    assert answer.content_type == "application/geo+json"
    road, garage = answer.json["features"]
    assert road["geometry"] == {"type": "LineString", "coordinates": [[10.0, 56.0], [10.1, 56.1]]}
    assert road["properties"]["free_flow_kmh"] == 60
    assert "geometry" not in road["properties"]
    assert garage["properties"]["name"] == "Bruuns"


def test_places_are_chosen_by_kind(client: FlaskClient, town: Town) -> None:
    town.road("100")
    town.garage("BRUUNS", "Bruuns")
    found = client.get("/api/v1/places?kind=garage,weather_station").json["features"]
    assert [feature["id"] for feature in found] == ["BRUUNS"]
    assert client.get("/api/v1/places?kind=castle").json["parameter"] == "kind"


def test_a_reading_tells_its_age_in_stream_time(client: FlaskClient, town: Town) -> None:
    town.running(now="2014-08-05T12:00:00Z")
    town.reading("traffic", "100", "2014-08-05T11:58:30Z", speed_kmh=42.5, vehicle_count=7)
    town.reading("parking", "BRUUNS", "2014-08-05T12:00:01Z", occupied=5, capacity=10)
    body = client.get("/api/v1/readings?kind=traffic").json
    assert body == {
        "now": "2014-08-05T12:00:00Z",
        "readings": [
            {
                "kind": "traffic",
                "place_id": "100",
                "observed_at": "2014-08-05T11:58:30Z",
                "age_s": 90,
                "speed_kmh": 42.5,
                "vehicle_count": 7,
            }
        ],
    }
    newer = client.get("/api/v1/readings?kind=parking").json["readings"][0]
    assert newer["age_s"] == 0, "a reading that overtook the clock is not younger than nothing"
    assert client.get("/api/v1/readings?kind=smell").json["parameter"] == "kind"


def test_dead_letters_come_newest_first_with_counts_of_all(client: FlaskClient, town: Town) -> None:
    for number, reason in enumerate(["not-json", "too-large", "not-json"], start=1):
        town.dead_letter(number, reason, payload="<script>")
    first = client.get("/api/v1/dead-letters?limit=2").json
    assert [letter["id"] for letter in first["dead_letters"]] == [3, 2]
    assert first["counts"] == {"not-json": 2, "too-large": 1}
    assert first["dead_letters"][0]["payload"] == "<script>"
    rest = client.get(f"/api/v1/dead-letters?before={first['next']}").json
    assert [letter["id"] for letter in rest["dead_letters"]] == [1]
    assert rest["next"] is None


def test_dead_letters_are_chosen_by_reason(client: FlaskClient, town: Town) -> None:
    town.dead_letter(1, "not-json")
    town.dead_letter(2, "too-large")
    found = client.get("/api/v1/dead-letters?reason=too-large").json["dead_letters"]
    assert [letter["reason"] for letter in found] == ["too-large"]
    assert client.get("/api/v1/dead-letters?limit=1001").json["parameter"] == "limit"


def test_the_city_in_one_answer_is_what_each_address_answers(
    client: FlaskClient, town: Town
) -> None:
    town.running(now="2014-08-05T12:00:00Z")
    town.road("100")
    town.reading("traffic", "100", "2014-08-05T11:58:30Z", speed_kmh=42.5, vehicle_count=7)
    town.event("old", "100", "2014-08-05T04:30:00Z", confirmed="2014-08-05T05:00:00Z")
    answer = client.get("/api/v1/city")
    addresses = {"events": "events?open=true"}
    body = answer.get_json()
    for part, told in body.items():
        assert told == client.get(f"/api/v1/{addresses.get(part, part)}").json, part
    assert len(body) == 5
    assert body["events"]["events"]
    assert "no-store" not in answer.headers["Cache-Control"]  # So it may be compressed.
    assert client.get("/api/v1/city?kind=road").status_code == 400

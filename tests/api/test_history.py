"""History over HTTP: by kind, place and time; as JSON, CSV and Parquet."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from pyarrow import parquet
from sqlalchemy import Engine

from citywise.backend.kinds import Value, builtin, installed
from citywise.backend.settings import History, Settings
from citywise.backend.times import parse_ms
from tests.api.town import NOON, Town
from tests.history.recorded import Told, append, write

AT = parse_ms(NOON)
BASE = "/api/v1/history/readings?kind=noise"


@pytest.fixture
def told(town: Town, settings: Settings) -> Town:
    """Two places, of which each has said something every ten minutes for a day."""
    town.running(now=NOON)
    town.garage("n1", "Torvet", lon=10.20, lat=56.15)
    town.garage("n2", "Havnen", lon=10.30, lat=56.15)
    append(
        settings.log_dir,
        [
            ("noise", place, AT - n * 600_000, {"level": 40.0 + n % 12})
            for n in range(144)
            for place in ("n1", "n2")
        ],
    )
    write(town.engine, settings.log_dir)
    return town


def series(client: FlaskClient, query: str) -> dict[str, list[Any]]:
    answer = client.get(BASE + query)
    assert answer.status_code == 200, answer.text
    return {one["place_id"]: one["points"] for one in answer.json["series"]}


@pytest.mark.usefixtures("told")
def test_values_of_the_last_day_come_series_by_series_and_page_by_page(client: FlaskClient) -> None:
    whole = series(client, "&span=raw")
    assert {place: len(points) for place, points in whole.items()} == {"n1": 144, "n2": 144}
    assert whole["n1"][-1] == {"t": NOON, "value": 40.0}
    paged: dict[str, list[Any]] = {}
    query, pages = "&span=raw&limit=100", 0
    while query:
        body = client.get(BASE + query).json
        for one in body["series"]:
            paged.setdefault(one["place_id"], []).extend(one["points"])
        query = body["next"] and f"&span=raw&limit=100&cursor={body['next']}"
        pages += 1
    assert (paged, pages) == (whole, 3)


@pytest.mark.usefixtures("told")
def test_roll_ups_have_count_least_mean_and_greatest(client: FlaskClient) -> None:
    query = "&span=hour&place=n1&from=2014-08-05T10:00:00Z&until=2014-08-05T11:00:00Z"
    (point,) = series(client, query)["n1"]
    # 7, 6, …, 12 times ten minutes before noon
    assert point == {
        "t": "2014-08-05T10:00:00Z", "count": 6, "min": 40.0, "mean": 47.5, "max": 51.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("&near=56.15,10.2&radius_m=500", {"n1"}),
        ("&bbox=10.25,56,10.4,57", {"n2"}),
        ("&bbox=10.25,56,10.4,57&place=n1", set()),
        ("&place=n1,n2", {"n1", "n2"}),
        ("&from=2013-01-01T00:00:00Z&until=2013-02-01T00:00:00Z", set()),
    ],
)
@pytest.mark.usefixtures("told")
def test_a_question_names_places_an_area_or_a_time(
    client: FlaskClient, query: str, places: set[str]
) -> None:
    assert set(series(client, query)) == places


@pytest.mark.parametrize(
    ("begin", "span"),
    [
        ("2014-08-05T06:30:00Z", "raw"),
        ("2014-08-04T12:00:00Z", "5min"),
        ("2014-08-02T12:00:00Z", "hour"),
        ("2014-07-16T12:00:00Z", "day"),
        ("2013-07-01T12:00:00Z", "day"),
    ],
)
@pytest.mark.usefixtures("told")
def test_auto_takes_a_span_that_a_chart_can_show(
    client: FlaskClient, begin: str, span: str
) -> None:
    assert client.get(f"{BASE}&from={begin}").json["span"] == span


@pytest.mark.usefixtures("told")
def test_history_is_exported_as_csv_and_parquet(client: FlaskClient) -> None:
    with client.get(f"{BASE}&span=raw&format=csv&place=n1") as answer:
        assert answer.mimetype == "text/csv"
        rows = list(csv.DictReader(io.StringIO(answer.get_data(as_text=True))))
    assert len(rows) == 144
    assert rows[-1] == {
        "kind": "noise", "place_id": "n1", "field": "level", "t": NOON, "value": "40.0", "text": "",
    }  # fmt: skip
    with client.get(f"{BASE}&span=hour&format=parquet") as answer:
        table = parquet.read_table(io.BytesIO(answer.data))
    assert table.column_names == ["kind", "place_id", "field", "t", "count", "min", "mean", "max"]
    assert sum(table["count"].to_pylist()) == 288


def test_events_of_the_past_are_found_by_place_and_exported(
    client: FlaskClient, told: Town
) -> None:
    told.event("a", "n1", "2014-08-05T06:00:00Z", "2014-08-05T07:00:00Z")
    told.event("b", "n2", "2014-08-05T06:00:00Z", kind="=cmd")
    address = "/api/v1/history/events"
    body = client.get(f"{address}?near=56.15,10.2&radius_m=500").json
    assert [event["id"] for event in body["events"]] == ["a"]
    body = client.get(f"{address}?place=n2&limit=1").json
    assert ([event["id"] for event in body["events"]], body["whole"]) == (["b"], True)
    assert client.get(f"{address}?from=2014-08-05T08:00:00Z").json["events"][0]["id"] == "b"
    with client.get(f"{address}?format=csv") as answer:
        rows = list(csv.DictReader(io.StringIO(answer.get_data(as_text=True))))
    assert [(r["id"], r["type"], r["end"]) for r in rows] == [
        ("a", "TrafficJam", "2014-08-05T07:00:00Z"),
        ("b", "'=cmd", ""),
    ]
    assert client.get(f"{address}?limit=1").json["whole"] is False


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("?kind=nothing", 404),
        ("?kind=noise&field=x", 400),
        ("?kind=noise&span=week", 400),
        ("?kind=noise&near=56,10", 400),
        ("?kind=noise&near=a,b&radius_m=3", 400),
        ("?kind=noise&bbox=1,2,3", 400),
        ("?kind=noise&bbox=nan,2,3,4", 400),
        ("?kind=noise&format=xml", 400),
        ("?kind=noise&cursor=1~x", 400),
        ("?kind=noise&place=../x", 400),
        ("?kind=noise&from=yesterday", 400),
    ],
)
@pytest.mark.usefixtures("town")
def test_what_cannot_be_asked_is_said(client: FlaskClient, query: str, status: int) -> None:
    assert client.get(f"/api/v1/history/readings{query}").status_code == status


def test_too_large_an_export_is_refused_with_what_to_do(
    client: FlaskClient, told: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citywise.backend.api.history.MOST_EXPORTED", 10)
    answer = client.get(f"{BASE}&span=raw&format=csv")
    assert answer.status_code == 422
    assert "more than 10 rows; ask for a shorter time" in answer.json["detail"]


def test_a_kind_that_is_not_public_is_shown_to_who_is_logged_in(
    app: Flask, client: FlaskClient, town: Town, engine: Engine, outsider: FlaskClient
) -> None:
    secret = builtin()["noise"].model_copy(update={"public": False})
    installed.install(engine, builtin().with_kinds(secret))
    town.running()
    town.reading("noise", "n1", NOON, level=50.0)
    town.reading("climate", "n1", NOON, temperature_c=20.0)
    readings = client.get("/api/v1/readings").json["readings"]
    assert {reading["kind"] for reading in readings} == {"noise", "climate"}
    readings = outsider.get("/api/v1/readings").json["readings"]
    assert {reading["kind"] for reading in readings} == {"climate"}
    assert outsider.get("/api/v1/readings?kind=noise").json["readings"] == []
    assert outsider.get(BASE).status_code == 404
    assert client.get(BASE).status_code == 200


@pytest.fixture
def outsider(settings: Settings, engine: Engine) -> FlaskClient:
    """Somebody who is not logged in, where nobody is by themselves."""
    from citywise.backend.api.app import create_app
    from citywise.backend.settings import People

    return create_app(settings.model_copy(update={"people": People()}), engine).test_client()


MOMENT = "/api/v1/history/moment"


def moment(client: FlaskClient, query: str) -> Any:
    answer = client.get(f"{MOMENT}?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json["kinds"]


@pytest.mark.usefixtures("told")
def test_a_moment_is_what_each_sensor_had_said_last(client: FlaskClient) -> None:
    # At 11:23 the last value is that of 11:20: four times ten minutes before noon.
    found = moment(client, "at=2014-08-05T11:23:00Z")
    assert found == {
        "noise": {
            "span": "raw",
            "fields": [*builtin()["noise"].fields],
            "places": {"n1": [180, 44.0, *NOTHING], "n2": [180, 44.0, *NOTHING]},
        }
    }
    assert moment(client, "at=2014-08-05T11:23:00Z&kind=traffic") == {}
    assert moment(client, "at=2014-07-05T11:23:00Z&kind=noise") == {}


NOTHING = [None] * (len(builtin()["noise"].fields) - 1)
"""Of the other fields nothing was said."""


def test_of_a_moment_whose_values_are_gone_the_roll_up_counts(
    client: FlaskClient, town: Town, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.running(now=NOON)
    town.garage("n1", "Torvet", lon=10.20, lat=56.15)
    speeds = (30.0, 41.0)
    counted: list[Told] = [
        ("traffic", "n1", AT - 1_000 * (1800 - 60 * n), {"speed_kmh": kmh, "vehicle_count": 2 + n})
        for n, kmh in enumerate(speeds)
    ]
    append(settings.log_dir, counted)
    write(town.engine, settings.log_dir, History(readings=0))
    # As it is configured; the object is the default that all settings share.
    monkeypatch.setitem(settings.history.__dict__, "readings", 0)
    found = moment(client, "at=2014-08-05T11:40:00Z")["traffic"]
    assert found["span"] == "5min"
    said = dict(zip(found["fields"], found["places"]["n1"][1:], strict=True))
    # The span from 11:30 ended five minutes before; integers stay so.
    assert (found["places"]["n1"][0], said["speed_kmh"], said["vehicle_count"]) == (300, 35.5, 2)


@pytest.mark.usefixtures("told")
def test_a_field_that_a_later_reading_left_out_is_unknown_at_the_moment(
    client: FlaskClient, town: Town, settings: Settings
) -> None:
    before: dict[str, Value] = {"speed_kmh": 50.0, "vehicle_count": 3}
    append(
        settings.log_dir,
        [
            ("traffic", "n1", AT - 600_000, before),
            ("traffic", "n1", AT - 300_000, {"vehicle_count": 0}),
        ],
    )
    write(town.engine, settings.log_dir)
    found = moment(client, f"at={NOON}&kind=traffic")["traffic"]
    said = dict(zip(found["fields"], found["places"]["n1"][1:], strict=True))
    assert (said["speed_kmh"], said["vehicle_count"]) == (None, 0)


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("query", ["", "at=noon", "at=2014-08-05T12:00:01Z", f"at={NOON}&kind=x"])
def test_a_moment_has_been_and_is_of_known_kinds(client: FlaskClient, query: str) -> None:
    assert client.get(f"{MOMENT}?{query}").status_code == 400


@pytest.mark.usefixtures("told")
def test_a_moment_may_be_kept_for_a_minute_by_who_asked(client: FlaskClient) -> None:
    answer = client.get(f"{MOMENT}?at={NOON}")
    assert answer.headers["Cache-Control"] == "private, max-age=60"

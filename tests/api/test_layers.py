"""Layers over HTTP: as GeoJSON for everybody, and replaced and removed by an operator."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, select

from citywise.backend.api.city_map import bounds_of
from citywise.backend.kinds import Kinds, installed
from citywise.backend.layers.reading import MOST_FAULTS
from citywise.backend.store.models import OperatorEventRow
from tests.api.town import Town
from tests.layers.files import SCHOOL, collection, feature, polygon


@pytest.fixture
def schools(engine: Engine, town: Town) -> Engine:
    town.road("1")
    with engine.begin() as connection:
        installed.put(connection, SCHOOL)
    return engine


def put(client: FlaskClient, *features: Any) -> Any:
    address = "/api/v1/operator/layers/school?file=s.geojson"
    return client.put(address, data=collection(*features), content_type="application/geo+json")


@pytest.mark.usefixtures("schools")
def test_a_layer_is_put_listed_read_and_removed(client: FlaskClient) -> None:
    (shown,) = client.get("/api/v1/layers").get_json()["layers"]
    assert (shown["name"], shown["label"]["da"], shown["places"]) == ("school", "Skoler", 0)
    told = put(client, feature("a", hours="always"), feature("b"))
    assert (told.status_code, told.get_json()["added"]) == (200, 2)
    (state,) = client.get("/api/v1/operator/layers").get_json()["layers"]
    assert (state["places"], state["origin"], state["error"]) == (2, "s.geojson", None)
    assert "taken without" in state["remarks"][0]
    answer = client.get("/api/v1/layers/school.geojson")
    assert answer.content_type == "application/geo+json"
    first, _second = answer.get_json()["features"]
    assert first["id"] == "school.a"
    assert first["geometry"] == polygon()
    assert first["properties"]["limit"] == 40
    again = client.get(
        "/api/v1/layers/school.geojson", headers={"If-None-Match": answer.headers["ETag"]}
    )
    assert again.status_code == 304
    assert client.delete("/api/v1/operator/layers/school").status_code == 204
    assert client.get("/api/v1/layers/school.geojson").get_json()["features"] == []


@pytest.mark.usefixtures("schools")
def test_a_bad_file_is_refused_with_each_fault_and_the_old_layer_stays(client: FlaskClient) -> None:
    put(client, feature("a"))
    told = put(client, *(feature(n, max_speed=999) for n in range(30)))
    assert told.status_code == 422
    assert len(told.get_json()["errors"]) == MOST_FAULTS
    assert "feature 0 (`0`): properties.max_speed" in told.get_json()["errors"][0]["message"]
    assert len(client.get("/api/v1/layers/school.geojson").get_json()["features"]) == 1


@pytest.mark.usefixtures("schools")
def test_a_layer_may_be_larger_than_other_bodies(client: FlaskClient) -> None:
    many = [feature(n, note="x" * 400) for n in range(2500)]
    assert put(client, *many).get_json()["places"] == 2500


def test_the_list_of_places_and_the_map_are_of_what_sensors_watch(
    client: FlaskClient, schools: Engine
) -> None:
    kinds = Kinds().with_kinds(SCHOOL)
    before = bounds_of(schools, kinds)
    put(client, feature("a", polygon(12, 57)))
    everything = client.get("/api/v1/places").get_json()["features"]
    assert [place["id"] for place in everything] == ["1"]
    schools_ = client.get("/api/v1/places?kind=school").get_json()["features"]
    assert [place["id"] for place in schools_] == ["school.a"]
    assert bounds_of(schools, kinds) == before


@pytest.mark.usefixtures("town")
def test_a_layer_that_there_is_not_is_not_found(client: FlaskClient) -> None:
    assert client.get("/api/v1/layers/school.geojson").status_code == 404
    assert put(client, feature()).status_code == 404
    assert client.delete("/api/v1/operator/layers/school").status_code == 404


def test_an_event_opened_by_hand_at_an_area_is_at_a_point_of_it(
    client: FlaskClient, schools: Engine
) -> None:
    put(client, feature("a"))
    draft = {"type": "TrafficJam", "level": 3, "place_id": "school.a"}
    opened = client.post("/api/v1/operator/events", json=draft)
    assert opened.status_code == 201, opened.get_json()
    with schools.connect() as connection:
        place = connection.scalar(select(OperatorEventRow.place))
    assert place is not None
    assert place["geometry"]["type"] == "Point"

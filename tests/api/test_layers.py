"""Layers over HTTP: as GeoJSON for everybody, and replaced and removed by an operator."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, select

from citywise.backend.api.city_map import bounds_of
from citywise.backend.kinds import Kinds, builtin, installed
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


ZONE = 'place = "zone"\ngeometry = "area"\n'
TRY = "/api/v1/operator/layers/try"


@pytest.mark.usefixtures("schools")
def test_a_layer_is_tried_with_its_kind_before_anything_is_kept(client: FlaskClient) -> None:
    text = collection(feature("a", colour="red"), feature("b")).decode()
    tried = client.post(TRY, json={"file": "Bydele 2.geojson", "content": text}).get_json()
    assert (tried["name"], tried["places"], tried["added"]) == ("bydele_2", 2, 2)
    assert tried["first"][0]["id"] == "bydele_2.a"
    assert "[fields.max_speed]" in tried["toml"]
    assert len(client.get("/api/v1/layers").get_json()["layers"]) == 1
    renamed = tried["toml"] + 'color = "#b5532a"\n'
    again = client.post(TRY, json={"name": "bydele_2", "content": text, "toml": renamed})
    assert client.put("/api/v1/operator/kinds", json={"toml": again.get_json()["toml"]}).json
    address = "/api/v1/operator/layers/bydele_2"
    assert client.put(address, data=text).get_json()["added"] == 2
    known = client.post(TRY, json={"name": "bydele_2", "content": text}).get_json()
    assert (known["toml"], known["added"], known["changed"]) == (None, 0, 0)


@pytest.mark.usefixtures("schools")
@pytest.mark.parametrize(
    ("body", "path", "said"),
    [
        ({}, "content", "choose a file"),
        ({"address": "ftp://x.org/"}, "address", "expected an address with https:// or http://"),
        ({"content": "{"}, "content", "is no JSON"),
        ({"name": "noise_meter", "content": "{}"}, "name", "is no layer"),
        (
            {"name": "school", "content": "{}", "toml": ZONE},
            "toml",
            "expected the name",
        ),
        ({"name": "zone", "content": "{}", "toml": ZONE}, "toml", "`[layer]`"),
        ({"name": "zone", "content": "{}", "toml": "place ="}, "toml", "line 1"),
    ],
)
def test_what_is_wrong_with_a_layer_that_is_tried_stands_at_its_field(
    client: FlaskClient, engine: Engine, body: dict[str, Any], path: str, said: str
) -> None:
    installed.install(engine, builtin())
    (found,) = client.post(TRY, json=body).get_json()["errors"]
    assert (found["path"], said in found["message"]) == (path, True), found


@pytest.mark.usefixtures("schools")
def test_a_layer_whose_kind_was_made_here_changes_between_a_file_and_an_address(
    client: FlaskClient, engine: Engine
) -> None:
    text = collection(feature("a")).decode()
    kind = f'{ZONE}[layer]\naddress = "https://x.org/"\nid = "school_no"\n'
    client.put("/api/v1/operator/kinds", json={"toml": kind})
    tried = client.post(TRY, json={"name": "zone", "content": text}).get_json()
    assert "address" not in tried["toml"]
    assert 'id = "school_no"' in tried["toml"]


@pytest.mark.usefixtures("schools")
def test_a_hidden_layer_is_not_on_maps_and_stays_hidden_when_it_is_replaced(
    client: FlaskClient,
) -> None:
    address = "/api/v1/operator/layers/school"
    assert client.patch(address, json={"shown": False}).get_json()["shown"] is False
    put(client, feature("a"))
    (shown,) = client.get("/api/v1/layers").get_json()["layers"]
    assert (shown["shown"], shown["places"]) == (False, 1)
    assert client.patch(address, json={"shown": True}).get_json()["made"] is True
    assert client.patch(address, json={}).status_code == 422


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

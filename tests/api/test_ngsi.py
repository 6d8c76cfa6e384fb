"""NGSI-LD: entities by id and by query, field by field as the specification has them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.kinds import builtin, installed
from tests.api.town import NOON, Town

BASE = "/ngsi-ld/v1/entities"
NOISE = "urn:ngsi-ld:NoiseObserved:n1"
LD = {"Accept": "application/ld+json"}
CORE = "https://uri.etsi.org/ngsi-ld/v1/ngsi-ld-core-context-v1.8.jsonld"
AT = "[10.2,56.155]"
POINT = {"type": "Point", "coordinates": [10.2, 56.155]}


@pytest.fixture(autouse=True)
def busy(town: Town) -> Town:
    town.running(now=NOON)
    town.road("100", "Viborgvej")
    town.garage("n1", "Torvet")
    town.reading("noise", "n1", NOON, level=64.5)
    town.reading("noise", "n2", NOON, level=40.0)
    town.reading("climate", "n1", NOON, temperature_c=20.5, humidity_pct=None)
    town.event("a", "100", "2014-08-05T06:00:00Z", "2014-08-05T07:00:00Z", level=4)
    town.event("b", "100", "2014-08-05T08:00:00Z")
    return town


def get(client: FlaskClient, query: str, **headers: str) -> Any:
    answer = client.get(f"{BASE}{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.get_json(force=True)


def ids(client: FlaskClient, query: str) -> list[str]:
    return [entity["id"].removeprefix("urn:ngsi-ld:") for entity in get(client, query)]


def test_a_reading_is_an_entity(client: FlaskClient) -> None:
    answer = client.get(f"{BASE}/{NOISE}")
    assert answer.mimetype == "application/json"
    assert answer.headers["Link"] == (
        '<http://localhost/ngsi-ld/context.jsonld>; rel="http://www.w3.org/ns/json-ld#context"; '
        'type="application/ld+json"'
    )
    assert answer.json == {
        "id": NOISE,
        "type": "NoiseObserved",
        "level": {"type": "Property", "value": 64.5, "unitCode": "2N", "observedAt": NOON},
        "dateObserved": {"type": "Property", "value": {"@type": "DateTime", "@value": NOON}},
        "hasFeatureOfInterest": {"type": "Relationship", "object": "urn:ngsi-ld:Garage:n1"},
        "location": {"type": "GeoProperty", "value": POINT},
    }


def test_a_place_and_an_event_are_entities(client: FlaskClient) -> None:
    place = get(client, "/urn:ngsi-ld:Garage:n1")
    assert place["name"] == {"type": "Property", "value": "Torvet"}
    assert place["capacity"] == {"type": "Property", "value": 100}
    event = get(client, "/urn:ngsi-ld:TrafficJam:a?options=keyValues")
    assert event == {
        "id": "urn:ngsi-ld:TrafficJam:a",
        "type": "TrafficJam",
        "name": "Viborgvej",
        "level": 4,
        "isOpen": False,
        "startedAt": "2014-08-05T06:00:00Z",
        "confirmedAt": "2014-08-05T06:00:00Z",
        "endedAt": "2014-08-05T07:00:00Z",
        "hasFeatureOfInterest": "urn:ngsi-ld:Road:100",
        "location": {"type": "LineString", "coordinates": [[10.19, 56.15], [10.21, 56.16]]},
    }


def test_an_entity_is_shown_as_it_is_asked_for(client: FlaskClient) -> None:
    query = f"/{NOISE}?attrs=level,location"
    assert get(client, f"{query}&options=simplified") == {
        "id": NOISE, "type": "NoiseObserved", "level": 64.5, "location": POINT,
    }  # fmt: skip
    concise = get(client, f"{query}&format=concise")
    assert concise["level"] == {"value": 64.5, "unitCode": "2N", "observedAt": NOON}
    assert concise["location"] == POINT
    linked = get(client, query, **LD)
    assert linked["@context"] == ["http://localhost/ngsi-ld/context.jsonld", CORE]
    feature = get(client, f"{query}&options=keyValues", Accept="application/geo+json")
    assert feature == {
        "id": NOISE,
        "type": "Feature",
        "geometry": POINT,
        "properties": {"type": "NoiseObserved", "level": 64.5, "location": POINT},
        "@context": ["http://localhost/ngsi-ld/context.jsonld", CORE],
    }
    collection = get(client, "?type=NoiseObserved", Accept="application/geo+json")
    assert collection["type"] == "FeatureCollection"
    assert [f["geometry"] for f in collection["features"]] == [POINT, None]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?type=NoiseObserved", ["NoiseObserved:n1", "NoiseObserved:n2"]),
        ("?type=NoiseObserved,Garage", ["Garage:n1", "NoiseObserved:n1", "NoiseObserved:n2"]),
        ("?type=https://w3id.org/citywise/ngsi%23Garage", ["Garage:n1"]),
        ("?type=Nothing", []),
        ("?type=NoiseObserved&q=level>50", ["NoiseObserved:n1"]),
        ("?q=isOpen==true", ["TrafficJam:b"]),
        ("?attrs=temperature_c", ["ClimateObserved:n1"]),
        ("?attrs=humidity_pct", []),
        ("?id=urn:ngsi-ld:Garage:n1,urn:ngsi-ld:Road:100", ["Garage:n1", "Road:100"]),
        ("?id=urn:ngsi-ld:Garage:n1&type=Road", []),
        ("?idPattern=:n1$&type=*", ["ClimateObserved:n1", "Garage:n1", "NoiseObserved:n1"]),
        ("?type=TrafficJam&q=startedAt>2014-08-05T07:00:00Z", ["TrafficJam:b"]),
        ("?type=NoiseObserved&georel=near;maxDistance==100&geometry=Point&coordinates=[10.2,56.155]",
         ["NoiseObserved:n1"]),
        ("?local=true&q=level>=64", ["NoiseObserved:n1"]),
    ],
)  # fmt: skip
def test_a_query_finds_entities_by_id(client: FlaskClient, query: str, found: list[str]) -> None:
    assert ids(client, query) == found


@pytest.mark.parametrize(
    "query",
    [
        "q=level>10", "q=level>10&type=NoiseObserved", "idPattern=Observed",
        "q=location", "q=hasFeatureOfInterest", 'type=NoiseLevelObserved&q=name=="Torvet"',
        "type=NoiseLevelObserved&q=LAeq>10", "type=NoiseObserved,NoiseLevelObserved&q=dateObserved",
        "q=level>10&attrs=location", "q=level>10&omit=level", "q=level>10&offset=1&limit=1",
        "q=level>10&options=sysAttrs",
        f"type=NoiseObserved&georel=near;maxDistance==10&geometry=Point&coordinates={AT}",
    ],
)  # fmt: skip
def test_what_a_query_finds_is_whole_whether_or_not_it_looks_at_places(
    client: FlaskClient, query: str
) -> None:
    """Readings are tested without their places where the query does not look at them."""
    found = get(client, f"?{query}")
    assert found
    shown = "&".join(p for p in query.split("&") if p.startswith(("attrs", "omit", "options")))
    assert found == [get(client, f"/{entity['id']}?{shown}") for entity in found]


def test_pages_are_linked_and_counted(client: FlaskClient) -> None:
    answer = client.get(f"{BASE}?type=NoiseObserved,TrafficJam&limit=2&offset=1&count=true")
    assert answer.headers["NGSILD-Results-Count"] == "4"
    assert len(answer.get_json()) == 2
    links = " ".join(answer.headers.getlist("Link"))
    found = dict(re.findall(r'<(\S+)>; rel="(prev|next)"', links))
    relations = {relation: address for address, relation in found.items()}
    assert "limit=2&offset=0" in relations["prev"]
    (last,) = client.get(relations["next"]).get_json()
    assert last["id"] == "urn:ngsi-ld:TrafficJam:b"
    counted = client.get(f"{BASE}?type=NoiseObserved&limit=0&count=true")
    assert (counted.json, counted.headers["NGSILD-Results-Count"]) == ([], "2")


@pytest.mark.parametrize(
    ("query", "status", "error"),
    [
        ("/urn:ngsi-ld:NoiseObserved:none", 404, "ResourceNotFound"),
        ("/urn:ngsi-ld:Road:n1", 404, "ResourceNotFound"),
        ("/n1", 400, "BadRequestData"),
        ("/urn:ngsi-ld:Road:n 1", 400, "BadRequestData"),
        (f"/{NOISE}?attrs=nothing", 404, "ResourceNotFound"),
        ("", 400, "BadRequestData"),
        ("?type=A;B", 400, "BadRequestData"),
        ("?type=A&q=level>", 400, "BadRequestData"),
        ("?type=A&georel=near", 400, "BadRequestData"),
        ("?type=A&limit=1001", 400, "BadRequestData"),
        ("?type=A&limit=0", 400, "BadRequestData"),
        ("?type=A&options=xml", 400, "BadRequestData"),
        ("?type=A&colour=red", 400, "InvalidRequest"),
        ("?type=A&idPattern=(", 400, "BadRequestData"),
    ],
)
def test_errors_are_those_of_the_specification(
    client: FlaskClient, query: str, status: int, error: str
) -> None:
    answer = client.get(f"{BASE}{query}")
    assert (answer.status_code, answer.mimetype) == (status, "application/problem+json")
    assert answer.get_json()["type"] == f"https://uri.etsi.org/ngsi-ld/errors/{error}"
    assert answer.get_json()["title"]
    assert answer.get_json()["detail"]


def test_other_formats_and_methods_are_refused(client: FlaskClient) -> None:
    assert client.get(f"{BASE}/{NOISE}", headers={"Accept": "text/csv"}).status_code == 406
    assert client.post(BASE, json={}).status_code == 405


def test_types_and_the_context_are_told(client: FlaskClient) -> None:
    types = client.get("/ngsi-ld/v1/types").get_json()["typeList"]
    assert {"Garage", "Road", "TrafficJam", "NoiseObserved"} <= set(types)
    terms = client.get("/ngsi-ld/context.jsonld").get_json(force=True)["@context"]
    assert terms["level"] == "https://w3id.org/citywise/city#noise_level"


def test_a_kind_that_is_not_public_is_no_entity_for_others(
    client: FlaskClient, engine: Engine, outsider: FlaskClient
) -> None:
    secret = builtin()["noise"].model_copy(update={"public": False})
    installed.install(engine, builtin().with_kinds(secret))
    assert outsider.get(f"{BASE}/{NOISE}").status_code == 404
    assert outsider.get(f"{BASE}?type=NoiseObserved").get_json() == []
    assert client.get(f"{BASE}/{NOISE}").status_code == 200


@pytest.fixture
def outsider(settings: Any, engine: Engine) -> FlaskClient:
    from citywise.backend.api.app import create_app
    from citywise.backend.settings import People

    return create_app(settings.model_copy(update={"people": People()}), engine).test_client()

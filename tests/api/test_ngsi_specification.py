"""NGSI-LD answers beside those that ETSI GS CIM 009 V1.8.1 gives as examples, field by field.

The city is that of the specification's annex C: the car park *Downtown One* with 121 of 200 places
free at 12:05:02 on 29 July 2017. What stands here was written by hand after the specification.
"""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from citywise.backend.connectors import Desk, Message, Reading, connector
from citywise.backend.kinds import builtin
from citywise.backend.times import iso
from tests.api.town import Town

BASE = "/ngsi-ld/v1/entities"
AT = "2017-07-29T12:05:02Z"
PARKING = "urn:ngsi-ld:OffStreetParking:parking:Downtown1"
POINT = {"type": "Point", "coordinates": [-8.5, 41.2]}
CONTEXT = [
    "http://localhost/ngsi-ld/context.jsonld",
    "https://uri.etsi.org/ngsi-ld/v1/ngsi-ld-core-context-v1.8.jsonld",
]
LINK = (
    '<http://localhost/ngsi-ld/context.jsonld>; rel="http://www.w3.org/ns/json-ld#context"; '
    'type="application/ld+json"'
)
NORMALIZED = {
    "id": PARKING,
    "type": "OffStreetParking",
    "name": {"type": "Property", "value": "Downtown One"},
    "totalSpotNumber": {"type": "Property", "value": 200, "observedAt": AT},
    "occupiedSpotNumber": {"type": "Property", "value": 79, "observedAt": AT},
    "availableSpotNumber": {"type": "Property", "value": 121, "observedAt": AT},
    "observationDateTime": {"type": "Property", "value": {"@type": "DateTime", "@value": AT}},
    "location": {"type": "GeoProperty", "value": POINT},
}
SIMPLIFIED = {
    "id": PARKING,
    "type": "OffStreetParking",
    "name": "Downtown One",
    "totalSpotNumber": 200,
    "occupiedSpotNumber": 79,
    "availableSpotNumber": 121,
    "observationDateTime": AT,
    "location": POINT,
}
CONCISE = {
    "id": PARKING,
    "type": "OffStreetParking",
    "name": "Downtown One",
    "totalSpotNumber": {"value": 200, "observedAt": AT},
    "occupiedSpotNumber": {"value": 79, "observedAt": AT},
    "availableSpotNumber": {"value": 121, "observedAt": AT},
    "observationDateTime": {"@type": "DateTime", "@value": AT},
    "location": POINT,
}


def feature(form: dict[str, Any], geometry: Any = POINT) -> dict[str, Any]:
    """Clause 4.5.16: the id beside `Feature`, all else among the properties."""
    inner = {name: value for name, value in form.items() if name != "id"}
    return {"id": PARKING, "type": "Feature", "geometry": geometry, "properties": inner}


@pytest.fixture(autouse=True)
def downtown(town: Town) -> Town:
    town.running(now=AT)
    town.garage("Downtown1", "Downtown One", lon=-8.5, lat=41.2)
    town.reading("parking", "Downtown1", AT, capacity=200, occupied=79)
    return town


def ask(client: FlaskClient, query: str, **headers: str) -> Any:
    return client.get(f"{BASE}{query}", headers=headers)


@pytest.mark.parametrize(
    ("query", "accept", "body"),
    [
        ("", None, NORMALIZED),
        ("?options=normalized", "application/json", NORMALIZED),
        ("?options=keyValues", "application/json", SIMPLIFIED),
        ("?format=simplified", "application/json", SIMPLIFIED),
        ("?format=concise", "application/json", CONCISE),
        ("?format=keyValues&options=normalized", "application/json", SIMPLIFIED),
        ("", "application/ld+json", {**NORMALIZED, "@context": CONTEXT}),
        ("?options=keyValues", "application/ld+json", {**SIMPLIFIED, "@context": CONTEXT}),
        ("", "application/geo+json", {**feature(NORMALIZED), "@context": CONTEXT}),
        (
            "?options=keyValues",
            "application/geo+json",
            {**feature(SIMPLIFIED), "@context": CONTEXT},
        ),
        (
            "?geometryProperty=operationSpace",
            "application/geo+json",
            {**feature(NORMALIZED, None), "@context": CONTEXT},
        ),
        ("?pick=name", None, {"name": NORMALIZED["name"]}),
        ("?pick=id,name", None, {"id": PARKING, "name": NORMALIZED["name"]}),
        ("?pick=id", None, {"id": PARKING}),
        ("?attrs=name", None, {"id": PARKING, "type": "OffStreetParking",
                               "name": NORMALIZED["name"]}),
        ("?omit=id,type,name,location,observationDateTime,occupiedSpotNumber,totalSpotNumber",
         None, {"availableSpotNumber": NORMALIZED["availableSpotNumber"]}),
    ],
)  # fmt: skip
def test_an_entity_is_represented_as_the_specification_has_it(
    client: FlaskClient, query: str, accept: str | None, body: Any
) -> None:
    answer = ask(client, f"/{PARKING}{query}", **({"Accept": accept} if accept else {}))
    assert answer.status_code == 200, answer.text
    assert answer.get_json(force=True) == body
    assert answer.mimetype == (accept or "application/json")
    assert answer.headers.get("Link") == (None if "@context" in body else LINK)


def test_the_context_of_geojson_stands_in_the_header_where_that_is_preferred(
    client: FlaskClient,
) -> None:
    """Clause 6.3.6."""
    wanted = {"Accept": "application/geo+json", "Prefer": "body=json"}
    one = ask(client, f"/{PARKING}", **wanted)
    assert (one.get_json(force=True), one.headers["Link"]) == (feature(NORMALIZED), LINK)
    assert {"Accept", "Prefer"} <= set(one.vary)
    several = ask(client, "?type=OffStreetParking", **wanted)
    assert several.get_json(force=True) == {
        "type": "FeatureCollection",
        "features": [feature(NORMALIZED)],
    }
    usual = ask(client, "?type=OffStreetParking", Accept="application/geo+json")
    assert usual.get_json(force=True) == {
        "type": "FeatureCollection",
        "features": [feature(NORMALIZED)],
        "@context": CONTEXT,
    }


def test_a_list_has_the_context_in_each_entity_or_in_the_header(client: FlaskClient) -> None:
    linked = ask(client, "?type=OffStreetParking", Accept="application/ld+json")
    assert linked.get_json(force=True) == [{**NORMALIZED, "@context": CONTEXT}]
    assert "Link" not in linked.headers
    plain = ask(client, "?type=OffStreetParking")
    assert (plain.get_json(), plain.headers["Link"]) == ([NORMALIZED], LINK)


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/ld+json, application/json", "application/json"),
        ("application/geo+json, application/json", "application/json"),
        ("application/geo+json, application/ld+json", "application/ld+json"),
        ("application/json;q=0.1, application/ld+json;q=0.9", "application/ld+json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("text/html, application/geo+json;q=0.5", "application/geo+json"),
    ],
)
def test_of_formats_liked_alike_the_first_of_the_specification_is_sent(
    client: FlaskClient, accept: str, media: str
) -> None:
    """Clause 6.3.4."""
    assert ask(client, f"/{PARKING}", Accept=accept).mimetype == media


def test_times_of_the_system_are_shown_to_who_asks(client: FlaskClient, town: Town) -> None:
    """Clause 4.8; a reading changed when it was measured, an event began and was confirmed."""
    town.event("a", "Downtown1", "2017-07-29T11:00:00Z")
    one = ask(client, f"/{PARKING}?options=sysAttrs").get_json()
    assert one["modifiedAt"] == AT
    assert one["name"] == {"type": "Property", "value": "Downtown One", "modifiedAt": AT}
    simple = ask(client, f"/{PARKING}?options=keyValues,sysAttrs").get_json()
    assert simple == {**SIMPLIFIED, "modifiedAt": AT}
    (event,) = ask(client, "?type=TrafficJam&options=sysAttrs").get_json()
    assert (event["createdAt"], event["modifiedAt"]) == ("2017-07-29T11:00:00Z",) * 2
    garage = ask(client, "/urn:ngsi-ld:Garage:Downtown1?options=sysAttrs").get_json()
    assert garage["modifiedAt"].endswith("Z")
    assert ask(client, f"?type=OffStreetParking&q=modifiedAt=={AT}").get_json() == [NORMALIZED]


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("q=availableSpotNumber>100", True),
        ("q=availableSpotNumber>121", False),
        ("q=availableSpotNumber==100..121", True),
        ("q=availableSpotNumber==1,121", True),
        ("q=availableSpotNumber!=1..99", True),
        ('q=name=="Downtown One"', True),
        ('q=name=="Downtown Two","Downtown One"', True),
        ('q=name!="Downtown One"', False),
        ("q=name~=^Down", True),
        ("q=name!~=^Up", True),
        ("q=availableSpotNumber.observedAt>=2017-07-29T12:00:00Z", True),
        ("q=observationDateTime<2017-07-29T12:05:02Z", False),
        ("q=reliability", False),
        ("q=name", True),
        ('q=(name=="x"|availableSpotNumber>100);totalSpotNumber<=200', True),
        ('q=name=="x"|availableSpotNumber>100;totalSpotNumber<200', False),
        ("georel=near;maxDistance==360&geometry=Point&coordinates=[-8.503,41.202]", True),
        ("georel=near;maxDistance==200&geometry=Point&coordinates=[-8.503,41.202]", False),
        ("georel=near;minDistance==200&geometry=Point&coordinates=[-8.503,41.202]", True),
        ("georel=within&geometry=Polygon&coordinates=[[[-9,41],[-8,41],[-8,42],[-9,42],[-9,41]]]",
         True),
        ("georel=disjoint&geometry=Polygon&coordinates=[[[-9,41],[-8,41],[-8,42],[-9,42],[-9,41]]]",
         False),
        ("georel=equals&geometry=Point&coordinates=[-8.5,41.2]", True),
        ("geoproperty=operationSpace&georel=equals&geometry=Point&coordinates=[-8.5,41.2]", False),
        (f"id={PARKING}", True),
        ("idPattern=^urn:ngsi-ld:OffStreetParking:.*1$", True),
        ("attrs=availableSpotNumber,nothing", True),
        ("attrs=nothing", False),
    ],
)  # fmt: skip
def test_queries_find_what_the_specification_says(
    client: FlaskClient, query: str, is_found: bool
) -> None:
    answer = client.get(f"{BASE}?type=OffStreetParking&{query.replace('#', '%23')}&count=true")
    assert answer.status_code == 200, answer.text
    assert answer.headers["NGSILD-Results-Count"] == str(int(is_found))


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (f"/{PARKING}?pick=name&omit=name", "BadRequestData"),
        (f"/{PARKING}?pick=name&attrs=category", "BadRequestData"),
        (f"/{PARKING}?omit=name&attrs=category", "BadRequestData"),
        (f"/{PARKING}?pick=id;name", "BadRequestData"),
        (f"/{PARKING}?pick=id,,name", "BadRequestData"),
        (f"/{PARKING}?pick=id,locatedAt{{name", "BadRequestData"),
        (f"/{PARKING}?additionalParam=x", "InvalidRequest"),
        ("?type=Garage&additionalParam=x", "InvalidRequest"),
        ("?type=Garage&georel=near&geometry=Point&coordinates=[1,2]", "BadRequestData"),
        ("?type=Garage&georel=within&geometry=Point&coordinates=[1", "BadRequestData"),
        ("?type=Garage&q=(a", "BadRequestData"),
    ],
)
def test_problems_have_the_types_of_the_specification(
    client: FlaskClient, query: str, error: str
) -> None:
    answer = ask(client, query)
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
    problem = answer.get_json(force=True)
    assert problem["type"] == f"https://uri.etsi.org/ngsi-ld/errors/{error}"
    assert problem["title"]
    assert problem["detail"]
    assert problem["status"] == 400


MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "traffic": (
        "TrafficFlowObserved",
        {"speed_kmh": 52.6, "vehicle_count": 197},
        {"averageVehicleSpeed": 52.6, "intensity": 197, "dateObserved": AT},
    ),
    "air_quality": (
        "AirQualityObserved",
        {"pm25": 12.5, "no2": 69.0, "co": 500.0},
        {"pm25": 12.5, "no2": 69.0, "co": 500.0, "dateObserved": AT},
    ),
    "noise": (
        "NoiseLevelObserved",
        {"level": 67.8},
        {"LAeq": 67.8, "dateObservedFrom": "2017-07-29T12:04:02Z", "dateObservedTo": AT},
    ),
    "climate": (
        "WeatherObserved",
        {"temperature_c": 3.3, "humidity_pct": 54.3, "pressure_hpa": 938.9, "rain_mm": 0.0,
         "wind_kmh": 7.2},
        {"temperature": 3.3, "relativeHumidity": 0.543, "atmosphericPressure": 938.9,
         "precipitation": 0.0, "windSpeed": 2, "dateObserved": AT},
    ),
    "bikes": (
        "BikeHireDockingStation",
        {"available": 3, "docks": 12},
        {"availableBikeNumber": 3, "freeSlotNumber": 12, "dateModified": AT},
    ),
    "parking": (
        "OffStreetParking",
        {"capacity": 200, "occupied": 230},
        {"totalSpotNumber": 200, "occupiedSpotNumber": 230, "availableSpotNumber": 0,
         "observationDateTime": AT},
    ),
}  # fmt: skip
"""By kind: the type of the Smart Data Models, a reading, and the attributes of that type."""


@pytest.mark.parametrize("kind", MODELS)
def test_a_reading_is_offered_as_the_type_that_people_use(
    client: FlaskClient, town: Town, kind: str
) -> None:
    name, values, expected = MODELS[kind]
    town.reading(kind, "Downtown1", AT, **values)
    (found,) = ask(client, f"?type={name}&format=keyValues").get_json()
    own = {"hasFeatureOfInterest": "urn:ngsi-ld:Garage:Downtown1"}
    is_own = found["id"] == f"urn:ngsi-ld:{name}:Downtown1"
    shown = {"location": POINT, **expected, **(own if is_own else {"name": "Downtown One"})}
    assert {n: v for n, v in found.items() if n not in ("id", "type")} == shown
    assert found["type"] == name
    assert ask(client, f"/{found['id']}?format=keyValues").get_json() == found
    assert name in client.get("/ngsi-ld/v1/types").get_json()["typeList"]
    terms = client.get("/ngsi-ld/context.jsonld").get_json(force=True)["@context"]
    assert {name, *expected} - set(terms) <= {"dateObserved", "observationDateTime"} | {
        "dateModified", "dateObservedFrom", "dateObservedTo",
    }  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_our_own_connector_reads_of_it_what_was_measured(
    client: FlaskClient, town: Town, kind: str
) -> None:
    """Whatever leaves as a data model comes in again as the same reading."""
    name, values, _expected = MODELS[kind]
    values = {**values, **({"occupied": 79} if kind == "parking" else {})}
    town.reading(kind, "Downtown1", AT, **values)
    told = ask(client, f"?type={name}", Accept="application/ld+json").data
    reader = connector("ngsi-ld", Desk(builtin(), source="other"))
    found = [one for one in reader.read(Message(told, None, None)) if isinstance(one, Reading)]
    assert [(r.kind, iso(r.observed_ms), dict(r.values)) for r in found] == [(kind, AT, values)]


def test_a_kind_whose_own_type_is_that_of_a_model_is_one_entity(
    client: FlaskClient, town: Town
) -> None:
    """`weather` is `WeatherObserved` by its name already, and has the attributes of both."""
    town.reading("weather", "Downtown1", AT, temperature_c=3, humidity_pct=50, wind_kmh=36)
    (found,) = ask(client, "?type=WeatherObserved&format=keyValues").get_json()
    assert found["id"] == "urn:ngsi-ld:WeatherObserved:Downtown1"
    assert (found["humidity_pct"], found["relativeHumidity"], found["windSpeed"]) == (50, 0.5, 10)


def test_what_is_told_twice_is_found_once_where_no_type_is_named(client: FlaskClient) -> None:
    names = [one["type"] for one in ask(client, "?local=true").get_json()]
    assert names == ["Garage", "ParkingObserved"]


def test_a_reading_without_any_attribute_of_its_model_is_none_of_it(
    client: FlaskClient, town: Town
) -> None:
    town.reading("bikes", "Downtown1", AT, available=None, docks=None)
    assert ask(client, "?type=BikeHireDockingStation").get_json() == []

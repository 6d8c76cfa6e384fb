"""SensorThings 1.1: entities, links and options, as the specification has them."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.connectors import Desk, Message, Reading, connector
from citywise.backend.kinds import builtin, installed
from citywise.backend.settings import Settings
from citywise.backend.times import iso, parse_ms
from tests.api.town import NOON, Town
from tests.history.recorded import Told, append, write

BASE = "/sensorthings/v1.1"
AT = parse_ms(NOON)
EAST = "geography'POLYGON((10.25 56,11 56,11 57,10.25 57,10.25 56))'"


@pytest.fixture(autouse=True)
def told(town: Town, settings: Settings) -> Town:
    """Two meters with twelve values each, one of the climate, a road without any."""
    town.running(now=NOON)
    town.garage("n1", "Torvet", lon=10.20, lat=56.15)
    town.garage("n2", "Hav'nen", lon=10.30, lat=56.15)
    town.road("100", "Viborgvej")
    noise: list[Told] = [
        ("noise", place, AT - n * 600_000, {"level": 40.0 + n})
        for n in range(12)
        for place in ("n1", "n2")
    ]
    append(settings.log_dir, noise)
    write(town.engine, settings.log_dir)  # Datastreams 1 and 2
    append(settings.log_dir, [("climate", "n1", AT, {"temperature_c": 20.5})])
    write(town.engine, settings.log_dir)
    return town


def get(client: FlaskClient, address: str) -> Any:
    answer = client.get(f"{BASE}/{address}")
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def ids(client: FlaskClient, address: str) -> list[Any]:
    return [entity["@iot.id"] for entity in get(client, address)["value"]]


def test_the_service_names_its_collections(client: FlaskClient) -> None:
    body = client.get(BASE).get_json()
    assert {one["name"] for one in body["value"]} == {
        "Things", "Locations", "HistoricalLocations", "Datastreams", "Sensors",
        "ObservedProperties", "Observations", "FeaturesOfInterest",
    }  # fmt: skip
    for one in body["value"]:
        name = one["url"].rpartition("/")[2]
        assert get(client, name)["value"], name


def test_a_datastream_has_what_the_specification_says(client: FlaskClient) -> None:
    (number,) = ids(client, "Datastreams?$filter=Thing/id eq 'n1' and properties/kind eq 'noise'")
    own = f"http://localhost{BASE}/Datastreams({number})"
    assert get(client, f"Datastreams({number})") == {
        "@iot.id": number,
        "@iot.selfLink": own,
        "name": "Torvet: Sound level",
        "description": "Noise: Sound level at Torvet",
        "observationType": "http://www.opengis.net/def/observationType/OGC-OM/2.0/OM_Measurement",
        "unitOfMeasurement": {"name": "dB", "symbol": "dB", "definition": "https://ucum.org/#dB"},
        "properties": {"kind": "noise", "field": "level"},
        "phenomenonTime": f"{iso(AT - 11 * 600_000)}/{NOON}",
        "resultTime": f"{iso(AT - 11 * 600_000)}/{NOON}",
        "Thing@iot.navigationLink": f"{own}/Thing",
        "Sensor@iot.navigationLink": f"{own}/Sensor",
        "ObservedProperty@iot.navigationLink": f"{own}/ObservedProperty",
        "Observations@iot.navigationLink": f"{own}/Observations",
    }
    for link in ("Thing", "Sensor", "ObservedProperty"):
        assert get(client, f"Datastreams({number})/{link}")["@iot.id"]
    (first, *_) = get(client, f"Datastreams({number})/Observations")["value"]
    assert first["Datastream@iot.navigationLink"].endswith(f"({first['@iot.id']!r})/Datastream")
    assert get(client, f"Observations({first['@iot.id']!r})/FeatureOfInterest")["@iot.id"] == "n1"


def test_values_come_in_pages_with_a_link_to_the_next(client: FlaskClient) -> None:
    query = (
        "Things('n1')/Datastreams(1)/Observations?$top=5&$count=true&$orderby=phenomenonTime desc"
    )
    page, found = get(client, query), []
    assert page["@iot.count"] == 12
    while True:
        found += [one["result"] for one in page["value"]]
        if "@iot.nextLink" not in page:
            break
        page = get(client, page["@iot.nextLink"].partition(f"{BASE}/")[2])
    assert found == [40.0 + n for n in range(12)]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("result gt 49", [50.0, 51.0]),
        ("result ge 50 and result lt 51", [50.0]),
        (f"phenomenonTime gt {iso(AT - 1_200_000)}", [40.0, 41.0]),
        (f"phenomenonTime ge {iso(AT - 1_200_000)} and result ne 41", [40.0, 42.0]),
        (f"{iso(AT)} eq phenomenonTime", [40.0]),
        ("result mod 10 eq 0", [40.0, 50.0]),
        ("not (result lt 51)", [51.0]),
        ("result lt 41 or result gt 50", [40.0, 51.0]),
        ("hour(phenomenonTime) eq 12", [40.0]),
        ("round(result div 10) eq 5 and result lt 46", [45.0]),
        ("Datastream/Thing/name eq 'Torvet' and result eq 44", [44.0]),
        ("result eq 'x'", []),
        ("nothing gt 5", []),
        ("phenomenonTime lt now() and phenomenonTime gt mindatetime() and result gt 50", [51.0]),
        ("phenomenonTime gt now()", []),
        ("fractionalseconds(phenomenonTime) eq 0 and result eq 42", [42.0]),
        ("totaloffsetminutes(phenomenonTime) eq 0 and result eq 42", [42.0]),
        ("date(phenomenonTime) eq date(resultTime) and result eq 42", [42.0]),
        ("time(phenomenonTime) ne time(resultTime)", []),
    ],
)
def test_a_filter_finds_observations(
    client: FlaskClient, condition: str, found: list[float]
) -> None:
    body = get(client, f"Datastreams(1)/Observations?$filter={condition}&$count=true")
    assert sorted(one["result"] for one in body["value"]) == found
    assert body["@iot.count"] == len(found)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("Things", ["100", "n1", "n2"]),
        ("Things?$orderby=name", ["n2", "n1", "100"]),
        ("Things?$orderby=name desc&$top=1", ["100"]),
        ("Things?$skip=1&$top=1", ["n1"]),
        ("Things?$filter=startswith(name,'T')", ["n1"]),
        ("Things?$filter=name eq 'Hav''nen'", ["n2"]),
        ("Things?$filter=properties/kind eq 'road'", ["100"]),
        ("Things?$filter=Datastreams/properties/kind eq 'climate'", ["n1"]),
        ("Things?$filter=substringof('nen',tolower(name))", ["n2"]),
        ("Things?$filter=substring(name,1,3) eq 'orv'", ["n1"]),
        ("Things?$filter=substring(name,3) eq 'vet'", ["n1"]),
        (f"Locations?$filter=st_relate(location,{EAST},'T*F**F***')", ["n2"]),
        (f"Datastreams?$filter=phenomenonTime ge {NOON}", [3]),
        ("Things('n1')/HistoricalLocations", ["n1"]),
        ("Locations('n2')/HistoricalLocations", ["n2"]),
        ("HistoricalLocations('n2')/Locations", ["n2"]),
        ("Locations?$filter=geo.distance(location,geography'POINT(10.2 56.15)') lt 100", ["n1"]),
        (f"Locations?$filter=st_within(location,{EAST})", ["n2"]),
        ("ObservedProperties?$filter=id eq 'noise.level'", ["noise.level"]),
        ("ObservedProperties('noise.level')/Datastreams", [1, 2]),
        ("Sensors('climate.n1')/Datastreams", [3]),
        ("Things('n1')/Locations", ["n1"]),
        ("FeaturesOfInterest('100')/Observations", []),
    ],
)  # fmt: skip
def test_collections_are_filtered_ordered_and_followed(
    client: FlaskClient, address: str, found: list[Any]
) -> None:
    assert ids(client, address) == found


def test_what_is_expanded_stands_within_with_options_of_its_own(client: FlaskClient) -> None:
    """The shape of the example of FROST's documentation."""
    inner = "$select=result,phenomenonTime;$orderby=phenomenonTime desc;$top=1;$count=true"
    inner = f"Observations({inner})"
    address = (
        f"Things('n1')?$select=name,@iot.id&$expand=Datastreams($select=id,name;$expand={inner})"
    )
    body = get(client, address)
    assert set(body) == {"@iot.id", "name", "Datastreams"}
    stream = body["Datastreams"][0]
    next_link = stream.pop("Observations@iot.nextLink")
    assert stream == {
        "@iot.id": 1,
        "name": "Torvet: Sound level",
        "Observations": [{"phenomenonTime": NOON, "result": 40.0}],
        "Observations@iot.count": 12,
    }
    following = get(client, next_link.partition(f"{BASE}/")[2])
    assert [one["result"] for one in following["value"]] == [41.0]
    both = get(client, "Things('n1')?$expand=Datastreams/Sensor,Datastreams/ObservedProperty")
    assert both["Datastreams"][0]["Sensor"]["@iot.id"] == "noise.n1"
    assert both["Datastreams"][0]["ObservedProperty"]["@iot.id"] == "noise.level"


PROPERTIES = {
    "Things": "name description properties",
    "Locations": "name description encodingType location",
    "HistoricalLocations": "time",
    "Datastreams": "name description unitOfMeasurement observationType phenomenonTime resultTime "
    "properties",
    "Sensors": "name description encodingType metadata",
    "ObservedProperties": "name description definition",
    "Observations": "phenomenonTime resultTime result",
    "FeaturesOfInterest": "name description encodingType feature",
}
"""Of tables 2 to 18 of OGC 18-088: what each entity has to have, and what else we know."""
RELATIONS = {
    "Things": "Locations HistoricalLocations Datastreams",
    "Locations": "Things HistoricalLocations",
    "HistoricalLocations": "Thing Locations",
    "Datastreams": "Thing Sensor ObservedProperty Observations",
    "Sensors": "Datastreams",
    "ObservedProperties": "Datastreams",
    "Observations": "Datastream FeatureOfInterest",
    "FeaturesOfInterest": "Observations",
}


@pytest.mark.parametrize("collection", PROPERTIES)
def test_an_entity_has_the_fields_of_the_specification_and_no_other(
    client: FlaskClient, collection: str
) -> None:
    for entity in get(client, collection)["value"]:
        links = {f"{name}@iot.navigationLink" for name in RELATIONS[collection].split()}
        names = {"@iot.id", "@iot.selfLink", *links, *PROPERTIES[collection].split()}
        assert set(entity) == names
        own = entity["@iot.selfLink"]
        for name in RELATIONS[collection].split():
            assert entity[f"{name}@iot.navigationLink"] == f"{own}/{name}"
        assert get(client, own.partition(f"{BASE}/")[2]) == entity


def test_the_service_says_what_it_conforms_to(client: FlaskClient) -> None:
    """Clause 9.2.1: `serverSettings` beside the collections."""
    body = client.get(f"{BASE}/").get_json()
    assert set(body) == {"value", "serverSettings"}
    every = "http://www.opengis.net/spec/iot_sensing/1.1/req"
    assert body["serverSettings"]["conformance"] == [
        f"{every}/datamodel",
        f"{every}/resource-path/resource-path-to-entities",
        f"{every}/request-data",
    ]


def test_a_link_can_be_asked_for_as_addresses_alone(client: FlaskClient) -> None:
    """Clause 9.2.7: `$ref`."""
    root = f"http://localhost{BASE}"
    assert get(client, "Things('n1')/Datastreams/$ref?$count=true") == {
        "@iot.count": 2,
        "value": [{"@iot.selfLink": f"{root}/Datastreams({n})"} for n in (1, 3)],
    }
    assert get(client, "Datastreams(1)/Thing/$ref") == {"@iot.selfLink": f"{root}/Things('n1')"}
    assert len(get(client, "Things('n1')/Datastreams/$ref?$top=1")["value"]) == 1


def test_a_place_is_where_it_is_since_a_time(client: FlaskClient) -> None:
    found = get(client, "Things('n1')?$expand=HistoricalLocations($expand=Locations)")
    (since,) = found["HistoricalLocations"]
    assert since["time"].endswith("Z")
    assert [one["@iot.id"] for one in since["Locations"]] == ["n1"]


def test_a_property_can_be_asked_for_alone(client: FlaskClient) -> None:
    assert get(client, "Things('n1')/name") == {"name": "Torvet"}
    assert client.get(f"{BASE}/Things('n1')/name/$value").text == "Torvet"


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("Nothing", 404),
        ("Things('none')", 404),
        ("Things('n1')/nothing", 404),
        ("Things('n2')/Datastreams(1)", 404),
        ("Observations('1.5')", 404),
        ("Observations('x')", 404),
        ("Things(", 404),
        ("Things/Datastreams", 404),
        ("Things?$filter=name eq", 400),
        ("Things?$filter=name ~ 'x'", 400),
        ("Things?$filter=nothing(name) eq 1", 400),
        ("Things?$filter=" + "(" * 2000, 400),
        ("Things?$top=-1", 400),
        ("Things?$top=x", 400),
        ("Things?$count=maybe", 400),
        ("Things?$select=colour", 400),
        ("Things?$expand=Sensors", 400),
        ("Things?$expand=Datastreams($top=1", 400),
        ("Things?$orderby=name up", 400),
        ("Things?format=xml", 400),
        ("Things?$format=xml", 501),
        ("Things('n1')/name/$ref", 404),
        ("$ref", 404),
        ("Observations?$orderby=colour", 400),
        ("Locations?$filter=geo.distance(location,geography'CIRCLE(1)') lt 1", 400),
    ],
)
def test_what_cannot_be_answered_is_said(client: FlaskClient, address: str, status: int) -> None:
    answer = client.get(f"{BASE}/{address}")
    assert answer.status_code == status, answer.text
    assert answer.get_json()["detail"]


def test_too_long_a_search_is_refused(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citywise.backend.sensorthings.observations.MOST_LOOKED_AT", 5)
    answer = client.get(f"{BASE}/Observations?$filter=result gt 1000")
    assert answer.status_code == 400
    assert "more than 5 Observations" in answer.get_json()["detail"]


def test_another_city_reads_of_us_what_we_measured(client: FlaskClient) -> None:
    """Our own connector takes our Datastreams with their last Observation."""
    options = "Observations($orderby=phenomenonTime desc;$top=1),ObservedProperty"
    told = client.get(f"{BASE}/Things('n1')?$expand=Locations,Datastreams($expand={options})").data
    reader = connector("sensorthings", Desk(builtin(), source="other"))
    found = [one for one in reader.read(Message(told, None, None)) if isinstance(one, Reading)]
    assert {(r.kind, r.observed_ms, *r.values.values()) for r in found} >= {("noise", AT, 40.0)}


def test_a_kind_that_is_not_public_has_no_datastreams_for_others(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    from citywise.backend.api.app import create_app
    from citywise.backend.settings import People

    secret = builtin()["noise"].model_copy(update={"public": False})
    installed.install(engine, builtin().with_kinds(secret))
    outside = settings.model_copy(update={"people": People()})
    outsider = create_app(outside, engine).test_client()
    assert ids(outsider, "Datastreams") == [3]
    assert outsider.get(f"{BASE}/Datastreams(1)/Observations").status_code == 404
    assert len(ids(outsider, "Observations")) == 1
    assert len(ids(client, "Datastreams")) == 3

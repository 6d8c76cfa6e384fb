"""The shapes accept what the system produces and what the document shows, and little else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from rdflib import Graph
from rdflib.namespace import RDF, SOSA

from citywise.backend.city.events import Event
from citywise.backend.city.observations import BASE, PLACE, observation_iri, triples
from citywise.backend.city.simulation import Simulation
from citywise.backend.ingest.log import Record
from citywise.backend.ingest.records import Reading, decode, encode_readings
from citywise.backend.kinds import Observation, builtin
from tests.ontologies.test_vocabularies import DOCUMENT
from tests.ontologies.vocabulary import graph, local, rdf, violations

BLOCKS = re.findall(r"```turtle\n(.*?)```", DOCUMENT, re.DOTALL)
PREFIXES = re.findall(r"```turtle prefixes\n(.*?)```", DOCUMENT, re.DOTALL)[0]
TIME = datetime(2014, 8, 5, 7, 5, tzinfo=UTC)
VALUES: dict[str, dict[str, float | int]] = {
    "traffic": {"speed_kmh": 21.5, "vehicle_count": 14},
    "parking": {"occupied": 420, "capacity": 400},
    "weather": {"temperature_c": -3.5, "humidity_pct": 81.0, "wind_kmh": 12.0},
    "air": dict.fromkeys(builtin()["air"].fields, 40),
}


def readings(kind: str, observations: list[Observation]) -> Iterator[Reading]:
    """Observations as they come out of the log."""
    for item in decode(Record(0, 1, encode_readings(kind, 0, observations))):
        assert isinstance(item, Reading)
        yield item


def reading(kind: str, sensor: str, values: dict[str, Any]) -> Reading:
    """A reading that no message check has seen."""
    return Reading(kind, sensor, round(TIME.timestamp() * 1000), 0, values, 0)


def turtle(text: str) -> Graph:
    return Graph().parse(data=PREFIXES + text, format="turtle")


# --- Observations ------------------------------------------------------------------------


def test_what_the_simulated_city_sends_conforms() -> None:
    steps = Simulation(seed=1).steps()
    data, missing = Graph(), set(VALUES)
    while missing:
        for batch in next(steps).batches:
            if batch.kind in missing:
                missing.discard(batch.kind)
                for item in readings(batch.kind, batch.observations(builtin()[batch.kind])[:20]):
                    data += rdf(triples(item, builtin()[item.kind]))
    assert len(set(data.subjects(RDF.type, SOSA.Observation))) > 20
    assert violations(data) == set()


def test_a_weather_reading_without_values_conforms() -> None:
    item = next(readings("weather", [Observation("w", TIME, {}, {})]))
    assert violations(rdf(triples(item, builtin()["weather"]))) == set()


@pytest.mark.parametrize("kind", VALUES)
def test_the_shapes_draw_the_line_where_the_messages_do(kind: str) -> None:
    """Each bound of each field: on it both accept, beyond it both refuse."""
    data, expected = Graph(), set()
    for field, about in builtin()[kind].fields.items():
        for number, (value, fits) in enumerate(around(about.range)):
            values = VALUES[kind] | {field: value}
            item = reading(kind, f"{field}.{number}", values)
            assert accepts(kind, values) == fits
            data += rdf(triples(item, builtin()[item.kind]))
            if not fits:
                expected |= {(observation_iri(item), local(predicate(kind, field)))}
    assert expected
    assert violations(data) == expected


def around(bounds: tuple[float, float] | None) -> Iterator[tuple[float, bool]]:
    assert bounds is not None
    for limit, step in zip(bounds, (-1, 1), strict=True):
        yield limit, True
        yield limit + step, False


def accepts(kind: str, values: dict[str, Any]) -> bool:
    try:
        builtin().reader(kind).of({"sensor": "s", "observed_at": TIME.isoformat(), **values})
    except ValueError:
        return False
    return True


def predicate(kind: str, field: str) -> Any:
    return builtin()[kind].rdf(field)


@pytest.mark.parametrize(
    ("without", "path"),
    [
        ("sosa:resultTime", "resultTime"),
        ("sosa:hasFeatureOfInterest", "hasFeatureOfInterest"),
        ("a sosa:Observation", "type"),
        ("city:averageSpeed", "averageSpeed"),
        ("city:vehicleCount", "vehicleCount"),
    ],
)
def test_an_observation_that_lacks_something_does_not_conform(without: str, path: str) -> None:
    lines = {
        "a sosa:Observation": "",
        "sosa:hasFeatureOfInterest": "<place/1>",
        "sosa:resultTime": '"2014-08-05T07:05:00Z"^^xsd:dateTime',
        "city:averageSpeed": "21.0",
        "city:vehicleCount": "14",
    }
    body = " ; ".join(f"{name} {value}" for name, value in lines.items() if name != without)
    assert (BASE + "observation/o", path) in violations(turtle(f"<observation/o> {body} ."))
    assert violations(turtle(f"<observation/o> {body} ; {without} {lines[without]} .")) == set()


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("city:vehicleCount 14", "city:vehicleCount -1", "vehicleCount"),
        ("city:vehicleCount 14", "city:vehicleCount 14, 15", "vehicleCount"),
        ("city:vehicleCount 14", 'city:vehicleCount "many"', "vehicleCount"),
        ("city:averageSpeed 21.0", "city:averageSpeed 21", "averageSpeed"),
        ('07:05:00Z"^^xsd:dateTime', '07:05:00"^^xsd:dateTime', "resultTime"),
        ('"^^xsd:dateTime', '"', "resultTime"),
        ("<place/158324>", '"158324"', "hasFeatureOfInterest"),
    ],
)
def test_a_broken_observation_does_not_conform(old: str, new: str, path: str) -> None:
    (example,) = (block for block in BLOCKS if "city:averageSpeed" in block)
    assert old in example
    assert {p for _, p in violations(turtle(example.replace(old, new)))} - NESTED == {path}


NESTED = {"NodeConstraintComponent"}
"""A reading of a kind is also reported for failing as an observation."""


# --- Events, places, contexts ------------------------------------------------------------


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_of_the_document_conforms(block: str) -> None:
    assert len(turtle(block)) > 3
    assert violations(turtle(block)) == set()


def test_the_query_of_the_document_gives_one_observation_for_each_value() -> None:
    (query,) = re.findall(r"```sparql\n(.*?)```", DOCUMENT, re.DOTALL)
    item = reading("traffic", "1", VALUES["traffic"])
    single = (rdf(triples(item, builtin()[item.kind])) + graph("city")).query(query).graph
    assert single is not None
    assert {
        (local(p), str(v))
        for s, p in single.subject_objects(SOSA.observedProperty)
        for v in single.objects(s, SOSA.hasSimpleResult)
    } == {("TrafficSpeed", "21.5"), ("TrafficVolume", "14")}
    assert len(set(single.subjects(SOSA.resultTime))) == 2
    assert violations(single) == set()


def event(**changed: str | None) -> str:
    """An open event as the pipeline concludes it, with some lines changed or left out."""
    by = observation_iri(reading("traffic", "158324", {}))
    found = Event("TrafficJam", "158324", 3, by, by)
    stamp = '"2014-08-05T07:05:00Z"^^xsd:dateTime'
    lines = {
        "a": f"ev:{found.type}",
        "place": f"<{PLACE}{found.place}>",
        "level": str(found.level),
        "start": stamp,
        "confirmed": stamp,
        "openedBy": f"<{found.opened_by}>",
        "confirmedBy": f"<{found.confirmed_by}>",
    } | changed
    said = (f"{'a' if k == 'a' else 'ev:' + k} {v}" for k, v in lines.items() if v is not None)
    return f"<{BASE}event/{found.id}> " + " ; ".join(said) + " ."


LATER, EARLIER = (f'"2014-08-05T0{hour}:05:00Z"^^xsd:dateTime' for hour in (9, 6))


@pytest.mark.parametrize(
    ("changed", "paths"),
    [
        ({}, set()),
        ({"end": LATER, "endedBy": "<observation/x>"}, set()),
        ({"place": None}, {"place"}),
        ({"level": "0"}, {"level"}),
        ({"level": "6"}, {"level"}),
        ({"start": None}, {"start"}),
        ({"confirmed": EARLIER}, {"start"}),
        ({"end": EARLIER, "endedBy": "<observation/x>"}, {"start", "confirmed"}),
        ({"end": LATER}, {"OrConstraintComponent"}),
        ({"endedBy": "<observation/x>"}, {"OrConstraintComponent"}),
        ({"openedBy": None}, {"openedBy"}),
        ({"confirmedBy": '"a reading"'}, {"confirmedBy"}),
        ({"a": "ev:Flood"}, {"ClassConstraintComponent"}),
        ({"a": "ev:SportsEvent"}, set()),
    ],
)
def test_an_event_conforms_only_if_it_is_whole_and_in_order(
    changed: dict[str, str | None], paths: set[str]
) -> None:
    assert {path for _, path in violations(turtle(event(**changed)))} == paths


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ('schema:name "Harbour" ;', "", "name"),
        ('schema:name "Harbour"', 'schema:name ""', "name"),
        ("POINT(10.2134 56.1527)", "56.1527 10.2134", "hasGeometry"),
        ("^^geo:wktLiteral ] ;\n    pl:capacity", " ] ;\n    pl:capacity", "hasGeometry"),
        ("pl:capacity 400", "pl:capacity 0", "capacity"),
        ("pl:length 777.0", "pl:length -1.0", "length"),
        ("pl:freeFlowSpeed 50.0", "pl:freeFlowSpeed 0.0", "freeFlowSpeed"),
        ("stream:parking", "stream:noise", "readingsOn"),
    ],
)
def test_a_broken_place_does_not_conform(old: str, new: str, path: str) -> None:
    (example,) = (block for block in BLOCKS if "a pl:Garage" in block)
    assert old in example
    assert {p for _, p in violations(turtle(example.replace(old, new)))} == {path}


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("ctx:user <user/alice> ;", "", "user"),
        ("ctx:user <user/alice>", "ctx:user <user/alice>, <user/bob>", "user"),
        ("07:06:00Z", "07:06:00", "time"),
        ("ctx:DrivingCar", "ctx:Flying", "activity"),
        (
            "POINT(10.1050 56.2317)",
            "LINESTRING(10.1 56.2, 10.2 56.2)",
            "PatternConstraintComponent",
        ),
    ],
)
def test_a_broken_user_context_does_not_conform(old: str, new: str, path: str) -> None:
    (example,) = (block for block in BLOCKS if "ctx:UserContext" in block)
    assert old in example
    assert {p for _, p in violations(turtle(example.replace(old, new)))} == {path}

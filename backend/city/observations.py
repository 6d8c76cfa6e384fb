"""Observations as RDF: SOSA triples under our own terms (ontologies/city.ttl)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from decimal import Decimal

from citywise.backend.ingest.records import Reading
from citywise.backend.times import iso, parse_ms
from citywise.reasoning import Iri, Literal, Triple
from citywise.reasoning.rdf.mapping import XSD

BASE = "https://w3id.org/citywise/"
EVENT = BASE + "event/"
PLACE = BASE + "place/"
STREAM = BASE + "stream/"
_OBSERVATION = BASE + "observation/"
_CITY = BASE + "city#"
_SOSA = "http://www.w3.org/ns/sosa/"

FEATURE = Iri(_SOSA + "hasFeatureOfInterest")
TIME = Iri(_SOSA + "resultTime")
TYPE = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
OBSERVATION = Iri(_SOSA + "Observation")
_DECIMAL, _INTEGER, DATETIME = XSD + "decimal", XSD + "integer", XSD + "dateTime"

PROPERTIES: dict[str, dict[str, tuple[Iri, str]]] = {
    "traffic": {
        "speed_kmh": (Iri(_CITY + "averageSpeed"), _DECIMAL),
        "vehicle_count": (Iri(_CITY + "vehicleCount"), _INTEGER),
    },
    "parking": {
        "occupied": (Iri(_CITY + "occupiedPlaces"), _INTEGER),
        "capacity": (Iri(_CITY + "totalPlaces"), _INTEGER),
    },
    "weather": {
        "temperature_c": (Iri(_CITY + "temperature"), _DECIMAL),
        "humidity_pct": (Iri(_CITY + "humidity"), _DECIMAL),
        "wind_kmh": (Iri(_CITY + "windSpeed"), _DECIMAL),
    },
    "air": {
        "ozone": (Iri(_CITY + "ozone"), _INTEGER),
        "particulate_matter": (Iri(_CITY + "particulateMatter"), _INTEGER),
        "carbon_monoxide": (Iri(_CITY + "carbonMonoxide"), _INTEGER),
        "sulfur_dioxide": (Iri(_CITY + "sulfurDioxide"), _INTEGER),
        "nitrogen_dioxide": (Iri(_CITY + "nitrogenDioxide"), _INTEGER),
    },
}
"""Per kind of observation: payload field → RDF property and datatype."""


def observation_iri(reading: Reading) -> str:
    """The IRI of an observation: kind, sensor and time are in it."""
    return observations_iri(reading.kind, reading.sensor) + iso(reading.observed_ms)


def observations_iri(kind: str, sensor: str) -> str:
    """What the IRIs of all observations of a kind by a sensor have before the time."""
    return f"{_OBSERVATION}{kind}/{sensor}/"


def observed_ms(iri: str) -> int:
    """The time of an observation, from its IRI, in Unix milliseconds."""
    return parse_ms(iri.rsplit("/", 1)[1])


ObservationKey = tuple[str, str, int]
"""Kind, sensor and time (Unix ms): what the IRI of an observation is made of."""


def observation_key(iri: str) -> ObservationKey | None:
    """What an observation's IRI is made of; None for other IRIs."""
    if not iri.startswith(_OBSERVATION) or iri.count("/", len(_OBSERVATION)) < 2:
        return None
    kind, _, rest = iri[len(_OBSERVATION) :].partition("/")
    try:
        return kind, rest.rpartition("/")[0], observed_ms(iri)
    except ValueError:
        return None


def place_id(name: str) -> str:
    """The id of a place from its name in answers (`place_158324`)."""
    return name.removeprefix("place_")


def stream_iri(kind: str) -> str:
    """The stream on which observations of a kind travel."""
    return STREAM + kind


def kind_of(stream: str) -> str:
    """The kind of observations a stream carries."""
    return stream.removeprefix(STREAM)


def predicates(kind: str) -> tuple[Iri, ...]:
    """The predicates of the triples that observations of a kind give."""
    return (TYPE, FEATURE, TIME, *(predicate for predicate, _ in PROPERTIES[kind].values()))


def triples(reading: Reading, wanted: Container[Iri] | None = None) -> tuple[Triple, ...]:
    """One observation as a graph (SOSA: feature of interest, result time; our values).

    With `wanted`, only the triples with these predicates, and the feature of interest.
    """
    node = Iri(observation_iri(reading))
    found = [Triple(node, FEATURE, Iri(PLACE + reading.sensor))]
    if wanted is None or TYPE in wanted:
        found.append(Triple(node, TYPE, OBSERVATION))
    if wanted is None or TIME in wanted:
        found.append(Triple(node, TIME, Literal(iso(reading.observed_ms), DATETIME)))
    found += [
        Triple(node, predicate, value)
        for predicate, value in values(reading)
        if wanted is None or predicate in wanted
    ]
    return tuple(found)


def values(reading: Reading) -> Iterator[tuple[Iri, Literal]]:
    """What was observed: properties and their values."""
    for field, (predicate, datatype) in PROPERTIES[reading.kind].items():
        value = reading.values.get(field)
        if value is not None:
            yield predicate, Literal(lexical(value), datatype)


def lexical(value: str | float) -> str:
    """A value's text: a number without an exponent, which xsd:decimal does not know."""
    text = str(value)
    return format(Decimal(text), "f") if "e" in text else text

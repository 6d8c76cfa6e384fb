"""Observations as RDF: SOSA triples under our own terms (ontologies/city.ttl)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from decimal import Decimal

from backend.ingest.records import Reading
from backend.times import iso, parse_ms
from reasoning.rdf.mapping import XSD, Iri, Literal, Triple

BASE = "https://w3id.org/citywise/"
EVENT = BASE + "event/"
PLACE = BASE + "place/"
STREAM = BASE + "stream/"
_OBSERVATION = BASE + "observation/"
_CITY = BASE + "city#"
_SOSA = "http://www.w3.org/ns/sosa/"

FEATURE = Iri(_SOSA + "hasFeatureOfInterest")
_TIME = Iri(_SOSA + "resultTime")
_TYPE = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_OBSERVATION_CLASS = Iri(_SOSA + "Observation")
_DECIMAL, _INTEGER, _DATETIME = XSD + "decimal", XSD + "integer", XSD + "dateTime"

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
    return f"{_OBSERVATION}{reading.kind}/{reading.sensor}/{iso(reading.observed_ms)}"


def observed_ms(iri: str) -> int:
    """The time of an observation, from its IRI, in Unix milliseconds."""
    return parse_ms(iri.rsplit("/", 1)[1])


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
    return (_TYPE, FEATURE, _TIME, *(predicate for predicate, _ in PROPERTIES[kind].values()))


def triples(reading: Reading, wanted: Container[Iri] | None = None) -> tuple[Triple, ...]:
    """One observation as a graph (SOSA: feature of interest, result time; our values).

    With `wanted`, only the triples with these predicates, and the feature of interest.
    """
    node = Iri(observation_iri(reading))
    found = [Triple(node, FEATURE, Iri(PLACE + reading.sensor))]
    if wanted is None or _TYPE in wanted:
        found.append(Triple(node, _TYPE, _OBSERVATION_CLASS))
    if wanted is None or _TIME in wanted:
        found.append(Triple(node, _TIME, Literal(iso(reading.observed_ms), _DATETIME)))
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
            yield predicate, Literal(_lexical(value), datatype)


def _lexical(value: str | float) -> str:
    """A number without an exponent, which xsd:decimal does not know."""
    text = str(value)
    return format(Decimal(text), "f") if "e" in text else text

"""Observations as RDF: SOSA triples under our own terms (ontologies/city.ttl)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any

from citywise.backend.ingest.records import Reading
from citywise.backend.kinds import Kind, Kinds, PlaceKind
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.times import iso, parse_ms
from citywise.reasoning import Iri, Literal, Location, Request, RequestError, Triple
from citywise.reasoning.rdf.mapping import XSD, Mapper

BASE = "https://w3id.org/citywise/"
EVENT = BASE + "event/"
PLACE = BASE + "place/"
STREAM = BASE + "stream/"
_OBSERVATION = BASE + "observation/"
_SOSA = "http://www.w3.org/ns/sosa/"

FEATURE = Iri(_SOSA + "hasFeatureOfInterest")
TIME = Iri(_SOSA + "resultTime")
TYPE = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
OBSERVATION = Iri(_SOSA + "Observation")
DATETIME = XSD + "dateTime"
ALWAYS_SAID = TYPE, FEATURE, TIME
"""The predicates that triples of every observation have."""


def observation_iri(reading: Reading) -> str:
    """The IRI of an observation: kind, sensor and time are in it."""
    return observations_iri(reading.kind, reading.sensor) + iso(reading.observed_ms)


def observations_iri(kind: str, sensor: str) -> str:
    """What the IRIs of all observations of a kind by a sensor have before the time."""
    return f"{_OBSERVATION}{kind}/{sensor}/"


@lru_cache(maxsize=20_000)  # of an event that stands it is asked again and again
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


def streamed(request: Request, kinds: Kinds) -> Kinds:
    """The kinds on a request's streams; raises `RequestError` for one that there is not."""
    names = [kind_of(stream.iri) for stream in request.streams]
    for name in names:
        if name not in kinds:
            known = ", ".join(kinds) or "none"
            hint = did_you_mean(name, kinds, f"there are {known}")
            said = f"there is no kind of observations `{name}` for `#from stream`; {hint}"
            raise RequestError(Location(f"<{request.name}>", 1, 1), "stream", said)
    return kinds.only(names)


def scaled(request: Request, kinds: Kinds) -> Request:
    """The request, whose rules see decimals times 1/step where it says no `#scale`."""
    mapper = Mapper(request)
    properties = [
        (mapper.predicate(iri.value), kind.fields[name].scale)
        for kind in kinds.described
        for name, iri, _datatype in kind.read
    ]
    # Where fields of several kinds have one predicate, the finest step counts: it comes last.
    derived = {
        name: scale for name, scale in sorted(properties, key=itemgetter(1)) if name and scale > 1
    }
    if derived.keys() <= request.scales.keys():
        return request
    return replace(request, scales={**derived, **request.scales})


def predicates(kind: Kind) -> tuple[Iri, ...]:
    """The predicates of the triples that observations of a kind give."""
    return (*ALWAYS_SAID, *(predicate for _, predicate, _ in kind.properties))


def triples(
    reading: Reading, kind: Kind, wanted: Container[Iri] | None = None
) -> tuple[Triple, ...]:
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
        for predicate, value in values(reading.values, kind)
        if wanted is None or predicate in wanted
    ]
    return tuple(found)


def values(told: Mapping[str, Any], kind: Kind | PlaceKind) -> Iterator[tuple[Iri, Literal]]:
    """What was observed, or is said of a place: properties and their values."""
    return _values(told, kind.properties)


def latest_values(told: Mapping[str, Any], kind: Kind) -> Iterator[tuple[Iri, Literal]]:
    """What rules of templates may read of a sensor's latest reading: by property, and by role."""
    return _values(told, kind.read)


def _values(
    told: Mapping[str, Any], properties: Iterable[tuple[str, Iri, str]]
) -> Iterator[tuple[Iri, Literal]]:
    for field, predicate, datatype in properties:
        value = told.get(field)
        if value is not None:
            yield predicate, Literal(lexical(value), datatype)


def lexical(value: str | float) -> str:
    """A value's text: of a number without an exponent, which xsd:decimal does not know."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    text = str(value)
    return format(Decimal(text), "f") if "e" in text else text

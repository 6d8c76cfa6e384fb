"""CityBench's streams from the pack's real data: each record a graph of observations.

A day is replayed so that a slot of five minutes takes one second: what was recorded in
slot k of the day (UTC) is an item at second k after its midnight. Every service observes
the properties that SensorRepository lists for it, each in an observation of its own, as
CityBench's sensors do; the random part of their IRIs is seeded, so that a stream is the
same every time.

    service = BASE + "AarhusTrafficData158505"
    records = Streams(pack / "citybench", date(2014, 8, 5)).records([service])
    lines = [record.line() for record in records]        # a stream file, docs/reason.md
    graph = records[0].triples                           # the same for a SPARQL engine
"""

from __future__ import annotations

import gzip
import random
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, RdfFormat, Store, Triple

from tests.citybench.day import SLOTS, Day, Position, Values

BASE = "http://www.insight-centre.org/dataset/SampleEventService#"
CT = "http://www.insight-centre.org/citytraffic#"
_SSN = "http://purl.oclc.org/NET/ssnx/ssn#"
_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_OBSERVATION = NamedNode(_SSN + "Observation")
_PROPERTY = NamedNode(_SSN + "observedProperty")
_SENSOR = NamedNode(_SSN + "observedBy")
_VALUE = NamedNode("http://purl.oclc.org/NET/sao/hasValue")
_OBSERVED = f"""
SELECT ?service ?class ?property {{ ?service <{_SSN}observes> ?property . ?property a ?class }}"""


@dataclass(frozen=True)
class Record:
    """What a service recorded in a slot of the day."""

    service: str
    second: int
    """Stream time in Unix seconds."""
    triples: tuple[Triple, ...]

    def line(self) -> dict[str, Any]:
        """The record as a graph item of a stream file (docs/reason.md)."""
        return {
            "t": datetime.fromtimestamp(self.second, UTC).isoformat().replace("+00:00", "Z"),
            "graph": "".join(f"{triple} .\n" for triple in self.triples),
            "stream": self.service,
        }


class Streams:
    """The streams of one day (UTC) of the pack's folder `citybench`."""

    def __init__(self, folder: Path, day: date) -> None:
        self.day = Day(folder, day)
        self._repository = folder / "SensorRepository.n3.gz"

    def records(self, services: Iterable[str], slots: int = SLOTS) -> list[Record]:
        """The records of services (IRIs) in the day's first slots, in order of time."""
        midnight = int(self.day.begin.timestamp())
        found = [
            Record(service, midnight + slot, self._graph(service, slot, values))
            for service in services
            for slot, values in self.day.of(service.removeprefix(BASE))
            if slot < slots
        ]
        return sorted(found, key=lambda record: record.second)

    def _graph(self, service: str, slot: int, values: Values) -> tuple[Triple, ...]:
        chance = random.Random(f"{service} {slot}")
        triples: list[Triple] = []
        for kind, value in values.items():
            token = uuid.UUID(int=chance.getrandbits(128), version=4)
            node = NamedNode(f"{service}Observation-{slot}{token}")
            triples += [
                Triple(node, _TYPE, _OBSERVATION),
                Triple(node, _SENSOR, NamedNode(service)),
                Triple(node, _PROPERTY, self._observes[service, kind]),
                *_valued(node, value, BlankNode(f"place{slot}")),
            ]
        return tuple(triples)

    @cached_property
    def _observes(self) -> dict[tuple[str, str], NamedNode]:
        """Service and class of property (its local name) → property, by SensorRepository."""
        found = solutions(knowledge(self._repository), _OBSERVED)
        return {(s.value, kind.value.removeprefix(CT)): observed for s, kind, observed in found}


def knowledge(*paths: Path) -> Store:
    """Knowledge bases (Turtle, N-Triples, gzipped or not) in a SPARQL store."""
    store = Store()
    for path in paths:
        data = path.read_bytes()
        text = gzip.decompress(data) if path.suffix == ".gz" else data
        store.load(text, format=RdfFormat.TURTLE)
    return store


def solutions(store: Store, query: str) -> list[tuple[Any, ...]]:
    """The solutions of a SELECT query, each a tuple of terms in the order of its variables."""
    found = store.query(query)
    assert isinstance(found, QuerySolutions)
    return [tuple(row) for row in found]


def _valued(node: NamedNode, value: int | float | Position, place: BlankNode) -> Iterator[Triple]:
    if not isinstance(value, tuple):
        yield Triple(node, _VALUE, Literal(value))
        return
    yield Triple(node, _VALUE, place)
    for name, degrees in zip(("hasLatitude", "hasLongitude"), value, strict=True):
        yield Triple(place, NamedNode(CT + name), Literal(degrees))

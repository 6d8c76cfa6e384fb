"""The facts of a reading without its triples are those of its triples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from citywise.backend.city.observations import observation_iri, observation_key, triples
from citywise.backend.ingest.records import Reading
from citywise.backend.kinds import builtin
from citywise.backend.pipeline.sharing import Sight
from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.request import Request
from citywise.reasoning.model.unfolding import rows_apart
from citywise.reasoning.model.values import parsed
from citywise.reasoning.streams.items import Encoder, Item

START_MS = 1_407_196_800_000
SOSA = "#prefix sosa : <http://www.w3.org/ns/sosa/>.\n"
CITY = "#prefix city : <https://w3id.org/citywise/city#>.\n"
STREAM = "#from stream <https://w3id.org/citywise/stream/traffic> [time 1s step 1s].\n"
RULES = """
a(O,R,T) :- sosa_hasFeatureOfInterest(O,R), sosa_hasFeatureOfInterest(O,R,T).
b(O,T) :- sosa_resultTime(O,T).
c(O) :- rdf_type(O,C).
d(O,S) :- city_averageSpeed(O,S).
e(O,N,T) :- city_vehicleCount(O,N,T).
"""
PREFIXES = {
    "none fits": "",
    "the observation's": "#prefix ob : <https://w3id.org/citywise/observation/>.\n",
    "one that ends in the sensor": (
        "#prefix ob : <https://w3id.org/citywise/observation/traffic/1>.\n"
        "#prefix place : <https://w3id.org/citywise/place/>.\n"
    ),
    "one that ends in the time": (
        "#prefix ob : <https://w3id.org/citywise/observation/traffic/1/2014>.\n"
    ),
    "all of it": "#prefix base : <https://w3id.org/citywise/>.\n#prefix ob : <https://w3id.org/>.\n",
}
SCALE = "#scale city_averageSpeed 10.\n"
NUMBERS = [None, 0, 1, 1.0, -0.0, 12.5, 1e-7, 1e22, 2**31, "50", "fast"]


def request(prefixes: str, scale: str) -> Request:
    rdf = "#prefix rdf : <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.\n"
    return parse(SOSA + CITY + rdf + prefixes + STREAM + scale + RULES)


SENSORS = ["1", "12", "a b", "a/b", 'q"', "'", "é", "\0", "\\"]


def readings() -> Iterator[Reading]:
    """Each sensor with each number: in one field, in the other, and neither."""
    for position, (sensor, number) in enumerate(product(SENSORS, NUMBERS)):
        field = "speed_kmh" if position % 2 else "vehicle_count"
        t_ms = START_MS + position % 3 * 500
        yield Reading("traffic", sensor, t_ms, START_MS, {field: number}, position)


def told(encoder: Encoder, item: Item, base: int) -> tuple[Any, frozenset[Any]]:
    try:
        return encoder.facts(item, base), encoder.supplied
    except ItemError as error:
        return str(error), encoder.supplied


@pytest.mark.parametrize("prefixes", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("scale", ["", SCALE])
@pytest.mark.parametrize("base", [0, START_MS // 1000, 10**10])
def test_facts_of_readings_are_those_of_their_triples(prefixes: str, scale: str, base: int) -> None:
    """Facts, errors, and which predicates the stream is known to supply."""
    seen = request(prefixes, scale)
    sight, plain = Sight(seen, builtin().only(["traffic"])), Encoder(seen)
    for reading in readings():
        item = sight.item(reading)
        given = Item(
            item.time, triples(reading, builtin()["traffic"]), item.position, stream=item.stream
        )
        assert told(sight.encoder, item, base) == told(plain, given, base)


def test_a_reading_gives_its_triples_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    sight = Sight(request(PREFIXES["the observation's"], SCALE), builtin().only(["traffic"]))
    values = {"speed_kmh": 50, "vehicle_count": 3}
    items = [sight.item(Reading("traffic", "7", START_MS, START_MS, values, n)) for n in (7, 8)]
    sight.encoder.facts(items[0])
    asked: list[Reading] = []

    def note(reading: Reading, *_kind_and_wanted: object) -> tuple[()]:
        asked.append(reading)
        return ()

    monkeypatch.setattr("citywise.backend.pipeline.sharing.triples", note)
    assert len(sight.encoder.facts(items[1])) == 6
    assert not asked
    assert not items[1].content
    assert asked


@pytest.mark.parametrize("sensor", ["1", "a/b", "é"])
def test_an_observation_is_known_by_its_iri(sensor: str) -> None:
    reading = Reading("traffic", sensor, START_MS + 7, START_MS, {}, 1)
    assert observation_key(observation_iri(reading)) == ("traffic", sensor, START_MS + 7)
    assert observation_key("https://w3id.org/citywise/event/1") is None
    assert observation_key("https://w3id.org/citywise/observation/traffic/1/today") is None


@pytest.mark.parametrize("prefixes", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("together", [1, 7])
def test_rows_of_readings_taken_apart_are_their_facts(prefixes: str, together: int) -> None:
    """Where readings have no rows, some by themselves have no facts or no name."""
    sight = Sight(request(prefixes, SCALE), builtin().only(["traffic"]))
    shaped = 0
    given = list(readings())
    some = [given[first : first + together] for first in range(0, len(given), together)]
    for item in (item for readings in some for item in sight.items(readings)):
        rows, others = sight.encoder.shaped([item], 0) or ({}, item.apart())
        without = {other.position for other in others}
        facts = Counter(
            parsed(fact)
            for part in item.apart()
            if part.position not in without
            for fact in sight.encoder.facts(part)
        )
        apart = Counter(
            (relation.partition("/")[0], row)
            for shape, of_shape in rows.items()
            for relation, found in rows_apart(shape, of_shape, ()).items()
            for row in found
        )
        assert apart == facts
        shaped += item.count - len(others)
    assert shaped > 30 or prefixes == PREFIXES["one that ends in the time"]

"""Weather stations while a hurricane passes: which winds are a hurricane's (after SRBench)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from benchmarks.r4.conclusions import Conclusion, text
from benchmarks.r4.experiment import SUBCLASS, TYPE, Arrival, Experiment, Statement, superclasses
from benchmarks.r4.scans import Pattern
from citywise.reasoning.rdf.mapping import XSD

DAYS = 10
STATIONS = 24
EVERY_S = 600
"""Each station observes four properties every ten minutes: 8 triples each."""
BEGINNING = int(datetime(2004, 8, 8, tzinfo=UTC).timestamp())
"""Five days before hurricane Charley reached Florida."""
_LANDFALL = 0.58
_DELAY = 0.005
"""When the storm is strongest at the first station, and how much later at each further one, as
shares of the whole."""
_PASSING_S = 10_000
_SSN = "http://purl.oclc.org/NET/ssnx/ssn#"
_EXTENDED = "http://www.semsorgrid4env.eu/ontologies/SsnExtension.owl#"
_HURRICANE = "<http://dbpedia.org/class/yago/Hurricane111467018>"
_WINDS = "<http://dbpedia.org/property/1MinWinds>"
_PROPERTIES = ("air_temperature", "relative_humidity", "wind_from_direction", "wind_speed")


def _observed(name: str) -> str:
    return f"<http://purl.oclc.org/NET/ssnx/cf/cf-property#{name}>"


def _storm(name: str) -> str:
    return f"<http://example.org/storm#{name}>"


_BELOW = {
    _storm("AtlanticHurricane"): _HURRICANE,
    _storm("MajorHurricane"): _storm("AtlanticHurricane"),
    _storm("Category4Hurricane"): _storm("MajorHurricane"),
    _storm("Category5Hurricane"): _storm("MajorHurricane"),
}
"""Classes of hurricanes, and those above them."""


class Observation(NamedTuple):
    """What a station observed."""

    time: int
    name: str
    station: int
    property: str
    value: str

    def statements(self) -> Iterator[Statement]:
        """In terms of the Semantic Sensor Network ontology, with blank nodes for the result."""
        moment = datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        label = self.name.rpartition("#")[2].removesuffix(">")
        result, value = f"_:r{label}", f"_:v{label}"
        yield self.name, TYPE, f"<{_SSN}Observation>"
        yield self.name, f"<{_SSN}observedProperty>", _observed(self.property)
        yield self.name, f"<{_SSN}observedBy>", f"<http://example.org/station#{self.station}>"
        yield self.name, f"<{_SSN}observationResultTime>", f'"{moment}"^^<{XSD}dateTime>'
        yield self.name, f"<{_SSN}observationResult>", result
        yield result, TYPE, f"<{_SSN}SensorOutput>"
        yield result, f"<{_SSN}hasValue>", value
        yield value, f"<{_EXTENDED}hasQuantityValue>", f'"{self.value}"^^<{XSD}double>'


class Weather(Experiment):
    """The hurricane rule over ten days of weather stations, hurricanes being known."""

    name = "srbench"
    document = "hurricanes.rifps"
    knowledge = "storms.ttl"
    windows: Sequence[int] = (3_600, 86_400)
    data = "generated"
    patterns: Sequence[Pattern] = (
        Pattern(f"<{_SSN}observedProperty>", constant=_observed("wind_speed")),
        Pattern(f"<{_SSN}observedBy>"),
        Pattern(f"<{_SSN}observationResult>"),
        Pattern(f"<{_SSN}hasValue>", subject=3),
        Pattern(f"<{_EXTENDED}hasQuantityValue>", subject=4),
    )

    def __init__(self, days: float = DAYS, stations: int = STATIONS) -> None:
        self._seconds, self._stations = int(days * 86_400), stations

    def static(self) -> Iterator[Statement]:
        """Storms on record. Hurricanes are typed by the class that the rule asks for, or by one of
        those below it; tropical storms by none of them."""
        yield from ((below, SUBCLASS, above) for below, above in _BELOW.items())
        classes = [_HURRICANE, *_BELOW]
        for number in range(30):
            name, winds = _storm(f"Hurricane{number}"), 64 + 3 * number
            yield name, TYPE, classes[number % len(classes)]
            yield name, _WINDS, f'"{winds}"^^<{XSD}integer>'
        for number in range(10):
            yield _storm(f"Storm{number}"), TYPE, _storm("TropicalStorm")
            yield _storm(f"Storm{number}"), _WINDS, f'"{34 + 3 * number}"^^<{XSD}integer>'

    def arrivals(self) -> Iterator[Arrival]:
        """What the stations say, each observation at once."""
        for observation in self.observations():
            for statement in observation.statements():
                yield Arrival(observation.time, statement)

    def observations(self) -> Iterator[Observation]:
        """What the stations observe; the same each time."""
        chance = random.Random(1)
        for second in range(0, self._seconds, EVERY_S):
            values = [self._values(second, each, chance) for each in range(self._stations)]
            for station, found in enumerate(values):
                for name, value in zip(_PROPERTIES, found, strict=True):
                    label = f"<http://example.org/observation#s{station}-{name}-{second}>"
                    yield Observation(BEGINNING + second, label, station, name, value)

    def _values(self, second: int, station: int, chance: random.Random) -> list[str]:
        """What a station observes; the storm is stronger at the later ones."""
        passes = (_LANDFALL + _DELAY * station) * self._seconds
        storm = (1 + station / 20) * math.exp(-(((second - passes) / _PASSING_S) ** 2))
        return list(_weather(second, storm, chance))

    def conclusions(self, width: int) -> Iterator[Conclusion]:
        """Winds above those of hurricanes, for as long as the window is."""
        hurricanes = self._hurricanes()
        for each in self._winds():
            until = each.time + width - 1
            weaker = [name for name, winds in hurricanes if float(each.value) > winds]
            if weaker:
                found = text(f"<{_SSN}observedWeatherType>", (each.name, _HURRICANE))
                yield found, each.time, until
            for name in weaker:
                yield text(f"<{_EXTENDED}strongerThan>", (each.name, name)), each.time, until

    def joined(self, width: int, until: int) -> int:  # noqa: ARG002
        """How many observations of winds there are up to an instant."""
        return sum(each.time <= until for each in self._winds())

    def _winds(self) -> Iterator[Observation]:
        return (each for each in self.observations() if each.property == "wind_speed")

    def _hurricanes(self) -> Sequence[tuple[str, int]]:
        known = list(self.static())
        above = superclasses(known)
        names = {s for s, p, o in known if p == TYPE and _HURRICANE in above.get(o, ())}
        return [(s, int(o.split('"')[1])) for s, p, o in known if p == _WINDS and s in names]


def _weather(second: int, storm: float, chance: random.Random) -> Iterator[str]:
    """Temperature (°F), humidity (%), direction (degrees) and speed (knots) of the wind."""
    hour = second % 86_400 / 3600
    yield f"{78 + 8 * math.sin((hour - 15) / 24 * 2 * math.pi) + chance.gauss(0, 1):.1f}"
    yield f"{min(100, 75 + 25 * min(storm, 1) + chance.gauss(0, 5)):.1f}"
    yield f"{chance.uniform(0, 360):.0f}"
    yield f"{max(0, 12 + 60 * storm + chance.gauss(0, 5)):.1f}"

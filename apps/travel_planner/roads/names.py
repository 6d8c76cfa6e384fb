"""Street names where the map has none: what junctions and bus stops tell, put to the vote.

A way of OpenStreetMap is a piece of one street, so its edges vote together. Measured segments
tell the street at both their ends, and a stop called `A/B` stands on A, near B.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np
from shapely import LineString, STRtree, points

from citywise.apps.travel_planner.roads.building import Position, metres
from citywise.apps.travel_planner.roads.gazetteer import Entry, folded
from citywise.apps.travel_planner.roads.network import I64, Mode, RoadNetwork
from citywise.apps.travel_planner.roads.segments import Segment
from citywise.apps.travel_planner.roads.streets import APART_M
from citywise.backend.app import geometry

STOP_M = 30.0
"""How far from its street a bus stop may stand."""
STOP_WEIGHT, END_WEIGHT = 60.0, 0.3
"""What a stop counts, in metres of a segment; what a metre counts that has two streets."""
MAJORITY = 0.5
NO_STOPS = frozenset(("service", "motorway", "motorway_link", "track"))
Votes = dict[str, float]

_LOCAL = re.compile(r"\s*\(([^)]*)\)")
_STREET = re.compile(
    r"\w[\w .'-]*?(vej|vejen|gade|gaden|allé|alle|alleen|alléen|boulevard|boulevarden|stræde|plads"
    r"|pladsen|torv|torvet|vænget|parken|bakken|ringgade|ringvej|brogade|port|bro|toften|marken)",
    re.IGNORECASE,
)


def stop_entries(stops: Iterable[tuple[str, Position]]) -> list[Entry]:
    """Bus stops as named points; those of one name are one."""
    return [
        Entry(f"stop:{number}", name, "stop", *_centre(at), _district(label))
        for number, (label, at) in enumerate(_grouped(stops).items(), 1)
        if (name := _LOCAL.sub("", label))
    ]


def stopped_at(stops: Iterable[tuple[str, Position]]) -> list[Entry]:
    """The streets that bus stops are called after, where these stops are close together."""
    named = [(street, at) for name, at in stops if (street := street_of(name))]
    return [
        Entry(f"street:stop:{number}", street, "street", *_centre(at))
        for number, (street, at) in enumerate(_grouped(named).items(), 1)
        if metres([min(at), max(at)]) <= APART_M
    ]


def _grouped(named: Iterable[tuple[str, Position]]) -> dict[str, list[Position]]:
    groups: dict[str, list[Position]] = defaultdict(list)
    for name, at in named:
        groups[name].append(at)
    return groups


def _centre(at: Sequence[Position]) -> Position:
    """Of some positions the one in their middle."""
    lon, lat = (fmean(values) for values in zip(*at, strict=True))
    return min(at, key=lambda each: metres([each, (lon, lat)]))


def _district(stop: str) -> str:
    """What a stop's name has in brackets, short: `(Skanderborg Kom)` is `Skanderborg`."""
    found = _LOCAL.search(stop)
    return found[1].removesuffix(" Kom").strip() if found else ""


def street_of(stop: str) -> str | None:
    """The street that a bus stop stands on, if its name says so (`A/B (Aarhus Kom)`)."""
    first, slash, _ = _LOCAL.sub("", stop).partition("/")
    return first.strip() if slash and _STREET.fullmatch(first.strip()) else None


class Names:
    """Votes on the names of a network's ways."""

    def __init__(self, network: RoadNetwork, way: Mapping[int, int]) -> None:
        self._network = network
        self._way = way
        self._votes: dict[int, Votes] = defaultdict(lambda: defaultdict(float))
        self._spelling: dict[str, str] = {}

    def along(self, segment: Segment, path: Sequence[int]) -> None:
        """A segment says the street of its path: all of it, or each end of its half."""
        lengths = self._network.length_m[np.asarray(path)]
        middle = np.cumsum(lengths) - lengths / 2
        first, second = segment.streets
        weight = 1.0 if first == second else END_WEIGHT
        for edge, length, at in zip(path, lengths.tolist(), middle.tolist(), strict=True):
            street = first if at < lengths.sum() / 2 else second
            if street:
                self._vote(edge, street, weight * length)

    def stops(self, stops: Iterable[tuple[str, Position]]) -> None:
        """Bus stops say the street that they stand on."""
        streets = [(street, at) for name, at in stops if (street := street_of(name))]
        if not streets:
            return
        edges = self._edges_with_stops()
        scale = geometry.plane(self._network.lat.mean())
        lines: list[LineString] = [
            LineString(self._network.line(edge) * scale) for edge in edges.tolist()
        ]
        where = points(np.array([at for _, at in streets]) * scale)
        found = STRtree(lines).query_nearest(where, max_distance=STOP_M, all_matches=False)
        for stop, line in found.T.tolist():
            self._vote(int(edges[line]), streets[stop][0], STOP_WEIGHT)

    def _vote(self, edge: int, street: str, weight: float) -> None:
        """Of spellings of one name (`Park Alle`, `Park Allé`) the one with more accents counts."""
        key = " ".join(folded(street))
        rivals = (self._spelling.get(key, street), street)
        self._spelling[key] = min(rivals, key=lambda name: sum(map(str.isascii, name)))
        self._votes[self._way[edge]][key] += weight

    def _edges_with_stops(self) -> I64:
        network = self._network
        quiet = np.array([name in NO_STOPS for name in network.highways])
        usable = network.allows(Mode.CAR) & ~network.outside & ~quiet[network.highway]
        return np.asarray(np.flatnonzero(usable))

    def decided(self) -> Iterator[tuple[int, str]]:
        """The edges whose way got a clear majority, with its name."""
        elected = {way: name for way, votes in self._votes.items() if (name := _winner(votes))}
        for edge, way in self._way.items():
            if way in elected:
                yield edge, self._spelling[elected[way]]


def _winner(votes: Votes) -> str | None:
    name = max(votes, key=votes.__getitem__)
    return name if votes[name] > MAJORITY * sum(votes.values()) else None

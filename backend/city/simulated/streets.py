"""The simulated town's local streets: what fills the faces between its rings and radials.

Nobody measures them; they are there so that a plan has choices: side streets, one-way pairs,
a pedestrian street, paths through parks, a cycle path along the stream. Everything is the
same for every seed. Positions are metres east and north of the town's centre.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal

import numpy as np

from citywise.backend.city.simulated.faces import (
    Curve,
    Face,
    Node,
    Way,
    along,
    between,
    bridges,
    share_of,
    shares,
    ways,
)
from citywise.backend.city.simulated.town import RADIALS, Layout, Position, layout

Class = Literal[
    "primary", "secondary", "tertiary", "trunk", "residential", "unclassified", "living_street",
    "pedestrian", "cycleway", "path",
]  # fmt: skip

GATES_RING = 4
OLD_TOWN = -1
STREAM = 6
"""The sector (between two radials) that a stream runs through, with a cycle path along it."""
PARKS = {(0, 3): "Botanisk Have", (1, 8): "Søndervangsparken", (2, 2): "Skovbakken"}
"""By ring and sector: faces without streets, only paths."""
LANES = {(None, 1): "Rådhuspladsen", (None, 2): "Strøget", (8, 3): "Stationsgade"}
"""Names in the old town, by sector (or in all of them) and how far out."""
ONE_WAY = {(0, 1), (0, 4), (0, 8), (1, 5)}
"""Faces whose first two streets outwards are a one-way pair."""
GRID = {0: (3, 5), 1: (4, 6), 2: (5, 7), 3: (3, 4)}
"""Blocks across and outwards of the faces that begin at a ring; along the stream one more
across where that makes them even."""
SPEEDS = {OLD_TOWN: 30.0, 0: 30.0, 1: 35.0, 2: 40.0, 3: 50.0}
MISSING = {0: 0.12, 1: 0.22, 2: 0.38, 3: 0.35}
"""Share of the pieces that are not there."""
CLOSED = (0.05, 0.15, 0.45, 0.8)
"""Share of the streets that do not reach a ring, by ring."""

STEMS = (
    "Birke", "Bøge", "Ege", "Elme", "Ahorn", "Linde", "Pile", "Hassel", "Rønne", "Tjørne",
    "Lærke", "Solsort", "Mejse", "Drossel", "Svale", "Stære", "Vibe", "Ugle", "Falke", "Trane",
    "Kløver", "Rose", "Syren", "Valmue", "Jasmin", "Kornblomst", "Anemone", "Iris", "Lupin",
    "Timian", "Smede", "Bager", "Væver", "Garver", "Fisker", "Skipper", "Møller", "Snedker",
    "Guldsmede", "Skomager", "Kirke", "Skole", "Præste", "Munke", "Nonne", "Kloster", "Kilde",
    "Bakke", "Dal", "Eng", "Mose", "Hede", "Skrænt", "Klint", "Strand", "Kær", "Lund",
    "Vester", "Øster", "Nørre", "Sønder", "Ny", "Læsø", "Samsø", "Fanø", "Anholt",
    "Fyns", "Lollands", "Falsters", "Mols", "Thors", "Odins", "Freja", "Balders", "Heimdals",
)  # fmt: skip
ENDINGS = {
    OLD_TOWN: ("gyde", "stræde"),
    0: ("gade", "stræde"),
    1: ("vej", " Allé"),
    2: ("vænget", "toften", "vej"),
    3: ("markvej", "skovvej"),
}


@dataclass(frozen=True)
class Piece:
    """A street between two crossings, or a piece of one."""

    name: str
    highway: Class
    line: tuple[Position, ...]
    speed_kmh: float
    oneway: bool = False


@dataclass(frozen=True)
class MainPiece:
    """A piece of a measured road between two crossings; `road` is the index of its direction
    in `Layout.roads`, the next one is the other direction."""

    road: int
    line: tuple[Position, ...]


@dataclass(frozen=True)
class Streets:
    """Everything one can move on in the town."""

    layout: Layout
    main: tuple[MainPiece, ...]
    local: tuple[Piece, ...]


def streets() -> Streets:
    """The town's streets: the measured roads cut where local streets meet them, and these."""
    return _Filling(layout()).streets()


class _Filling:
    """Fills face after face, and notes where the measured roads are met."""

    def __init__(self, plan: Layout) -> None:
        self._plan = plan
        self._random = np.random.Generator(np.random.PCG64(11))
        self._local: list[Piece] = []
        self._cuts: dict[int, set[float]] = {n: set() for n in range(0, len(plan.roads), 2)}
        self._names = {ring: _names(endings) for ring, endings in ENDINGS.items()}

    def streets(self) -> Streets:
        for sector in range(0, len(RADIALS) - 1, 2):
            self._old_town(sector)
        for ring, sector in product(GRID, range(len(RADIALS) - 1)):
            self._face(ring, sector)
        self._harbour()
        main = [
            piece
            for road, cuts in self._cuts.items()
            for piece in _cut(road, self._plan.roads[road].line, sorted(cuts))
        ]
        return Streets(self._plan, tuple(main), tuple(self._local))

    def _face(self, ring: int, sector: int) -> None:
        """A grid of streets, some of whose pieces are missing."""
        face = self._patch(ring, sector)
        at = self._crossings(face)
        possible = ways(face, face.outwards if ring + 1 < GATES_RING else face.outwards - 1)
        there = [way for way in possible if self._is_there(face, way)]
        missing = [way for way in possible if way not in there]
        for way in there + bridges(face, there, missing):
            self._lay(face, way, at)

    def _patch(self, ring: int, sector: int) -> Face:
        arcs, spokes = self._plan.arcs, self._plan.spokes
        across, outwards = GRID[ring]
        across += sector == STREAM and across % 2
        first, second = (self._curve(spokes[ring, n]) for n in (sector, sector + 1))
        inner = self._curve(arcs[ring, sector])

        def outer(u: float) -> Position:
            if ring + 1 < GATES_RING:
                return along(self._plan.roads[arcs[ring + 1, sector]].line, u)
            return between(first(1), second(1), u)

        return Face(ring, sector, across, outwards, inner, outer, first, second)

    def _crossings(self, face: Face) -> dict[Node, Position]:
        """Where the crossings are: on the sides evenly, inside a little moved."""
        at = {}
        for c, r in product(range(face.across + 1), range(face.outwards + 1)):
            inside = 0 < c < face.across and 0 < r < face.outwards
            du, dv = self._random.uniform(-0.24, 0.24, 2) if inside else (0.0, 0.0)
            at[c, r] = face.at(share_of((c + du) / face.across), share_of((r + dv) / face.outwards))
        return at

    def _is_there(self, face: Face, way: Way) -> bool:
        (c, r), (c2, _) = way
        chance = float(self._random.random())
        if c == c2 and _is_kept(face, c):
            return True
        missing = MISSING[face.ring]
        if c == c2 and r == 0:
            missing = max(missing, CLOSED[face.ring])
        if c == c2 and r == face.outwards - 1 and face.ring + 1 < GATES_RING:
            missing = max(missing, CLOSED[face.ring + 1])
        return chance >= missing

    def _lay(self, face: Face, way: Way, at: dict[Node, Position]) -> None:
        """Make a street of two crossings, and cut the measured roads that it meets."""
        for node in way:
            self._meet(face, node)
        (c, r), (c2, _) = way
        park = PARKS.get((face.ring, face.sector))
        name = self._names[face.ring](face.sector, ("out", c) if c == c2 else ("across", r))
        line = self._bent(at[way[0]], at[way[1]])
        if face.sector == STREAM and c == c2 and 2 * c == face.across:
            self._local.append(Piece("Åstien", "cycleway", line, 15.0))
        elif park is not None:
            self._local.append(Piece(park, "path", line, 10.0))
        else:
            highway: Class = "residential" if face.ring < 3 else "unclassified"
            oneway = c == c2 and c in (1, 2) and (face.ring, face.sector) in ONE_WAY
            line = line[::-1] if oneway and c == 2 else line
            self._local.append(Piece(name, highway, line, SPEEDS[face.ring], oneway))

    def _meet(self, face: Face, node: Node) -> None:
        c, r = node
        arcs, spokes = self._plan.arcs, self._plan.spokes
        if c in (0, face.across):
            self._cut(spokes[face.ring, face.sector + (c == face.across)], r / face.outwards)
        elif r == 0:
            self._cut(arcs[face.ring, face.sector], c / face.across)
        elif r == face.outwards and face.ring + 1 < GATES_RING:
            self._cut(arcs[face.ring + 1, face.sector], c / face.across)

    def _old_town(self, sector: int) -> None:
        """Lanes between two radials and the inner ring: two of them one way, one for feet."""
        arcs = [self._plan.arcs[0, sector], self._plan.arcs[0, sector + 1]]
        spokes = [self._plan.spokes[OLD_TOWN, n] for n in (sector, sector + 2)]
        halves, sides = [self._curve(n) for n in arcs], [self._curve(n) for n in spokes]

        def outer(u: float) -> Position:
            return halves[0](share_of(2 * u)) if u <= 0.5 else halves[1](share_of(2 * u - 1))

        face = Face(OLD_TOWN, sector, 4, 4, lambda _: (0.0, 0.0), outer, *sides)
        at = self._crossings(face)
        for row, columns in ((1, (0, 2, 4)), (2, range(5)), (3, range(5))):
            name = LANES.get((sector, row)) or LANES.get((None, row))
            name = name or self._names[OLD_TOWN](sector, ("across", row))
            for c, c2 in pairwise(columns):
                self._lane(row, name, at[c, row], at[c2, row])
            for road in spokes:
                self._cut(road, row / 4)
        for column, first in ((1, 2), (2, 1), (3, 2)):
            name = self._names[OLD_TOWN](sector, ("out", column))
            for r, r2 in pairwise(range(first, 5)):
                line = (at[column, r], at[column, r2])
                self._local.append(Piece(name, "living_street", line, 15.0))
        self._cut(arcs[0], 0.5)
        self._cut(arcs[1], 0.5)

    def _lane(self, row: int, name: str, start: Position, end: Position) -> None:
        if row == 2:
            self._local.append(Piece(name, "pedestrian", (start, end), 5.0))
        else:
            line = (start, end) if row == 1 else (end, start)
            speed = SPEEDS[OLD_TOWN]
            self._local.append(Piece(name, "residential", line, speed, oneway=True))

    def _harbour(self) -> None:
        """Quays, a path along the coast to the north, and streets between the old town's walls
        and the harbour."""
        ring = self._plan.roads[self._plan.arcs[1, 0]].line[0]
        wall = self._plan.roads[self._plan.arcs[0, len(RADIALS) - 2]].line[-1]
        quay, north, south = (680.0, 20.0), (770.0, 640.0), (640.0, -430.0)
        last = len(self._plan.roads)
        upper, lower, middle = (self._halfway(road) for road in (last - 6, last - 4, last - 2))
        first, tenth = (self._halfway(self._plan.spokes[OLD_TOWN, n]) for n in (0, 10))
        square = (240.0, 135.0)
        for name, highway, line in (
            ("Købmagergade", "residential", (first, (150.0, 205.0), square)),
            ("Købmagergade", "residential", (square, (300.0, 70.0), middle)),
            ("Domkirkestræde", "residential", (upper, square)),
            ("Toldbodgade", "residential", (middle, (375.0, -120.0), lower)),
            ("Skibbrogade", "residential", (tenth, (190.0, -150.0), middle)),
            ("Nordkajen", "residential", (quay, (735.0, 200.0), (722.0, 385.0))),
            ("Nordkajen", "residential", ((722.0, 385.0), north)),
            ("Kystpromenaden", "cycleway", (north, (560.0, 930.0), ring)),
            ("Sydkajen", "residential", (quay, (700.0, -190.0), south)),
            ("Kajgade", "residential", (south, (330.0, -500.0), wall)),
        ):
            kind: Class = "cycleway" if highway == "cycleway" else "residential"
            self._local.append(Piece(name, kind, line, 15.0 if kind == "cycleway" else 30.0))

    def _halfway(self, road: int) -> Position:
        """The middle of a measured road, where it is cut."""
        self._cut(road, 0.5)
        return along(self._plan.roads[road].line, 0.5)

    def _curve(self, road: int) -> Curve:
        line = self._plan.roads[road].line
        return lambda share: along(line, share)

    def _cut(self, road: int, share: float) -> None:
        if 0 < share_of(share) < 1:
            self._cuts[road].add(share_of(share))

    def _bent(self, start: Position, end: Position) -> tuple[Position, ...]:
        """A line that is not quite straight."""
        bend = float(self._random.uniform(-0.07, 0.07))
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        across = (start[1] - end[1], end[0] - start[0])
        return start, (round(x + bend * across[0], 1), round(y + bend * across[1], 1)), end


def _is_kept(face: Face, column: int) -> bool:
    """Whether a street outwards has no gaps: it is one way, or the path along the stream."""
    if face.sector == STREAM and 2 * column == face.across:
        return True
    return column in (1, 2) and (face.ring, face.sector) in ONE_WAY


def _cut(road: int, line: tuple[Position, ...], cuts: list[float]) -> Iterator[MainPiece]:
    """The pieces of a road between its ends and its cuts, which are shares of its length."""
    whole = shares(line)
    for start, end in pairwise([0.0, *cuts, 1.0]):
        bends = [at for at, share in zip(line, whole, strict=True) if start < share < end]
        yield MainPiece(road, (along(line, start), *bends, along(line, end)))


def _names(endings: tuple[str, ...]) -> Callable[[int, tuple[str, int]], str]:
    """Names for the streets of a ring's faces, each once: the next one when first asked for."""
    given: dict[tuple[int, tuple[str, int]], str] = {}

    def name(sector: int, street: tuple[str, int]) -> str:
        number = len(given)
        if (sector, street) not in given:
            turn = (number + number // len(STEMS)) % len(endings)
            given[sector, street] = STEMS[number * 7 % len(STEMS)] + endings[turn]
        return given[sector, street]

    return name

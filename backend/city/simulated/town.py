"""The simulated town's map: ring roads and radials round a harbour, garages, stations.

The town is invented; it lies where Aarhus does so that maps and sunshine fit. It is the
same for every seed, so that places keep their ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import cos, hypot, radians, sin
from typing import Literal

import numpy as np

from citywise.backend.ingest.payloads import LineString, Place, Point, Price

CENTRE_LAT, CENTRE_LON = 56.15, 10.21
METRES_PER_DEGREE = 111_320.0
"""Part of how the town is laid out: its places are where this puts them."""

RADIALS = (
    "Nordkystvej",
    "Skovbakkevej",
    "Lyngdalsvej",
    "Møllehøjvej",
    "Kildevangsvej",
    "Vestermarksvej",
    "Engdalsvej",
    "Ådalsvej",
    "Højskolevej",
    "Søndervangsvej",
    "Strandengsvej",
)
RINGS = (
    # name, radius in metres, free flow in km/h, vehicles per 5 minutes at the peak
    ("Voldgade", 550.0, 45.0, 12.0),
    ("Ringgade", 1_250.0, 50.0, 16.0),
    ("Ringvejen", 2_300.0, 62.0, 20.0),
    ("Omfartsvejen", 3_900.0, 95.0, 24.0),
)
GATES = 5_600.0
"""Where the radials leave the town, metres from its centre."""

Flow = Literal["in", "out", "round"]
Position = tuple[float, float]


@dataclass(frozen=True)
class Road:
    """One direction of a street between two junctions, with what it carries at its peak
    (vehicles in 5 minutes), how close that is to what it can carry (`load`), and how many
    hours its rush comes after the town's."""

    id: str
    name: str
    line: tuple[Position, ...]
    ends: tuple[str, str]
    flow: Flow
    free_flow_kmh: float
    peak: float
    load: float
    shift_h: float

    @property
    def length_m(self) -> float:
        return sum(hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(self.line))


@dataclass(frozen=True)
class Garage:
    """A garage and the share of its places that is taken at the hours of a workday and
    of a day off: pairs (local hour, share). Who says no price or hours has them unknown."""

    id: str
    name: str
    at: Position
    capacity: int
    workday: tuple[tuple[float, float], ...]
    day_off: tuple[tuple[float, float], ...]
    price: Price | None = None
    opening_hours: str | None = None


@dataclass(frozen=True)
class Station:
    """A weather or air station."""

    id: str
    name: str
    at: Position


WEATHER = Station("vejr-1", "Havnemolen", (900.0, -150.0))
AIR = (
    Station("luft-1", "Rådhuspladsen", (0.0, 0.0)),
    Station("luft-2", "Ringgade vest", (-1_250.0, 60.0)),
    Station("luft-3", "Ringvejen nord", (-600.0, 2_200.0)),
    Station("luft-4", "Ringvejen syd", (-700.0, -2_150.0)),
    Station("luft-5", "Omfartsvejen", (-3_850.0, 300.0)),
)
GARAGES = (
    Garage(
        "voldhuset", "Voldhuset, Voldgade 12", (-430.0, 330.0), 160,
        ((0, 0.97), (5.9, 0.96), (7.2, 0.84), (9, 0.5), (15, 0.46), (18, 0.83), (21, 0.95)),
        ((0, 0.98), (8.5, 0.96), (11, 0.76), (15, 0.7), (19, 0.88), (22, 0.96)),
        Price(per_hour=14, day_most=110),
    ),
    Garage(
        "banegaarden", "Banegården, Stationsgade 3", (-180.0, -420.0), 420,
        ((0, 0.2), (5, 0.3), (6.5, 0.72), (7.3, 0.93), (8.5, 0.99), (15, 0.95), (18, 0.35)),
        ((0, 0.18), (9, 0.25), (14, 0.5), (18, 0.35)),
        Price(per_hour=22, day_most=180, free_minutes=15), "24/7",
    ),
    Garage(
        "raadhuset", "Rådhuset, Rådhuspladsen 1", (-90.0, 60.0), 300,
        ((0, 0.08), (6.5, 0.15), (8.4, 0.94), (12, 0.9), (13.5, 0.95), (16.5, 0.4), (19, 0.2)),
        ((0, 0.06), (11, 0.3), (15, 0.35), (19, 0.12)),
        Price(per_hour=28, day_most=220), "Mo-Sa 06:00-24:00; Su 08:00-22:00",
    ),
    Garage(
        "torvet", "Torvet, Købmagergade 8", (160.0, 180.0), 520,
        ((0, 0.1), (9, 0.25), (11.5, 0.75), (14, 0.86), (16.5, 0.94), (17.6, 0.8), (20, 0.3)),
        ((0, 0.12), (9.5, 0.3), (11.5, 0.95), (14, 0.99), (15.5, 0.85), (19, 0.3)),
        Price(per_hour=25, day_most=200), "Mo-Su 05:00-24:00",
    ),
    Garage(
        "sygehuset", "Sygehuset, Engdalsvej 40", (-1_900.0, -700.0), 640,
        ((0, 0.32), (6.5, 0.45), (7.5, 0.88), (9.5, 0.97), (14, 0.93), (15.7, 0.75), (19, 0.45)),
        ((0, 0.3), (8, 0.5), (14, 0.68), (19, 0.4)),
        Price(per_hour=12, day_most=100, free_minutes=30), "24/7",
    ),
    Garage(
        "havnen", "Havnen, Nordkajen 2", (720.0, 380.0), 240,
        ((0, 0.15), (8, 0.3), (12, 0.6), (17, 0.55), (19.5, 0.95), (21.5, 0.93), (23.2, 0.3)),
        ((0, 0.2), (10, 0.35), (13, 0.8), (16, 0.7), (19.5, 0.98), (22, 0.92), (23.5, 0.35)),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """The measured roads and where they lie: indices of `roads`, of the direction outwards
    or from the first radial to the last; the other direction is the next one."""

    roads: list[Road]
    arcs: dict[tuple[int, int], int]
    """By ring and the radial that an arc begins at."""
    spokes: dict[tuple[int, int], int]
    """By ring (-1: the town's centre) that a piece of a radial begins at, and the radial."""


def roads() -> list[Road]:
    """All directed roads of the town."""
    return layout().roads


def layout() -> Layout:
    """The measured roads with their places among rings and radials."""
    built = _Builder()
    return Layout(built.roads, built.arcs, built.spokes)


def places() -> list[Place]:
    """Everything sensors watch: roads, garages and stations."""
    stations = [_station(WEATHER, "weather_station"), *(_station(s, "air_station") for s in AIR)]
    return [*map(_road_place, roads()), *map(_garage_place, GARAGES), *stations]


def _road_place(road: Road) -> Place:
    return Place(
        id=road.id,
        kind="road",
        name=road.name,
        geometry=LineString(coordinates=[wgs84(point) for point in road.line]),
        sensors=("traffic",),
        length_m=round(road.length_m),
        free_flow_kmh=road.free_flow_kmh,
    )


def _garage_place(garage: Garage) -> Place:
    return Place(
        id=garage.id,
        kind="garage",
        name=garage.name,
        geometry=Point(coordinates=wgs84(garage.at)),
        sensors=("parking",),
        capacity=garage.capacity,
        price=garage.price,
        opening_hours=garage.opening_hours,
    )


def _station(station: Station, kind: Literal["weather_station", "air_station"]) -> Place:
    return Place(
        id=station.id,
        kind=kind,
        name=station.name,
        geometry=Point(coordinates=wgs84(station.at)),
        sensors=("weather",) if kind == "weather_station" else ("air",),
    )


def wgs84(point: Position) -> Position:
    """Longitude and latitude of a position in metres from the centre."""
    lat = CENTRE_LAT + point[1] / METRES_PER_DEGREE
    lon = CENTRE_LON + point[0] / (METRES_PER_DEGREE * cos(radians(CENTRE_LAT)))
    return round(lon, 6), round(lat, 6)


class _Builder:
    """Lays out junctions on rings west of the coast and joins them."""

    def __init__(self) -> None:
        self._random = np.random.Generator(np.random.PCG64(7))
        self.roads: list[Road] = []
        self.arcs: dict[tuple[int, int], int] = {}
        self.spokes: dict[tuple[int, int], int] = {}
        radii = [radius for _, radius, _, _ in RINGS] + [GATES]
        self._junctions = [[self._junction(r, n) for n in range(len(RADIALS))] for r in radii]
        self._rings()
        self._radials()
        self._harbour()

    def _junction(self, radius: float, radial: int) -> Position:
        wobble = self._random.uniform(-1, 1, 2)
        angle = radians(82 + 196 * radial / (len(RADIALS) - 1) + 3.0 * wobble[0])
        radius *= 1 + 0.05 * wobble[1]
        return radius * cos(angle), radius * sin(angle)

    def _rings(self) -> None:
        for ring, (name, _, speed, peak) in enumerate(RINGS):
            for n, (start, end) in enumerate(pairwise(self._junctions[ring])):
                ends = (RADIALS[n], RADIALS[n + 1])
                self.arcs[ring, n] = len(self.roads)
                self._street(name, ends, self._arc(start, end), ("round", "round"), speed, peak)

    def _radials(self) -> None:
        limits = ((50.0, 14.0), (55.0, 17.0), (65.0, 18.0), (80.0, 18.0))
        names = [name for name, *_ in RINGS] + ["bygrænsen"]
        for n, name in enumerate(RADIALS):
            if n % 2 == 0:
                inner = self._junctions[0][n]
                line = self._bent((0.0, 0.0), inner)
                self.spokes[-1, n] = len(self.roads)
                self._street(name, ("Rådhuspladsen", names[0]), line, ("out", "in"), 45.0, 11.0)
            for ring, (speed, peak) in enumerate(limits):
                line = self._bent(self._junctions[ring][n], self._junctions[ring + 1][n])
                ends = (names[ring], names[ring + 1])
                self.spokes[ring, n] = len(self.roads)
                self._street(name, ends, line, ("out", "in"), speed, peak)

    def _harbour(self) -> None:
        quay = (680.0, 20.0)
        first, last = self._junctions[0][0], self._junctions[0][-1]
        for start, label in ((first, RADIALS[0]), (last, RADIALS[-1]), ((0.0, 0.0), "Torvet")):
            line = self._bent(start, quay)
            self._street("Havnegade", (label, "Havnen"), line, ("round", "round"), 45.0, 12.0)

    def _arc(self, start: Position, end: Position) -> list[Position]:
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        grow = (hypot(*start) + hypot(*end)) / 2 / hypot(*middle)
        return [start, (middle[0] * grow, middle[1] * grow), end]

    def _bent(self, start: Position, end: Position) -> list[Position]:
        across = (start[1] - end[1], end[0] - start[0])
        bend = float(self._random.uniform(-0.08, 0.08))
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        return [start, (middle[0] + bend * across[0], middle[1] + bend * across[1]), end]

    def _street(
        self,
        name: str,
        ends: tuple[str, str],
        line: list[Position],
        flows: tuple[Flow, Flow],
        speed: float,
        peak: float,
    ) -> None:
        number = len(self.roads) // 2 + 1
        for way, letter in ((1, "a"), (-1, "b")):
            self.roads.append(
                Road(
                    id=f"S{number:03d}{letter}",
                    name=f"{name}: {' → '.join(ends[::way])}",
                    line=tuple(line[::way]),
                    ends=_keys(line[::way]),
                    flow=flows[0 if way == 1 else 1],
                    free_flow_kmh=speed,
                    peak=float(peak * self._random.uniform(0.7, 1.25)),
                    load=float(self._random.uniform(0.55, 1.3)),
                    shift_h=float(self._random.uniform(-0.9, 0.5)),
                )
            )


def _keys(line: list[Position]) -> tuple[str, str]:
    start, end = (f"{point[0]:.0f},{point[1]:.0f}" for point in (line[0], line[-1]))
    return start, end

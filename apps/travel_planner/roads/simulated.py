"""The simulated town as a road network, and its named points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import shapely
from shapely import LineString
from shapely.geometry.base import BaseGeometry

from citywise.apps.travel_planner.roads import streets as named
from citywise.apps.travel_planner.roads.basemap import Basemap, made
from citywise.apps.travel_planner.roads.building import NetworkBuilder, Position
from citywise.apps.travel_planner.roads.gazetteer import Entry, Gazetteer, garages
from citywise.apps.travel_planner.roads.network import EVERYBODY, F64, Mode, RoadNetwork
from citywise.backend.app import geometry
from citywise.backend.city.aarhus import utc_ms
from citywise.backend.city.simulated import land, town, venues
from citywise.backend.city.simulated.streets import MainPiece, Piece, Streets, streets
from citywise.backend.city.simulated.town import Road

SOURCE = "simulated town"
LICENCE = "invented by Citywise"
QUIET = Mode.BICYCLE.bit | Mode.WALK.bit
HOUSE_M = 30.0
"""Between two houses of a street."""
SET_BACK_M = 9.0
"""From the middle of a street to its houses."""
USERS = {
    "trunk": Mode.CAR.bit,
    "pedestrian": Mode.WALK.bit,
    "cycleway": QUIET,
    "path": QUIET,
}
"""Of the classes that not everybody may use."""
CLASSES = ((90.0, "trunk"), (60.0, "primary"), (50.0, "secondary"), (0.0, "tertiary"))
"""Of the measured roads, by their free flow in km/h."""


def network() -> RoadNetwork:
    """The road network of the simulated town; its sensors are the measured roads."""
    return _Town(streets()).build()


def gazetteer(network: RoadNetwork) -> Gazetteer:
    """The streets, junctions, garages, venues and quarters of the town, and what is on there."""
    at = {venue.id: venue for venue in venues.VENUES}
    return Gazetteer(
        [
            *named.entries(network),
            *_houses(network),
            *garages(place for place in town.places() if place.kind == "garage"),
            *(
                Entry(f"{v.kind}:{v.id}", v.name, v.kind, *town.wgs84(v.at), v.detail)
                for v in venues.VENUES
            ),
            *(
                Entry(f"quarter:{name}", name, "place", *town.wgs84(at))
                for name, at in land.QUARTERS
            ),
            *(
                Entry(
                    each.id,
                    each.name,
                    "event",
                    *town.wgs84(at[each.venue].at),
                    at[each.venue].name,
                    utc_ms(each.begins),
                )
                for each in venues.PROGRAMME
            ),
        ]
    )


def _houses(network: RoadNetwork) -> Iterator[Entry]:
    """A house every 30 m of each named street, odd numbers on the left, counted from where the
    street is nearest to the middle of the town."""
    scale = geometry.plane(float(network.lat[0]))
    middle = shapely.Point(np.array(town.wgs84((0.0, 0.0))) * scale)
    pieces: dict[str, list[LineString]] = defaultdict(list)
    for edge in np.flatnonzero((network.name >= 0) & (network.tail < network.head)).tolist():
        line = shapely.LineString(network.line(edge) * scale)
        pieces[network.names[network.name[edge]]].append(line)
    for street, lines in sorted(pieces.items()):
        spots = [spot for line in sorted(lines, key=middle.distance) for spot in _spots(line)]
        if named.BOTH in street:
            continue
        for number, (here, left) in enumerate(spots, start=1):
            off = SET_BACK_M if number % 2 else -SET_BACK_M
            lon, lat = ((here + off * left) / scale).round(6).tolist()
            yield Entry(f"house:{street} {number}", f"{street} {number}", "address", lon, lat)


def _spots(line: LineString) -> Iterator[tuple[F64, F64]]:
    """Points on a line in metres, a house apart, each with the direction to its left."""
    along = np.arange(HOUSE_M / 2, line.length - 1, HOUSE_M)
    here = shapely.get_coordinates(shapely.line_interpolate_point(line, along))
    ahead = shapely.get_coordinates(shapely.line_interpolate_point(line, along + 1))
    yield from zip(here, (ahead - here)[:, ::-1] * (-1.0, 1.0), strict=True)


def basemap() -> Basemap:
    """The sea and the river, the parks and the quarters of the town."""
    found: list[tuple[str, str | None, BaseGeometry]] = [
        (each.kind, each.name, shapely.Polygon([town.wgs84(at) for at in each.corners]))
        for each in land.PATCHES
    ]
    found.append(("river", "Åen", shapely.LineString([town.wgs84(at) for at in land.RIVER])))
    found += [("quarter", name, shapely.Point(town.wgs84(at))) for name, at in land.QUARTERS]
    return made(found)


class _Town:
    """Makes nodes of where streets meet, and edges of their pieces."""

    def __init__(self, streets: Streets) -> None:
        self._streets = streets
        self._builder = NetworkBuilder()
        self._nodes: dict[Position, int] = {}

    def build(self) -> RoadNetwork:
        for main in self._streets.main:
            self._main(main)
        for local in self._streets.local:
            self._local(local)
        return self._builder.build(SOURCE, LICENCE)

    def _main(self, piece: MainPiece) -> None:
        roads = self._streets.layout.roads
        there, back = roads[piece.road], roads[piece.road + 1]
        highway = _class(there)
        edges = self._builder.add_street(
            self._node(piece.line[0]),
            self._node(piece.line[-1]),
            via=[town.wgs84(at) for at in piece.line[1:-1]],
            modes=USERS.get(highway, EVERYBODY),
            highway=highway,
            name=there.name.partition(":")[0],
            speed_kmh=there.free_flow_kmh,
        )
        for road, edge in zip((there, back), edges, strict=True):
            if edge is not None:
                self._builder.sense(road.id, [edge])

    def _local(self, piece: Piece) -> None:
        modes = USERS.get(piece.highway, EVERYBODY)
        self._builder.add_street(
            self._node(piece.line[0]),
            self._node(piece.line[-1]),
            via=[town.wgs84(at) for at in piece.line[1:-1]],
            modes=modes,
            back=modes & Mode.WALK.bit if piece.oneway else None,
            highway=piece.highway,
            name=piece.name,
            speed_kmh=piece.speed_kmh,
        )

    def _node(self, at: Position) -> int:
        here = round(at[0], 1), round(at[1], 1)
        if here not in self._nodes:
            self._nodes[here] = self._builder.add_node(*town.wgs84(here))
        return self._nodes[here]


def _class(road: Road) -> str:
    return next(name for least, name in CLASSES if road.free_flow_kmh >= least)

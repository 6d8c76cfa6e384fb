"""The simulated town as a road network, and its named points."""

from __future__ import annotations

import shapely
from shapely.geometry.base import BaseGeometry

from citywise.apps.travel_planner.roads import streets as named
from citywise.apps.travel_planner.roads.basemap import Basemap, made
from citywise.apps.travel_planner.roads.building import NetworkBuilder, Position
from citywise.apps.travel_planner.roads.gazetteer import Entry, Gazetteer, garages
from citywise.apps.travel_planner.roads.network import EVERYBODY, Mode, RoadNetwork
from citywise.backend.city.aarhus import utc_ms
from citywise.backend.city.simulated import land, town, venues
from citywise.backend.city.simulated.streets import MainPiece, Piece, Streets, streets
from citywise.backend.city.simulated.town import Road

SOURCE = "simulated town"
LICENCE = "invented by Citywise"
QUIET = Mode.BICYCLE.bit | Mode.WALK.bit
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
    """The streets, junctions, garages and venues of the town, and what is on there."""
    at = {venue.id: venue for venue in venues.VENUES}
    return Gazetteer(
        [
            *named.entries(network),
            *garages(town.places()),
            *(
                Entry(f"{v.kind}:{v.id}", v.name, v.kind, *town.wgs84(v.at), v.detail)
                for v in venues.VENUES
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

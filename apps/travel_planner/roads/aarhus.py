"""The Aarhus pack as a road network: the mapped centre, and the segment graph around it.

What is assumed where the data are silent is in docs/city.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa

from citywise.apps.travel_planner.roads import culture, segments, streets
from citywise.apps.travel_planner.roads.building import NetworkBuilder, Position
from citywise.apps.travel_planner.roads.gazetteer import Gazetteer, folded, garages
from citywise.apps.travel_planner.roads.names import Names, stop_entries, stopped_at
from citywise.apps.travel_planner.roads.network import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.segments import Matcher, Segment
from citywise.backend.city.aarhus import RESTORE, Pack, PackError, read_csv

EDGES, NODES = "aarhus_osm_edges.csv.gz", "aarhus_osm_nodes.csv.gz"
SOURCE = "Aarhus data pack"
LICENCE = "© OpenStreetMap contributors, ODbL 1.0; Open Data Aarhus"

EDGE_COLUMNS = {
    "u": pa.int64(),
    "v": pa.int64(),
    "osm_way_id": pa.int64(),
    "highway": pa.string(),
    "oneway": pa.int64(),
    "length_m": pa.float64(),
    "drive": pa.int64(),
    "walk": pa.int64(),
    "geometry_wkt": pa.string(),
}
NODE_COLUMNS = {
    "node_id": pa.int64(),
    "lon": pa.float64(),
    "lat": pa.float64(),
    "in_main_drive": pa.int64(),
}
STOP_COLUMNS = {"Long name": pa.string(), "lon": pa.float64(), "lat": pa.float64()}
NOT_BY_BICYCLE = frozenset(
    ("motorway", "motorway_link", "trunk", "trunk_link", "steps", "footway", "pedestrian")
)
JOIN_KMH = 40.0
FAST_KMH = 70.0
"""Outside the centre nobody walks or cycles along a road that is faster."""


def network(pack: Path) -> RoadNetwork:
    """The road network of the pack in a folder; raises `PackError`.

    Without the files of the mapped centre it is the graph of the measured segments alone.
    """
    return _Aarhus(pack).build()


def street_files(pack: Path) -> tuple[Path, Path]:
    """The files of the mapped centre: its edges and its nodes."""
    folder = pack / "road_network"
    if not folder.is_dir():
        folder = pack.parent / "road_network"
    return folder / EDGES, folder / NODES


def files(pack: Path) -> list[Path]:
    """The files of the pack that a city is made of, as far as they are there."""
    folder = Pack(pack).folder
    streets_folder = street_files(pack)[0].parent
    wanted = [*street_files(pack), *streets_folder.glob("midttrafik_bus_stops_*")]
    wanted += [folder / "traffic_metadata.csv", folder / "parking_metadata.csv"]
    wanted += [folder / culture.EVENTS, folder / culture.LIBRARIES]
    return [path for path in wanted if path.is_file()]


class _Aarhus:
    """Puts the two graphs together: the streets of the centre, and what lies around."""

    def __init__(self, pack: Path) -> None:
        self._files = street_files(pack)
        self._segments = segments.read(Pack(pack).folder)
        self._junctions = segments.junctions(self._segments)
        self._builder = NetworkBuilder()
        self._way: dict[int, int] = {}
        """OpenStreetMap's way of each edge."""
        self._joints: list[int] = []
        """Nodes of the centre from which one can drive everywhere in it."""

    def build(self) -> RoadNetwork:
        if all(path.is_file() for path in self._files):
            self._centre()
        inside = self._inside()
        around = [each for each in self._segments if not inside.issuperset(each.ends)]
        self._around(around, inside)
        self._sense([each for each in self._segments if inside.issuperset(each.ends)])
        return self._builder.build(SOURCE, LICENCE)

    def _centre(self) -> None:
        edges, nodes = self._files
        index = {}
        for row in read_csv(nodes, NODE_COLUMNS).to_pylist():
            index[row["node_id"]] = node = self._builder.add_node(row["lon"], row["lat"])
            if row["in_main_drive"]:
                self._joints.append(node)
        for number, row in enumerate(read_csv(edges, EDGE_COLUMNS).to_pylist(), 2):
            try:
                self._street(index[row["u"]], index[row["v"]], _line(row["geometry_wkt"]), row)
            except KeyError as error:
                found = f"node {error} is not in {nodes.name}"
                raise PackError(f"{edges}: row {number}: {found}; {RESTORE}") from error
            except ValueError as error:
                raise PackError(f"{edges}: row {number}: {error}; {RESTORE}") from error

    def _street(self, tail: int, head: int, line: list[Position], row: Mapping[str, Any]) -> None:
        there, back = _modes(row)
        made = self._builder.add_street(
            tail,
            head,
            via=line[1:-1],
            modes=there,
            back=back,
            highway=row["highway"],
            length_m=row["length_m"],
        )
        self._way |= {edge: row["osm_way_id"] for edge in made if edge is not None}

    def _inside(self) -> set[str]:
        """The junctions that lie where streets are mapped."""
        if not self._joints:
            return set()
        at = np.array([self._builder.at(node) for node in self._joints])
        (west, south), (east, north) = at.min(axis=0), at.max(axis=0)
        return {
            name
            for name, (lon, lat) in self._junctions.items()
            if west <= lon <= east and south <= lat <= north
        }

    def _around(self, leaving: Sequence[Segment], inside: set[str]) -> None:
        """The segments that leave the mapped centre, or never enter it."""
        names = sorted({name for each in leaving for name in each.ends})
        node = {name: self._builder.add_node(*self._junctions[name]) for name in names}
        for name in sorted(inside.intersection(names)):
            self._join(node[name])
        for each in leaving:
            slow = each.free_flow_kmh <= FAST_KMH and not each.is_motorway
            quiet = Mode.BICYCLE.bit | Mode.WALK.bit if slow else 0
            there, _ = self._builder.add_street(
                node[each.ends[0]],
                node[each.ends[1]],
                modes=Mode.CAR.bit | quiet,
                back=0,  # the other direction is a segment of its own
                highway="primary" if slow else "trunk",
                name=each.street or streets.BOTH.join(filter(None, each.streets)),
                speed_kmh=each.free_flow_kmh,
                length_m=each.length_m,
                outside=True,
            )
            if there is not None:
                self._builder.sense(each.id, [there])

    def _join(self, node: int) -> None:
        """Let a junction of the segment graph be one with the nearest node of the centre."""
        at = np.array([self._builder.at(joint) for joint in self._joints])
        lon, lat = self._builder.at(node)
        away = np.hypot((at[:, 0] - lon) * np.cos(np.radians(lat)), at[:, 1] - lat)
        nearest = self._joints[int(away.argmin())]
        self._builder.add_street(node, nearest, highway="road", speed_kmh=JOIN_KMH, outside=True)

    def _sense(self, within: Sequence[Segment]) -> None:
        """Let the segments of the centre tell of the streets that they run on: how fast they
        are, and what they are called."""
        draft = self._builder.build(SOURCE, LICENCE)
        matcher, names = Matcher(draft), Names(draft, self._way)
        speeds: dict[int, list[float]] = defaultdict(list)
        for each in within:
            start, end = (self._junctions[name] for name in each.ends)
            if path := matcher.path(each, start, end):
                self._builder.sense(each.id, path)
                names.along(each, path)
                for edge in path:
                    speeds[edge].append(each.free_flow_kmh)
        names.stops(stops(self._files[0].parent))
        for edge, measured in speeds.items():
            self._builder.revise(edge, speed_kmh=fmean(measured))
        for edge, name in names.decided():
            self._builder.revise(edge, name=name)


def gazetteer(pack: Path, network: RoadNetwork) -> Gazetteer:
    """The named points of the pack: streets, junctions, garages, stops, halls, libraries and
    cultural events; raises `PackError`."""
    source = Pack(pack)
    named = stops(street_files(pack)[0].parent)
    found = streets.entries(network)
    known = {tuple(folded(entry.name)) for entry in found}
    return Gazetteer(
        [
            *found,
            *(entry for entry in stopped_at(named) if tuple(folded(entry.name)) not in known),
            *garages(place for place in source.places() if place.kind == "garage"),
            *stop_entries(named),
            *culture.venues(source.folder),
            *culture.events(source.folder),
        ]
    )


def stops(folder: Path) -> list[tuple[str, Position]]:
    """Name and position of the bus stops of the pack; none where there is no such file."""
    found = []
    for path in sorted(folder.glob("midttrafik_bus_stops_*.csv*")):
        rows = read_csv(path, STOP_COLUMNS).to_pylist()
        found += [(row["Long name"], (row["lon"], row["lat"])) for row in rows if row["Long name"]]
    return found


def _modes(row: Mapping[str, Any]) -> tuple[int, int]:
    """Who may use a street in its direction, and back."""
    highway = row["highway"]
    walk = Mode.WALK.bit if row["walk"] else 0
    wheels = Mode.CAR.bit if row["drive"] else 0
    if highway not in NOT_BY_BICYCLE:
        wheels |= Mode.BICYCLE.bit
    return walk | wheels, walk | (0 if row["oneway"] else wheels)


def _line(wkt: str) -> list[Position]:
    """The points of `LINESTRING(lon lat,…)`; raises ValueError."""
    text = wkt.removeprefix("LINESTRING(").removesuffix(")")
    points = [tuple(map(float, pair.split())) for pair in text.split(",")]
    if any(len(point) != 2 for point in points) or len(points) < 2:
        raise ValueError(f"not a LINESTRING of at least two points: {wkt[:60]}")
    return [(lon, lat) for lon, lat in points]

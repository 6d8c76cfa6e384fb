"""A road network and named points from a file of OpenStreetMap (`.osm`, `.osm.bz2`, `.pbf`).

Read by pyosmium. Tags are understood as OpenStreetMap's wiki has them for Denmark
(<https://wiki.openstreetmap.org/wiki/OSM_tags_for_routing>); what is left out is in docs/city.md.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import osmium
from osmium.osm import Node, Way
from shapely.geometry import shape
from shapely.geometry.base import BaseGeometry

from citywise.apps.travel_planner.roads import basemap, streets
from citywise.apps.travel_planner.roads.building import NetworkBuilder, Position
from citywise.apps.travel_planner.roads.cityfiles import City
from citywise.apps.travel_planner.roads.gazetteer import Entry, Gazetteer, Kind
from citywise.apps.travel_planner.roads.network import NetworkError, RoadNetwork
from citywise.apps.travel_planner.roads.tags import Rules, speed

LICENCE = "© OpenStreetMap contributors, ODbL 1.0"
KEYS = (
    "highway", "amenity", "shop", "tourism", "leisure", "place", "public_transport", "railway",
    "office", "addr:housenumber",
)  # fmt: skip
"""Objects with none of these tell us nothing."""
VENUES = frozenset(
    ("arts_centre", "cinema", "community_centre", "conference_centre", "concert_hall", "library",
     "events_venue", "museum", "gallery", "stadium", "theatre", "theme_park", "zoo")
)  # fmt: skip
STOPS = frozenset(("bus_stop", "tram_stop", "station", "halt", "platform", "stop_position"))
SAY_EVERY_S = 2.0
_NUMBERS = re.compile("[;,]")
"""Between the numbers of a house that has several."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Street:
    """A way that somebody may use: its nodes, where they are, and its tags."""

    nodes: list[int]
    line: list[Position]
    tags: Mapping[str, str]


def city(path: Path, say: Say = lambda _: None) -> City:
    """The city in a file; `say` is told how far it is. Raises `NetworkError`."""
    reader = _Reader(path, say)
    reader.read()
    say(f"{path}: {len(reader.streets)} streets; cutting them where they meet")
    network = _network(reader.streets, f"OpenStreetMap ({path.name})")
    if not network.edges:
        raise NetworkError(
            f"{path}: no streets in it ({reader.seen} objects read); expected an extract of "
            "OpenStreetMap with `highway` ways and the coordinates of their nodes"
        )
    say(f"{path}: reading water, green, rails and quarters for the map")
    ground = _basemap(path)
    found = f"{len(reader.points)} named places, {len(reader.houses)} house numbers"
    say(f"{path}: {network.edges} directed edges, {found}")
    named = [*streets.entries(network), *reader.points, *reader.houses.values()]
    return City(network, Gazetteer(named), ground)


def _basemap(path: Path) -> basemap.Basemap:
    """What the map shows below the streets. Areas of several ways are put together; the sea is
    not: its coast has no inside in the data."""
    useful = osmium.filter.KeyFilter(*basemap.KEYS)
    shapes = osmium.filter.GeoInterfaceFilter()
    objects = osmium.FileProcessor(str(path)).with_areas(useful).with_filter(useful)
    return basemap.made(_ground(objects.with_filter(shapes)))


def _ground(objects: Iterable[Any]) -> Iterator[tuple[str, str | None, BaseGeometry]]:
    wanted = {"Polygon": basemap.AREAS, "MultiPolygon": basemap.AREAS, "LineString": basemap.LINES}
    for found in objects:
        kind = basemap.kind_of({tag.k: tag.v for tag in found.tags})
        if not hasattr(found, "__geo_interface__"):
            continue  # Its ways enclose nothing.
        geometry = found.__geo_interface__["geometry"]
        name = found.tags.get("name")
        if kind in wanted.get(geometry["type"], basemap.NAMED if name else ()):
            yield str(kind), name, shape(geometry)


class _Reader:
    """Takes streets and named points out of a file."""

    def __init__(self, path: Path, say: Say) -> None:
        self._path, self._say, self._told = path, say, time.monotonic()
        self.seen = 0
        self.streets: list[_Street] = []
        self.points: list[Entry] = []
        self.houses: dict[tuple[str, float, float], Entry] = {}
        """Addresses, each once: a house and the shops in it often say the same."""

    def read(self) -> None:
        """Read the file once; raises `NetworkError`."""
        size = self._path.stat().st_size / 1e6
        self._say(f"{self._path}: reading {size:.1f} MB")
        try:
            useful = osmium.filter.KeyFilter(*KEYS)
            for found in osmium.FileProcessor(str(self._path)).with_locations().with_filter(useful):
                if isinstance(found, Node | Way):
                    self._object(found)
        except (RuntimeError, ValueError) as error:
            raise NetworkError(
                f"{self._path}: not readable as OpenStreetMap data after {self.seen} objects: "
                f"{error}; expected a whole .osm, .osm.bz2 or .osm.pbf file"
            ) from error

    def _object(self, found: Node | Way) -> None:
        self.seen += 1
        if self.seen % 1000 == 0 and time.monotonic() - self._told > SAY_EVERY_S:
            self._told = time.monotonic()
            self._say(f"{self._path}: {self.seen} objects, {len(self.streets)} streets")
        tags = {tag.k: tag.v for tag in found.tags}
        if isinstance(found, Way):
            nodes = [node for node in found.nodes if node.location.valid()]
            at = [(round(node.lon, 7), round(node.lat, 7)) for node in nodes]
            if Rules(tags).anybody and len(at) > 1:
                self.streets.append(_Street([node.ref for node in nodes], at, tags))
            self._point(f"osm:w{found.id}", tags, at)
        elif found.location.valid():
            self._point(f"osm:n{found.id}", tags, [(found.lon, found.lat)])

    def _point(self, identity: str, tags: Mapping[str, str], at: list[Position]) -> None:
        kind, name = _kind(tags), tags.get("name")
        street, numbers = tags.get("addr:street", ""), tags.get("addr:housenumber", "")
        if not at or not ((kind and name) or (street and numbers)):
            return
        lon, lat = (round(fmean(values), 6) for values in zip(*at, strict=True))
        for each in filter(None, map(str.strip, _NUMBERS.split(numbers if street else ""))):
            house = f"{street} {each}"
            address = Entry(f"{identity}:{each}", house, "address", lon, lat, _town(tags))
            self.houses.setdefault((house, round(lon, 3), round(lat, 3)), address)
        if kind is None or name is None:
            return
        number = f"{street} {numbers}".strip()
        self.points.append(Entry(identity, name, kind, lon, lat, number))


def _town(tags: Mapping[str, str]) -> str:
    return f"{tags.get('addr:postcode', '')} {tags.get('addr:city', '')}".strip()


def _kind(tags: Mapping[str, str]) -> Kind | None:
    """What kind of named point an object is, if it is one."""
    if tags.get("amenity") == "parking":
        return "garage"
    if STOPS.intersection(tags.get(key) for key in ("highway", "public_transport", "railway")):
        return "stop"
    if VENUES.intersection(tags.get(key) for key in ("amenity", "tourism", "leisure")):
        return "venue"
    if any(key in tags for key in ("amenity", "shop", "tourism", "leisure", "place", "office")):
        return "place"
    return None


def _network(ways: list[_Street], source: str) -> RoadNetwork:
    """The streets, cut where they meet."""
    builder, nodes = NetworkBuilder(), dict[int, int]()
    uses = Counter(node for way in ways for node in way.nodes)
    for way in ways:
        rules = Rules(way.tags)
        for first, last in _pieces(way, uses):
            for index in (first, last):
                if way.nodes[index] not in nodes:
                    nodes[way.nodes[index]] = builder.add_node(*way.line[index])
            builder.add_street(
                nodes[way.nodes[first]],
                nodes[way.nodes[last]],
                via=way.line[first + 1 : last],
                modes=rules.there,
                back=rules.back,
                highway=way.tags["highway"],
                name=way.tags.get("name") or way.tags.get("ref"),
                speed_kmh=speed(way.tags),
            )
    return builder.build(source, LICENCE)


def _pieces(way: _Street, uses: Counter[int]) -> Iterator[tuple[int, int]]:
    """The pieces of a way between its ends and the nodes that it shares; of a ring, two."""
    last = len(way.nodes) - 1
    cuts = [0, *(n for n in range(1, last) if uses[way.nodes[n]] > 1), last]
    if len(cuts) == 2 and way.nodes[0] == way.nodes[last]:
        cuts.insert(1, last // 2)
    yield from ((a, b) for a, b in pairwise(cuts) if way.nodes[a] != way.nodes[b])

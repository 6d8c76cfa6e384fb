"""A plan as one file: a map that folium makes, with Leaflet, styles and streets within.

Nothing in it asks any host for anything, so that it opens from a disk, years later, alike.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import cos, radians
from typing import Any

import folium
import numpy as np
from branca.element import Figure
from folium.template import Template

from citywise.apps.travel_planner.roads.network import RoadNetwork
from citywise.backend.machine import REPOSITORY

LIBRARY = REPOSITORY / "node_modules" / "leaflet" / "dist"
COLOURS = ("#0f5f57", "#b4460f", "#3f51b5", "#8a5a00", "#86145c", "#35617c", "#4d6b1f", "#6b4c9a")
"""Of routes and garages in their order; each also has a number and a dash of its own."""
DASHES = (None, "10 7", "2 8", "14 6 2 6")
MARGIN = 0.12
"""Of the plan's own extent, around it."""
LEAST_DEGREES = 0.004
MOST_POINTS = 20_000
"""Of streets behind a plan; the smallest classes are left out where there are more."""
CLASSES = (
    *("motorway", "trunk", "primary", "secondary", "tertiary", "unclassified", "residential"),
    *("living_street", "pedestrian", "service", "cycleway", "footway", "path", "steps"),
)
"""Road classes, the widest first; what is none of these comes last."""
NONE: list[tuple[str, str]] = []
"""Libraries that a map would load from elsewhere."""
Corner = tuple[float, float]
Line = list[Corner]


class PlainMap(folium.Map):
    """A map whose libraries stand in the same file."""

    default_js = NONE
    default_css = NONE


class Said(folium.MacroElement):
    """The words that open where somebody presses a shape; they are escaped already."""

    _template = Template(
        """
        {% macro script(this, kwargs) %}
            {{ this._parent.get_name() }}.bindPopup({{ this.html|tojson }});
        {% endmacro %}
        """
    )

    def __init__(self, html: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._name = "Said"
        self.html = html


@dataclass(frozen=True)
class Shape:
    """One route or garage as it is drawn: `lines` and `point` in (lat, lon)."""

    html: str
    lines: Sequence[Line]
    point: Corner | None = None
    chosen: bool = False


@dataclass(frozen=True)
class MapFile:
    """What a page needs to hold such a map: libraries, an element and its script."""

    library_css: str
    library_js: str
    html: str
    script: str


def drawn(shapes: Sequence[Shape], ends: Sequence[Corner], network: RoadNetwork | None) -> MapFile:
    """The map of `shapes`, the chosen one on top, over the streets of their surroundings.

    `ends` are where one goes from and to, in (lat, lon).
    """
    bounds = _bounds([*ends, *(point for shape in shapes for point in _points(shape))])
    city = PlainMap(tiles=None, control_scale=True, prefer_canvas=True, zoom_snap=0.25)
    city._id = "plan"
    city.options.update(attribution_control=False, min_zoom=9, max_zoom=19)
    if network is not None:
        _add_streets(city, network, _square(bounds))
    for number, shape in sorted(enumerate(shapes), key=lambda pair: pair[1].chosen):
        _add(city, shape, number)
    for end in ends:
        _dot(end, "#17211f", 6).add_to(city)
    city.fit_bounds(bounds)
    return _rendered(city)


def colour(number: int) -> str:
    """The colour of a route or garage by its place in the answer, from 0."""
    return COLOURS[number % len(COLOURS)]


def positions(geometry: Mapping[str, Any] | None) -> Line:
    """A GeoJSON line in (lat, lon); empty where there is none."""
    return [(lat, lon) for lon, lat in geometry["coordinates"]] if geometry else []


def _points(shape: Shape) -> Iterator[Corner]:
    if shape.point is not None:
        yield shape.point
    for line in shape.lines:
        yield from line


def _bounds(points: Sequence[Corner]) -> tuple[Corner, Corner]:
    array = np.array(points)
    low, high = array.min(axis=0), array.max(axis=0)
    around = np.maximum((high - low) * MARGIN, LEAST_DEGREES)
    (south, west), (north, east) = (low - around).tolist(), (high + around).tolist()
    return (south, west), (north, east)


def _square(bounds: tuple[Corner, Corner]) -> tuple[Corner, Corner]:
    """As far in both directions: windows are wide or high, and plans are too."""
    (south, west), (north, east) = bounds
    narrower = cos(radians((south + north) / 2))
    half = max(north - south, (east - west) * narrower) / 2
    lat, lon = (south + north) / 2, (west + east) / 2
    return (lat - half, lon - half / narrower), (lat + half, lon + half / narrower)


def _add(city: PlainMap, shape: Shape, number: int) -> None:
    """A casing below each line, so that it stands out from the streets."""
    dash = None if shape.chosen else DASHES[number % len(DASHES)]
    for line in shape.lines:
        _line(line, color="#ffffff", weight=9, opacity=0.9).add_to(city)
        weight = 6 if shape.chosen else 4
        stroke = _line(line, color=colour(number), weight=weight, opacity=1, dash_array=dash)
        Said(shape.html).add_to(stroke)
        stroke.add_to(city)
    if shape.point is not None:
        dot = _dot(shape.point, colour(number), 11 if shape.chosen else 8)
        Said(shape.html).add_to(dot)
        dot.add_to(city)


def _dot(at: Corner, fill: str, radius: int) -> folium.CircleMarker:
    return folium.CircleMarker(
        at, radius=radius, color="#ffffff", weight=2, fill_color=fill, fill_opacity=1
    )


def _add_streets(city: PlainMap, network: RoadNetwork, bounds: tuple[Corner, Corner]) -> None:
    lines = list(streets(network, bounds))
    if lines:
        _line(lines, color="#c3ccc7", weight=2, interactive=False).add_to(city)


def _line(points: Line | Sequence[Line], **how: Any) -> folium.PolyLine:
    return folium.PolyLine(points, **how)  # type: ignore[no-untyped-call]


def streets(network: RoadNetwork, bounds: tuple[Corner, Corner]) -> Iterator[Line]:
    """The streets that begin within `bounds`, each direction once, the widest first."""
    (south, west), (north, east) = bounds
    lon, lat = network.lon[network.tail], network.lat[network.tail]
    inside = (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
    rank = np.array([_rank(name) for name in network.highways])[network.highway]
    edges = np.flatnonzero(inside)
    left, seen = MOST_POINTS, set()
    for edge in edges[np.argsort(rank[edges], kind="stable")].tolist():
        tail, head = int(network.tail[edge]), int(network.head[edge])
        ends = (min(tail, head), max(tail, head), round(float(network.length_m[edge])))
        line = network.line(edge)
        if ends in seen:
            continue
        if (left := left - len(line)) < 0:
            return
        seen.add(ends)
        yield [(round(float(y), 5), round(float(x), 5)) for x, y in line]


def _rank(name: str) -> int:
    name = name.removesuffix("_link")
    return CLASSES.index(name) if name in CLASSES else len(CLASSES)


def _rendered(city: PlainMap) -> MapFile:
    figure = city.get_root()
    assert isinstance(figure, Figure)
    figure.render()
    css, script = library()
    return MapFile(css, script, figure.html.render(), figure.script.render())


@lru_cache(maxsize=1)
def library() -> tuple[str, str]:
    """Leaflet's style, its images within, and its script, as npm installed them."""
    css = (LIBRARY / "leaflet.css").read_text(encoding="utf-8")
    script = (LIBRARY / "leaflet.js").read_text(encoding="utf-8")
    script = re.sub(r"//# sourceMappingURL=.*", "", script)
    return re.sub(r"url\((images/[\w.-]+)\)", _embedded, css), script


def _embedded(found: re.Match[str]) -> str:
    data = base64.b64encode((LIBRARY / found[1]).read_bytes()).decode()
    return f"url(data:image/png;base64,{data})"

"""The map, built by folium with our own assets; our modules add the live layers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import folium
from branca.element import Figure
from folium.map import FitBounds
from folium.plugins import MarkerCluster
from folium.template import Template
from sqlalchemy import Engine

from citywise.backend.api.pages import CLUSTER, LEAFLET
from citywise.backend.kinds import Kinds
from citywise.backend.layers.taking import bounds
from citywise.backend.settings import Web

AARHUS = ((56.10, 10.08), (56.23, 10.28))
MAP_JS = [("leaflet", LEAFLET + "leaflet.js")]
MAP_CSS = [("leaflet_css", LEAFLET + "leaflet.css")]
CLUSTER_JS = [("markerclusterjs", CLUSTER + "leaflet.markercluster.js")]
CLUSTER_CSS = [("markerclustercss", CLUSTER + "MarkerCluster.css")]
Bounds = tuple[tuple[float, float], tuple[float, float]]


class CityMap(folium.Map):
    """A map that loads Leaflet from our own host, and nothing else."""

    default_js = MAP_JS
    default_css = MAP_CSS


class EventCluster(MarkerCluster):
    """The layer of event markers; empty until our modules fill it."""

    default_js = CLUSTER_JS
    default_css = CLUSTER_CSS


class Handover(folium.MacroElement):
    """Gives the finished map and its event layer to our modules."""

    _template = Template(
        """
        {% macro script(this, kwargs) %}
            document.getElementById({{ this.map.get_name()|tojson }}).cityMap = {
                map: {{ this.map.get_name() }}, events: {{ this.events.get_name() }}
            };
        {% endmacro %}
        """
    )

    def __init__(self, city: CityMap, events: EventCluster) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._name = "Handover"
        self.map = city
        self.events = events


@dataclass(frozen=True)
class MapParts:
    """What a page needs to hold the map: addresses, an element, and its inline scripts, one for
    each part of the map, so that a slow phone may draw between two of them."""

    scripts: list[str]
    styles: list[str]
    html: str
    inline: list[str]


def bounds_of(engine: Engine, kinds: Kinds) -> Bounds:
    """South-west and north-east corner of all places but those of layers; Aarhus while there are
    none."""
    with engine.connect() as connection:
        found = bounds(connection, kinds.layers)
    if found is None:
        return AARHUS
    west, south, east, north = found
    return (south, west), (north, east)


@lru_cache(maxsize=4)
def build(bounds: Bounds, web: Web) -> MapParts:
    """Build the map over `bounds`; tiles only if the settings name a server."""
    (south, west), (north, east) = bounds
    city = CityMap(
        location=((south + north) / 2, (west + east) / 2),
        zoom_start=12,
        tiles=web.tiles,
        attr=web.tiles_attribution if web.tiles else None,
        control_scale=True,
        zoom_control="bottomright",
        zoom_snap=0.5,
        attribution_control=True,
    )
    # folium gives these to a tile layer only, and without tiles there is none.
    city.options.update(min_zoom=9, max_zoom=18)
    city._id = "city"
    events = EventCluster(  # type: ignore[no-untyped-call]
        name="events",
        control=False,
        show_coverage_on_hover=False,
        max_cluster_radius=36,
        spiderfy_on_max_zoom=True,
    )
    events._id = "events"
    events.add_to(city)
    whole = FitBounds(bounds, padding=(12, 12))
    # An animation that ends later would take back what the page has shown meanwhile.
    whole.options["animate"] = False
    whole.add_to(city)
    Handover(city, events).add_to(city)
    figure = city.get_root()
    assert isinstance(figure, Figure)
    figure.render()
    links = list(figure.header._children.values())
    return MapParts(
        scripts=[link.url for link in links if isinstance(link, folium.JavascriptLink)],
        styles=[link.url for link in links if isinstance(link, folium.CssLink)],
        html=figure.html.render(),
        inline=[part.render() for part in figure.script._children.values()],
    )

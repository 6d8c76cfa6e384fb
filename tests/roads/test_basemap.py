"""What the map shows below the streets."""

from __future__ import annotations

from pathlib import Path

import pytest
import shapely
from flask.testing import FlaskClient

from citywise.apps.travel_planner.roads import osm, simulated
from citywise.apps.travel_planner.roads.basemap import KINDS, Basemap, kind_of, made
from citywise.apps.travel_planner.roads.cityfiles import BASEMAP, NETWORK, City
from citywise.apps.travel_planner.roads.network import NetworkError
from citywise.backend.settings import Settings
from tests.api.conftest import app as app
from tests.api.conftest import client as client
from tests.api.conftest import engine as engine
from tests.api.conftest import settings as settings
from tests.api.conftest import town as town

OSM = """<osm version="0.6">
{nodes}
<way id="1"><nd ref="1"/><nd ref="2"/><tag k="highway" v="residential"/></way>
<way id="2"><nd ref="1"/><nd ref="2"/><nd ref="3"/><nd ref="4"/><nd ref="1"/>
 <tag k="leisure" v="park"/><tag k="name" v="The Park"/></way>
<way id="3"><nd ref="1"/><nd ref="2"/><nd ref="3"/></way>
<way id="4"><nd ref="3"/><nd ref="4"/><nd ref="1"/></way>
<way id="5"><nd ref="4"/><nd ref="2"/><tag k="waterway" v="river"/></way>
<way id="6"><nd ref="5"/><nd ref="6"/><nd ref="7"/><nd ref="5"/><tag k="natural" v="water"/></way>
<relation id="1"><member type="way" ref="3" role="outer"/><member type="way" ref="4" role="outer"/>
 <tag k="type" v="multipolygon"/><tag k="natural" v="water"/><tag k="name" v="The Lake"/></relation>
</osm>"""
AT = {1: (0, 0), 2: (300, 0), 3: (300, 200), 4: (0, 200), 5: (0, 0), 6: (3, 0), 7: (0, 3)}


def kinds(found: Basemap) -> list[tuple[str, str | None]]:
    return [(each["properties"]["kind"], each["properties"]["name"]) for each in found.features]


def test_the_simulated_town_has_sea_river_parks_and_quarters() -> None:
    found = kinds(simulated.basemap())
    assert {kind for kind, _ in found} == {"water", "green", "built", "river", "quarter"}
    assert ("green", "Botanisk Have") in found
    assert [KINDS.index(kind) for kind, _ in found] == sorted(KINDS.index(k) for k, _ in found)


def test_areas_of_one_way_and_of_several_are_read_from_openstreetmap(tmp_path: Path) -> None:
    nodes = "".join(
        f'<node id="{n}" lat="{56.1 + y / 111_320}" lon="{10.2 + x / 62_000}">'
        + ('<tag k="place" v="suburb"/><tag k="name" v="West"/>' if n == 7 else "")
        + "</node>"
        for n, (x, y) in AT.items()
    )
    path = tmp_path / "town.osm"
    path.write_text(OSM.format(nodes=nodes), encoding="utf-8")
    city = osm.city(path)
    assert kinds(city.basemap) == [
        ("water", "The Lake"),
        ("green", "The Park"),
        ("river", None),
        ("quarter", "West"),
    ]  # A pond of nine square metres is left out.
    city.save(tmp_path)
    assert Basemap.load(tmp_path / BASEMAP).features == city.basemap.features


def in_one_line(folder: Path) -> City:
    """The town with all of its nodes in one line, so that no way encloses anything."""
    path = folder / "line.osm"
    nodes = "".join(f'<node id="{n}" lat="56.1{n}" lon="10.2{n}"/>' for n in AT)
    path.write_text(OSM.format(nodes=nodes), encoding="utf-8")
    return osm.city(path)


def test_ways_that_enclose_nothing_stop_no_import(tmp_path: Path) -> None:
    city = in_one_line(tmp_path)
    assert kinds(city.basemap) == [("river", None)]
    assert city.network.edges == 2


def test_tags_of_no_meaning_to_a_map_are_left_out() -> None:
    assert kind_of({"natural": "tree", "building": "yes"}) is None
    assert kind_of({"natural": "tree", "leisure": "park"}) == "green"


def test_a_line_keeps_the_points_that_show() -> None:
    straight = shapely.LineString([(10.2, 56.1), (10.2005, 56.1), (10.201, 56.1)])
    (river,) = made([("river", None, straight)]).features
    assert river["geometry"]["coordinates"] == [[10.2, 56.1], [10.201, 56.1]]


def test_a_city_of_before_has_an_empty_base_map_and_a_torn_one_is_named(tmp_path: Path) -> None:
    assert Basemap.load(tmp_path / BASEMAP).features == []
    (tmp_path / BASEMAP).write_text("{", encoding="utf-8")
    with pytest.raises(NetworkError, match=r"basemap\.geojson: not a base map"):
        Basemap.load(tmp_path / BASEMAP)


def test_the_page_is_given_the_base_map(client: FlaskClient, settings: Settings) -> None:
    assert client.get("/api/v1/basemap.geojson").json == {
        "type": "FeatureCollection",
        "licence": None,
        "features": [],
    }
    simulated.basemap().save(settings.city_dir / BASEMAP)
    answer = client.get("/api/v1/basemap.geojson")
    assert answer.content_type == "application/geo+json"
    assert len(answer.json["features"]) > 10


def test_the_map_is_told_whose_data_the_streets_are(
    client: FlaskClient, settings: Settings, tmp_path: Path
) -> None:
    network = settings.city_dir / NETWORK
    in_one_line(tmp_path).network.save(network)
    told = client.get("/api/v1/basemap.geojson").json["licence"]
    assert told == "© OpenStreetMap contributors, ODbL 1.0"
    network.write_bytes(network.read_bytes()[:99])
    assert client.get("/api/v1/basemap.geojson").json["licence"] is None

"""Streets and named points from files of OpenStreetMap, written out here."""

from __future__ import annotations

import bz2
from pathlib import Path

import osmium
import pytest

from citywise.apps.travel_planner.roads import City, Mode, NetworkError, osm
from citywise.apps.travel_planner.roads.tags import Rules, speed

NODES = {
    1: (10.200, 56.150),
    2: (10.202, 56.150),
    3: (10.204, 56.150),
    4: (10.202, 56.152),
    5: (10.203, 56.153),
    6: (10.204, 56.152),
    7: (10.206, 56.150),
    8: (10.199, 56.149),
    9: (10.199, 56.151),
}
WAYS: dict[int, tuple[tuple[int, ...], dict[str, str]]] = {
    10: ((1, 2, 3), {"highway": "residential", "name": "Ørstedsgade", "maxspeed": "50"}),
    11: (
        (2, 4),
        {"highway": "tertiary", "name": "Nygade", "oneway": "yes", "oneway:bicycle": "no"},
    ),
    12: ((4, 5, 6, 4), {"highway": "tertiary", "junction": "roundabout"}),
    13: ((3, 7), {"highway": "service", "access": "private"}),
    14: ((6, 3), {"highway": "cycleway", "foot": "no"}),
    15: ((3, 7), {"highway": "construction"}),
    16: ((4, 5, 6, 4), {"amenity": "parking", "name": "P-hus Torvet", "capacity": "120"}),
}
WAYS[17] = ((1, 8, 9, 1), {"highway": "living_street", "name": "Ringen"})
POINTS = {
    20: {
        "amenity": "theatre",
        "name": "Byteatret",
        "addr:street": "Nygade",
        "addr:housenumber": "4",
    },
    21: {"highway": "bus_stop", "name": "Nygade/Torvet"},
    22: {"amenity": "bench"},
    23: {"addr:street": "Nygade", "addr:housenumber": "6; 8A", "addr:city": "Byen"},
    24: {"addr:housenumber": "9"},
}


def document() -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<osm version="0.6">']
    for number, (lon, lat) in NODES.items():
        lines.append(f'<node id="{number}" version="1" lon="{lon}" lat="{lat}"/>')
    for number, tags in POINTS.items():
        inner = "".join(f'<tag k="{k}" v="{v}"/>' for k, v in tags.items())
        lines.append(f'<node id="{number}" version="1" lon="10.201" lat="56.151">{inner}</node>')
    for number, (nodes, tags) in WAYS.items():
        inner = "".join(f'<nd ref="{node}"/>' for node in nodes)
        inner += "".join(f'<tag k="{k}" v="{v}"/>' for k, v in tags.items())
        lines.append(f'<way id="{number}" version="1">{inner}</way>')
    return "\n".join([*lines, "</osm>"])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("osm") / "town.osm"
    path.write_text(document(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def town(file: Path) -> City:
    return osm.city(file)


def edges(town: City, start: int, end: int) -> list[int]:
    """The edges between the positions of two nodes of the file."""
    network = town.network
    ends = [
        int(((network.lon - NODES[n][0]) ** 2 + (network.lat - NODES[n][1]) ** 2).argmin())
        for n in (start, end)
    ]
    return [e for e in range(network.edges) if [network.tail[e], network.head[e]] == ends]


def users(town: City, start: int, end: int) -> set[str]:
    bits = [int(town.network.modes[edge]) for edge in edges(town, start, end)]
    return {mode.value for mode in Mode if any(mode.bit & each for each in bits)}


def test_ways_are_cut_where_they_meet(town: City) -> None:
    assert len(edges(town, 1, 2)) == len(edges(town, 2, 3)) == 1
    assert edges(town, 1, 3) == []


def test_a_oneway_street_leads_one_way_but_for_feet_and_who_is_exempt(town: City) -> None:
    assert users(town, 2, 4) == {"car", "bicycle", "walk"}
    assert users(town, 4, 2) == {"bicycle", "walk"}


def test_a_roundabout_is_driven_one_way(town: City) -> None:
    assert users(town, 4, 6) == {"car", "bicycle", "walk"}
    assert users(town, 6, 4) == {"car", "bicycle", "walk"}
    network = town.network
    round_about = [
        e for e in range(network.edges) if network.highways[network.highway[e]] == "tertiary"
    ]
    by_car = [e for e in round_about if network.modes[e] & Mode.CAR.bit]
    assert len(by_car) == 3, "two pieces of the ring and the way to it, none of them back"


def test_a_street_that_ends_where_it_begins_is_cut_in_two(town: City) -> None:
    assert len(edges(town, 1, 8)) == len(edges(town, 8, 1)) == 2
    assert edges(town, 1, 9) == []


def test_private_ways_and_such_under_construction_lead_nowhere(town: City) -> None:
    assert users(town, 3, 7) == set()


def test_a_cycleway_is_for_bicycles_and_for_feet_where_nobody_forbids_it(town: City) -> None:
    assert users(town, 6, 3) == {"bicycle"}


def test_names_and_speed_limits_are_taken_over(town: City) -> None:
    (edge,) = edges(town, 1, 2)
    assert town.network.street(edge) == "Ørstedsgade"
    assert town.network.speed_kmh[edge] == pytest.approx(40.0)
    assert town.network.length_m[edge] == pytest.approx(124.3, abs=0.2)


def test_what_has_a_name_is_found_with_its_kind(town: City) -> None:
    kinds = {entry.name: (entry.kind, entry.detail) for entry in town.gazetteer.entries}
    assert kinds["Byteatret"] == ("venue", "Nygade 4")
    assert kinds["P-hus Torvet"] == ("garage", "")
    assert kinds["Nygade/Torvet"] == ("stop", "")
    assert kinds["Ørstedsgade"] == ("street", "")
    assert kinds["Nygade / Ørstedsgade"] == ("junction", "")
    assert town.gazetteer.search("orsted")[0].name == "Ørstedsgade"


def test_packed_files_give_the_same_network(file: Path, town: City, tmp_path: Path) -> None:
    pressed, dense = tmp_path / "town.osm.bz2", tmp_path / "town.osm.pbf"
    pressed.write_bytes(bz2.compress(file.read_bytes()))
    with osmium.SimpleWriter(str(dense)) as writer:
        for item in osmium.FileProcessor(str(file)):
            writer.add(item)
    for path in (pressed, dense):
        found = osm.city(path)
        assert found.network.shape.tolist() == town.network.shape.tolist()
        assert found.network.names == town.network.names
        assert found.gazetteer.entries == town.gazetteer.entries


def test_progress_is_told(file: Path) -> None:
    said: list[str] = []
    osm.city(file, said.append)
    assert "reading" in said[0]
    assert "directed edges" in said[-1]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.osm", b'<osm version="0.6"></osm>', "no streets in it"),
        ("broken.osm", b'<osm version="0.6"><node id="1"', "not readable as OpenStreetMap data"),
        ("torn.osm.pbf", b"\x00\x00\x00\x0dhello", "not readable as OpenStreetMap data"),
        ("streets.csv", b"a,b\n", "not readable as OpenStreetMap data"),
    ],
)
def test_a_file_without_streets_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(NetworkError, match=said) as raised:
        osm.city(path)
    assert str(path) in str(raised.value)


CAR, BICYCLE, WALK = (mode.bit for mode in Mode)


@pytest.mark.parametrize(
    ("tags", "there", "back"),
    [
        ("highway=residential", CAR | BICYCLE | WALK, CAR | BICYCLE | WALK),
        ("highway=motorway", CAR, 0),
        ("highway=motorway_link oneway=no", CAR, CAR),
        ("highway=residential oneway=-1", WALK, CAR | BICYCLE | WALK),
        ("highway=residential oneway=yes cycleway=opposite", 7, BICYCLE | WALK),
        ("highway=footway", WALK, WALK),
        ("highway=footway bicycle=designated", BICYCLE | WALK, BICYCLE | WALK),
        ("highway=pedestrian motor_vehicle=yes", CAR | WALK, CAR | WALK),
        ("highway=track", BICYCLE | WALK, BICYCLE | WALK),
        ("highway=path bicycle=no", WALK, WALK),
        ("highway=residential motor_vehicle=no", BICYCLE | WALK, BICYCLE | WALK),
        ("highway=residential access=no bicycle=yes", BICYCLE, BICYCLE),
        ("highway=footway access=yes", WALK, WALK),
        ("highway=proposed", 0, 0),
    ],
)
def test_tags_say_who_may_use_a_street(tags: str, there: int, back: int) -> None:
    rules = Rules(dict(tag.split("=") for tag in tags.split()))
    assert (rules.there, rules.back) == (there, back)


@pytest.mark.parametrize(
    ("highway", "limit", "expected"),
    [
        ("residential", "50", 40.0),
        ("motorway", "130", 130.0),
        ("primary", "DK:rural", 64.0),
        ("primary", "80;60", 48.0),
        ("primary", "30 mph", 38.6),
        ("primary", "signals", None),
        ("primary", "0", None),
        ("primary", "50;9999", 40.0),
        ("primary", "9" * 400, None),
    ],
)
def test_speed_limits_are_read_in_all_their_forms(
    highway: str, limit: str, expected: float | None
) -> None:
    assert speed({"highway": highway, "maxspeed": limit}) == (
        None if expected is None else pytest.approx(expected, abs=0.1)
    )


def test_house_numbers_are_addresses_and_each_of_several_is_one(town: City) -> None:
    found = {each.name: each.detail for each in town.gazetteer.addresses}
    assert found == {"Nygade 4": "", "Nygade 6": "Byen", "Nygade 8A": "Byen"}

"""The Aarhus pack as a network: its reference distances hold, and its sensors have streets."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from citywise.apps.travel_planner.roads import Gazetteer, Mode, RoadNetwork
from citywise.apps.travel_planner.roads import aarhus as pack_roads
from citywise.apps.travel_planner.roads.network import F64
from citywise.backend.city.aarhus import Pack, PackError
from tests.roads.sensed import edges_of


def shortest(network: RoadNetwork, mode: Mode, start: int) -> F64:
    """Metres from a node to all, computed from the raw edges alone."""
    edges = np.flatnonzero(network.allows(mode))
    edges = edges[np.argsort(network.length_m[edges], kind="stable")]
    pairs = np.stack([network.tail[edges], network.head[edges]])
    _, first = np.unique(pairs, axis=1, return_index=True)
    edges = edges[first]
    ends = (network.tail[edges], network.head[edges])
    graph = csr_array(coo_array((network.length_m[edges], ends), shape=(network.nodes,) * 2))
    return np.asarray(dijkstra(graph, indices=start))


def node_at(network: RoadNetwork, lon: float, lat: float, mode: Mode) -> int:
    """The node of a mode's streets that is nearest to a position."""
    edges = network.allows(mode)
    nodes = np.union1d(network.tail[edges], network.head[edges])
    east = (network.lon[nodes] - lon) * np.cos(np.radians(lat))
    return int(nodes[np.hypot(east, network.lat[nodes] - lat).argmin()])


@pytest.mark.slow
def test_the_shortest_drives_are_those_of_the_reference(
    aarhus: RoadNetwork, data_pack: Path
) -> None:
    with (data_pack / "requests" / "routing_shortest_distance.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 25
    for row in rows:
        start, end = (
            node_at(aarhus, float(row[f"{e}_lon"]), float(row[f"{e}_lat"]), Mode.CAR)
            for e in ("from", "to")
        )
        found = shortest(aarhus, Mode.CAR, start)[end]
        assert found == pytest.approx(float(row["shortest_drive_m"]), rel=0.005), row["request_id"]


@pytest.mark.slow
def test_the_walks_to_garages_are_those_of_the_reference(
    aarhus: RoadNetwork, data_pack: Path
) -> None:
    garages = {place.id: place.middle for place in Pack(data_pack).places()}
    lines = (data_pack / "requests" / "parking_reference.jsonl").read_text().splitlines()
    assert len(lines) == 15
    for request in map(json.loads, lines):
        here = node_at(aarhus, request["poi_lon"], request["poi_lat"], Mode.WALK)
        away = shortest(aarhus, Mode.WALK, here)
        for garage in request["garages"]:
            end = node_at(aarhus, *garages[garage["garagecode"]], Mode.WALK)
            assert away[end] == pytest.approx(garage["walk_m"], rel=0.001, abs=0.5)


@pytest.mark.slow
def test_most_sensors_of_the_centre_and_all_others_tell_of_edges(aarhus: RoadNetwork) -> None:
    within = [
        index
        for index in range(len(aarhus.sensors))
        if not aarhus.outside[edges_of(aarhus, index)].any()
    ]
    assert len(within) >= 175, "of 214 segments with both ends in the centre"
    assert len(aarhus.sensors) - len(within) == 235


@pytest.mark.slow
def test_a_sensor_tells_of_one_path_of_its_length(aarhus: RoadNetwork, data_pack: Path) -> None:
    lengths = {place.id: place.length_m for place in Pack(data_pack).places()}
    for index, sensor in enumerate(aarhus.sensors):
        edges = edges_of(aarhus, index)
        assert aarhus.head[edges[:-1]].tolist() == aarhus.tail[edges[1:]].tolist()
        assert aarhus.length_m[edges].sum() == pytest.approx(lengths[sensor], rel=0.25)
        assert aarhus.allows(Mode.CAR)[edges].all()


@pytest.mark.slow
def test_nobody_walks_on_the_motorway_and_bicycles_keep_off_steps(aarhus: RoadNetwork) -> None:
    def of(name: str) -> int:
        modes = aarhus.modes[aarhus.highway == aarhus.highways.index(name)]
        return int(np.bitwise_or.reduce(modes))

    assert of("motorway") == Mode.CAR.bit
    assert of("trunk") == Mode.CAR.bit
    assert of("steps") == of("footway") == Mode.WALK.bit
    assert of("cycleway") == Mode.BICYCLE.bit | Mode.WALK.bit


@pytest.mark.slow
def test_main_streets_have_the_names_that_junctions_and_stops_tell(aarhus: RoadNetwork) -> None:
    main = np.isin(
        aarhus.highway, [aarhus.highways.index(name) for name in ("primary", "tertiary")]
    )
    named = (aarhus.name >= 0) & ~aarhus.outside
    assert named[main].mean() > 0.6
    assert {"Silkeborgvej", "Randersvej", "Vestre Ringgade"} <= set(aarhus.names)


@pytest.mark.slow
def test_names_of_the_pack_are_found(aarhus: RoadNetwork, data_pack: Path) -> None:
    gazetteer: Gazetteer = pack_roads.gazetteer(data_pack, aarhus)
    found = {text: gazetteer.search(text)[0] for text in ("vesterbro torv", "aboulevarden")}
    assert found["vesterbro torv"].name == "Vesterbro Torv"
    assert found["aboulevarden"].id == "MAGASIN"
    concert = gazetteer.search("lørdagskoncert")[0]
    assert concert.starts_ms == 1_403_344_800_000  # 2014-06-21 12:00 in Denmark
    assert gazetteer.search("bibliotek risskov")[0].kind == "venue"
    assert not [e for e in gazetteer.entries if e.kind == "street" and "/" in e.name]


@pytest.fixture
def bare_pack(data_pack: Path, tmp_path: Path) -> Path:
    """The pack without streets, stops and culture."""
    (folder := tmp_path / "citybench").mkdir()
    for pattern in ("traffic_metadata*", "parking_metadata*", "traffic_observations*"):
        for path in (data_pack / "citybench").glob(pattern):
            (folder / path.name).symlink_to(path)
    return tmp_path


def test_without_the_mapped_centre_the_segments_are_the_roads(bare_pack: Path) -> None:
    network = pack_roads.network(bare_pack)
    assert network.outside.all()
    assert len(network.sensors) == 449
    gazetteer = pack_roads.gazetteer(bare_pack, network)
    assert gazetteer.search("randersvej")[0].name == "Randersvej"
    assert {entry.kind for entry in gazetteer.entries} == {"street", "junction", "garage"}


def test_a_broken_street_is_named_with_its_row(data_pack: Path, bare_pack: Path) -> None:
    (folder := bare_pack / "road_network").mkdir()
    shutil.copy(data_pack / "road_network" / pack_roads.NODES, folder)
    header = "u,v,osm_way_id,highway,oneway,length_m,drive,walk,geometry_wkt"
    row = '1,2,7,primary,0,67.0,1,1,"POINT(10 56)"'
    (folder / pack_roads.EDGES).write_bytes(gzip.compress(f"{header}\n{row}\n".encode()))
    with pytest.raises(PackError, match=f"{pack_roads.EDGES}: row 2: .*POINT"):
        pack_roads.network(bare_pack)

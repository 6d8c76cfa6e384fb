"""The simulated town is one in which a plan is worth making."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from citywise.apps.travel_planner.roads import City, Mode, RoadNetwork
from citywise.apps.travel_planner.roads.cityfiles import simulated_city
from citywise.backend.city.simulated import town, venues
from citywise.backend.city.simulated.streets import STREAM
from citywise.backend.space.geometry import apart_m
from tests.roads.sensed import edges_of


@pytest.fixture(scope="module")
def city(simulated_town: City) -> City:
    return simulated_town


@pytest.fixture(scope="module")
def network(city: City) -> RoadNetwork:
    return city.network


def classes(network: RoadNetwork, *wanted: str) -> list[int]:
    index = [network.highways.index(each) for each in wanted]
    return np.flatnonzero(np.isin(network.highway, index)).tolist()


def test_the_town_is_large_enough(network: RoadNetwork) -> None:
    assert 1_500 <= network.edges <= 3_000


@pytest.mark.slow
def test_the_town_is_always_the_same(network: RoadNetwork) -> None:
    assert simulated_city().network.digest == network.digest


@pytest.mark.parametrize("mode", list(Mode))
def test_one_gets_from_everywhere_to_everywhere(network: RoadNetwork, mode: Mode) -> None:
    edges = network.allows(mode)
    ends = (network.tail[edges], network.head[edges])
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(network.nodes, network.nodes))
    _, part = connected_components(graph, directed=True, connection="strong")
    used = np.unique(np.concatenate(ends))
    lost = len(used) - np.bincount(part[used]).max()
    assert lost <= (0 if mode is Mode.CAR else 2), "crossings of the ring for cars alone"


def test_every_measured_road_tells_of_its_edges_and_of_no_others(network: RoadNetwork) -> None:
    roads = {road.id: road for road in town.roads()}
    assert set(network.sensors) == set(roads)
    for index, sensor in enumerate(network.sensors):
        edges = edges_of(network, index)
        road = roads[sensor]
        assert network.length_m[edges].sum() == pytest.approx(road.length_m, rel=0.01)
        first, last = network.tail[edges], network.head[edges]
        for node, at in (
            (set(first) - set(last), road.line[0]),
            (set(last) - set(first), road.line[-1]),
        ):
            (end,) = node
            assert (network.lon[end], network.lat[end]) == pytest.approx(town.wgs84(at), abs=2e-6)
        assert set(network.speed_kmh[edges].tolist()) == {road.free_flow_kmh}


def test_there_are_side_streets_one_way_pairs_paths_and_a_street_for_feet(
    network: RoadNetwork,
) -> None:
    local = classes(network, "residential", "unclassified", "living_street")
    assert len(local) > network.edges / 2
    one_way = [e for e in local if not network.modes[e] & Mode.CAR.bit]
    assert 20 <= len(one_way) < len(local) / 5
    assert {network.street(e) for e in classes(network, "pedestrian")} == {"Strøget"}
    quiet = network.modes[classes(network, "cycleway", "path")]
    assert set(quiet.tolist()) == {Mode.BICYCLE.bit | Mode.WALK.bit}
    assert set(network.modes[classes(network, "trunk")].tolist()) == {Mode.CAR.bit}


def test_the_path_along_the_stream_leads_from_the_old_town_to_the_fields(
    network: RoadNetwork,
) -> None:
    nodes = network.tail[network.name == network.names.index("Åstien")]
    away = apart_m(network.lon[nodes], network.lat[nodes], town.CENTRE_LON, town.CENTRE_LAT)
    assert min(away) < 700
    assert max(away) > 4_500
    assert len(town.RADIALS) > STREAM


def test_every_street_has_a_name_and_no_two_edges_lie_on_each_other(network: RoadNetwork) -> None:
    assert (network.name >= 0).all()
    shapes = [network.line(edge).tobytes() for edge in range(network.edges)]
    assert len(set(shapes)) == len(shapes)
    assert network.length_m.min() > 10


def test_garages_venues_quarters_streets_and_the_programme_are_found_by_name(city: City) -> None:
    search = city.gazetteer.search
    assert search("vestermark")[0].id == "quarter:Vestermarken"
    assert search("havnebadet")[0].kind == "place"
    assert search("banegården, stationsgade")[0].id == "banegaarden"
    assert search("strøget")[0].kind == "street"
    concert = search("fredagskoncert")[0]
    assert (concert.kind, concert.detail) == ("event", "Musikhuset")
    assert concert.starts_ms == 1_748_626_200_000  # 2025-05-30 19:30 in Denmark


def test_every_event_is_at_a_venue_and_every_venue_near_a_street(network: RoadNetwork) -> None:
    at = {venue.id: venue.at for venue in venues.VENUES}
    assert {each.venue for each in venues.PROGRAMME} <= at.keys()
    for position in at.values():
        lon, lat = town.wgs84(position)
        assert apart_m(network.shape[:, 0], network.shape[:, 1], lon, lat).min() < 250


def test_houses_stand_at_their_street_with_odd_numbers_on_one_side(city: City) -> None:
    addresses = city.gazetteer.addresses
    assert 5_000 < len(addresses) < 20_000
    assert len({each.name for each in addresses}) == len(addresses)
    assert all(type(each.lon) is float for each in addresses)  # They are written as JSON.
    for each in addresses[:: len(addresses) // 50]:
        street = each.name.rpartition(" ")[0]
        index = city.network.names.index(street)
        lines = [city.network.line(e) for e in np.flatnonzero(city.network.name == index).tolist()]
        points = np.concatenate(lines)
        assert apart_m(points[:, 0], points[:, 1], each.lon, each.lat).min() < 400, each

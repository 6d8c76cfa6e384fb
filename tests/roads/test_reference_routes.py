"""Ways in Aarhus are as long as an independent program found them (25 by car, 8 on foot each
from 15 places)."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from pyproj import Geod

from citywise.apps.travel_planner.roads.network import Mode
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.roads.snapping import Snap

pytestmark = pytest.mark.slow
GARAGES = "citybench/parking_metadata.csv"


def _snap(router: Router, lon: str, lat: str, mode: Mode) -> Snap:
    snap = router.snap(float(lon), float(lat), mode)
    assert snap is not None
    return snap


def test_the_shortest_ways_by_car_are_those_of_the_reference(
    aarhus_router: Router, data_pack: Path
) -> None:
    weighted = aarhus_router.prepared(aarhus_router.network.length_m, Mode.CAR)
    with (data_pack / "requests/routing_shortest_distance.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = []
    for row in rows:
        start = _snap(aarhus_router, row["from_lon"], row["from_lat"], Mode.CAR)
        end = _snap(aarhus_router, row["to_lon"], row["to_lat"], Mode.CAR)
        path = aarhus_router.shortest(start, end, weighted)
        found.append(path.length_m if path else None)
    assert len(rows) == 25
    assert found == pytest.approx([float(row["shortest_drive_m"]) for row in rows], rel=0.005)


def test_the_ways_on_foot_to_the_garages_are_those_of_the_reference(
    aarhus_router: Router, data_pack: Path
) -> None:
    """The reference goes to the node next to a garage, so here we do, too."""
    weighted = aarhus_router.prepared(aarhus_router.network.length_m, Mode.WALK)
    with (data_pack / GARAGES).open() as file:
        garages = {
            row["garagecode"]: _nearest_node(aarhus_router, row) for row in csv.DictReader(file)
        }
    requests = (data_pack / "requests/parking_reference.jsonl").read_text().splitlines()
    for request in map(json.loads, requests):
        here = _snap(aarhus_router, request["poi_lon"], request["poi_lat"], Mode.WALK)
        ends = [garages[garage["garagecode"]] for garage in request["garages"]]
        found = aarhus_router.distances_to(here, ends, weighted)
        expected = [garage["walk_m"] for garage in request["garages"]]
        assert found == pytest.approx(expected, abs=0.2)
    assert len(requests) == 15


def _nearest_node(router: Router, garage: dict[str, str]) -> Snap:
    """The end of a street on foot that is next to a garage."""
    network, edges = router.network, router.graph(Mode.WALK).edges
    nodes = network.tail[edges]
    here = np.broadcast_to([float(garage["longitude"]), float(garage["latitude"])], (len(nodes), 2))
    metres = Geod(ellps="WGS84").inv(here[:, 0], here[:, 1], network.lon[nodes], network.lat[nodes])
    nearest = int(np.argmin(metres[2]))
    return Snap(int(edges[nearest]), 0.0, 0.0, 0.0, float(metres[2][nearest]))

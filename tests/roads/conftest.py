"""What the tests of the roads share: the networks of the pack and of the simulated town."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.apps.travel_planner.roads import City, RoadNetwork
from citywise.apps.travel_planner.roads.aarhus import network
from citywise.apps.travel_planner.roads.cityfiles import simulated_city
from citywise.apps.travel_planner.roads.router import Router


@pytest.fixture(scope="session")
def aarhus(data_pack: Path) -> RoadNetwork:
    return network(data_pack)


@pytest.fixture(scope="session")
def aarhus_router(aarhus: RoadNetwork) -> Router:
    return Router(aarhus)


@pytest.fixture(scope="session")
def simulated_town() -> City:
    return simulated_city()

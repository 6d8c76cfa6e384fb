"""What the tests of the planners share: the simulated town, planners, and a client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.apps.travel_planner import pool
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.replies import Reply
from citywise.apps.travel_planner.requests import ParkingRequest, TravelRequest, read
from citywise.apps.travel_planner.roads import City, Gazetteer
from citywise.apps.travel_planner.roads.aarhus import network
from citywise.apps.travel_planner.roads.cityfiles import simulated_city
from citywise.apps.travel_planner.roads.conditions import Conditions, Costing
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.roads.gathering import Gathering
from citywise.apps.travel_planner.roads.tariffs import Tariff
from citywise.apps.travel_planner.worker import Desk
from citywise.backend.ingest.payloads import Place, Point
from citywise.backend.kinds import builtin
from citywise.backend.settings import Settings
from citywise.backend.times import parse_ms
from tests.api.conftest import app as app
from tests.api.conftest import client as client
from tests.api.conftest import engine as engine
from tests.api.conftest import settings as settings
from tests.api.conftest import town as town
from tests.api.town import Town

NOW = "2026-05-04T08:00:00Z"
NOW_MS = parse_ms(NOW)
HOME = {"lat": 56.135, "lon": 10.165}
WORK = {"lat": 56.160, "lon": 10.205}
"""Two places of the simulated town."""


@cache
def planner_of_town() -> Planner:
    return Planner(simulated_city())


@pytest.fixture(scope="session")
def planner() -> Planner:
    """Of the simulated town."""
    return planner_of_town()


@pytest.fixture(scope="session")
def aarhus(data_pack: Path) -> Planner:
    """Of the recorded city."""
    return Planner(City(network(data_pack), Gazetteer(())))


def garage(
    name: str,
    lon: float,
    lat: float,
    *,
    taken: int | None = 40,
    capacity: int | None = 100,
    hours: str | None = None,
    per_hour: float = 20.0,
    at_ms: int = NOW_MS,
    age_min: int = 5,
) -> Garage:
    """A garage as it is known at `at_ms`."""
    return Garage(
        id=name,
        name=f"Garage {name}",
        lat=lat,
        lon=lon,
        at_ms=at_ms,
        capacity=capacity,
        occupied=taken,
        observed_ms=None if taken is None else at_ms - age_min * 60_000,
        hours=hours,
        tariff=Tariff(per_hour=per_hour),
    )


def calm(city: City, garages: Sequence[Garage] = (), **more: Any) -> Conditions:
    """The town at NOW, of which nothing is measured."""
    return Conditions.calm(city.network, NOW_MS, garages=garages, **more)


CENTRE = (10.1725, 56.1505)


def breathed(city: City, centre: int = 300, border: int = 20) -> Conditions:
    """The town at NOW, with the air of its centre and that of its four corners."""
    west, south, east, north = city.network.bounds
    corners = [(west, south), (west, north), (east, south), (east, north)]
    stations = {"air-0": (CENTRE, centre)}
    stations |= {f"air-{n}": (corner, border) for n, corner in enumerate(corners, 1)}
    gathering = Gathering(city.network, Tariff(per_hour=20.0), builtin())
    gathering.describe(
        Place(
            id=name,
            kind="air_station",
            name=name,
            geometry=Point(coordinates=at),
            sensors=("air",),
        )
        for name, (at, _) in stations.items()
    )
    kinds = builtin()["air"].fields
    read = [(name, NOW_MS, dict.fromkeys(kinds, index)) for name, (_, index) in stations.items()]
    gathering.take("air", read)
    return Conditions(NOW_MS, (), Costing(gathering.model, gathering.known()))


def travel(planner: Planner, conditions: Conditions, **body: Any) -> dict[str, Any]:
    """The answer to a journey's request; by default from HOME to WORK."""
    body = {"from": HOME, "to": WORK, **body}
    request = read(TravelRequest, body, planner.situation(conditions))
    return planner.travel(request, conditions)


def parking(planner: Planner, conditions: Conditions, **body: Any) -> dict[str, Any]:
    """The answer to a request for parking, near WORK by default."""
    body = {"destination": WORK, **body}
    request = read(ParkingRequest, body, planner.situation(conditions))
    return planner.parking(request, conditions)


class InProcess:
    """A desk asked without a process of its own; questions travel as JSON all the same."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def ask(self, question: Any) -> Reply:
        reply = self.desk.answer(orjson.loads(orjson.dumps(question)))
        return Reply.of(reply.frame())


@pytest.fixture
def planning(
    settings: Settings, engine: Engine, town: Town, planner: Planner, client: FlaskClient
) -> Iterator[FlaskClient]:
    """A client whose plans are made in this process, for a town with two garages at NOW."""
    town.running(NOW)
    town.garage("NEAR", "Near", 10.2060, 56.1605)
    town.garage("FULL", "Full", 10.2040, 56.1595)
    town.reading("parking", "NEAR", "2026-05-04T07:50:00Z", occupied=40, capacity=100)
    town.reading("parking", "FULL", "2026-05-04T07:50:00Z", occupied=100, capacity=100)
    pool.use(settings, InProcess(Desk(settings, engine, planner)))
    yield client
    pool.use(settings, None)

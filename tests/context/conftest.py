"""A city with events, the app installed, and a client of its HTTP side."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.api import citypulse, critical_events
from citywise.backend.packs import installed
from citywise.backend.settings import Settings
from tests.api.conftest import app as app
from tests.api.conftest import opened
from tests.api.conftest import settings as settings
from tests.api.conftest import town as town
from tests.api.templates import pack_of
from tests.api.town import Town
from tests.context.situation import PACK
from tests.databases import begun

Sample = Callable[[str], dict[str, Any]]


@pytest.fixture
def sample(data_pack: Path) -> Sample:
    """One of CityPulse's messages by its name."""
    folder = data_pack / "citypulse" / "messages"
    return lambda name: orjson.loads((folder / f"{name}.json").read_bytes())


@pytest.fixture(scope="session")
def city_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the app and with Aarhus: four roads, a garage and some events.

    The roads lie on one meridian, each 200 m long; "30" is the one whose middle is 30/1000 of
    a degree, 3340 m, north of 56.15.
    """
    found = Settings(data_dir=tmp_path_factory.mktemp("city"))
    engine = begun(found.database_url)
    installed.install(engine, [pack_of(PACK)])
    _build(Town(engine))
    engine.dispose()
    return found.data_dir / "citywise.db"


def _build(town: Town) -> None:
    town.running()
    for name in ("5", "12", "30"):
        middle = 56.15 + int(name) / 1000
        town.road(name, f"Road {name}", [[10.2, middle - 0.0009], [10.2, middle + 0.0009]])
    town.road("east", "East Road", [[10.25, 56.16], [10.25, 56.161]])
    town.garage("BRUUNS", "Bruuns Galleri", 10.2062, 56.1493)
    town.event("jam-5", "5", "2014-08-05T07:00:00Z", level=1)
    town.event("jam-30", "30", "2014-08-05T07:10:00Z", level=5)
    town.event("jam-east", "east", "2014-08-05T07:00:00Z", level=5)
    town.event("over", "12", "2014-08-05T07:00:00Z", "2014-08-05T07:30:00Z")
    town.event("full", "BRUUNS", "2014-08-05T07:00:00Z", kind="ParkingFull", level=4)
    town.event("nowhere", "unheard", "2014-08-05T07:00:00Z", level=5)


@pytest.fixture
def engine(settings: Settings, city_file: Path) -> Iterator[Engine]:
    """The city of `city_file`, for one test."""
    shutil.copy(city_file, settings.data_dir)
    with opened(settings) as engine:
        yield engine


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A client of the application over the city."""
    if "citypulse" not in app.blueprints:
        app.register_blueprint(citypulse.blueprint)
        app.register_blueprint(critical_events.blueprint, url_prefix="/api/v1")
    return app.test_client()

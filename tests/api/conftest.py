"""A database, a city in it, a client, and a real server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from backend.api.app import create_app
from backend.settings import People, Settings
from backend.store.database import create_engine_for, migrate
from tests.api.server import Server, serving
from tests.api.town import Town


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a system at home: who is not logged in is the demo's user, in all roles."""
    return Settings(data_dir=tmp_path, people=People(demo_user=True))


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an empty database: migrations take longer than most tests."""
    folder = tmp_path_factory.mktemp("migrated")
    engine = create_engine_for(Settings(data_dir=folder).database_url)
    migrate(engine)
    engine.dispose()
    return folder


@pytest.fixture
def engine(settings: Settings, migrated: Path) -> Iterator[Engine]:
    shutil.copytree(migrated, settings.data_dir, dirs_exist_ok=True)
    engine = create_engine_for(settings.database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def town(engine: Engine) -> Town:
    return Town(engine)


@pytest.fixture
def app(settings: Settings, engine: Engine) -> Iterator[Flask]:
    app = create_app(settings, engine)
    yield app
    app.extensions["citywise"].hub.close()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def server(settings: Settings, engine: Engine) -> Iterator[Server]:
    """gunicorn over the test's database."""
    with serving(settings) as server:
        yield server

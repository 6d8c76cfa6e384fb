"""A database, a city in it, a client, and a real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Dialect, Engine, event, make_url

from citywise.backend.api.app import create_app, create_hub
from citywise.backend.api.state import WebState
from citywise.backend.people import accounts
from citywise.backend.settings import People, Settings
from citywise.backend.store.database import create_engine_for
from tests.api import giving_way
from tests.api.server import Server, serving
from tests.api.town import Town
from tests.databases import begun


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a system at home: who is not logged in is the demo's user, in all roles."""
    return Settings(data_dir=tmp_path, people=People(demo_user=True))


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    begun(settings.database_url).dispose()
    with opened(settings) as engine:
        yield engine


@contextmanager
def opened(settings: Settings) -> Iterator[Engine]:
    """The engine of all tests, with the database of this one."""
    _opened.file = make_url(settings.database_url).database or ""
    _opened.engine.dispose()  # A thread of the test before may just have opened its file.
    yield _opened.engine
    _opened.engine.dispose()


class _Opened:
    """One engine for all tests, each with a file of its own: statements are compiled once."""

    file = ""

    @cached_property
    def engine(self) -> Engine:
        engine = create_engine_for("sqlite:////no-such-folder/the-tests-own.db")

        @event.listens_for(engine, "do_connect")
        def _open(dialect: Dialect, _record: object, _where: object, how: dict[str, Any]) -> Any:
            return dialect.connect(self.file, **how)

        @event.listens_for(engine, "connect")
        def _hurry(connection: Any, _record: object) -> None:
            connection.execute("PRAGMA synchronous=OFF")  # Nothing has to survive a test.

        return engine


_opened = _Opened()


@pytest.fixture
def town(engine: Engine) -> Town:
    return Town(engine)


@pytest.fixture
def app(settings: Settings, engine: Engine) -> Iterator[Flask]:
    """The application over the test's database; with equal settings it is the same one, as its
    addresses take long to compile."""
    app = _application(settings.model_copy(update={"data_dir": Path()}).model_dump_json(), engine)
    hub = create_hub(settings, engine)
    app.extensions["citywise"] = WebState(settings, engine, hub)
    app.extensions["citywise-limits"].storage.reset()
    app.extensions.pop("citywise-watch", None)
    if settings.people.demo_user:
        with engine.begin() as connection:
            accounts.ensure_demo(connection)
    with giving_way.refused(engine):
        yield app
    hub.close()


@cache
def _application(settings: str, engine: Engine) -> Flask:
    app = create_app(Settings.model_validate_json(settings), engine)
    app.extensions["citywise"].hub.close()
    return app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def server(settings: Settings, engine: Engine) -> Iterator[Server]:
    """gunicorn over the test's database."""
    with serving(settings) as server:
        yield server

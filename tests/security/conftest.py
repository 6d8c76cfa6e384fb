"""One application for all tests of a module, and who uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from citywise.backend.api.app import create_app
from citywise.backend.settings import Settings
from tests.api.accounts_alone import quick as quick
from tests.databases import begun
from tests.security.cast import Cast, play


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A city in which everybody has to log in."""
    return Settings(data_dir=tmp_path_factory.mktemp("city"))


@pytest.fixture(scope="module")
def cast(quick: None, settings: Settings) -> Iterator[Cast]:
    engine = begun(settings.database_url)
    app = create_app(settings, engine)
    yield play(app, settings, engine)
    app.extensions["citywise"].hub.close()
    engine.dispose()

"""The database and the small city of the API's tests, with an app that tells of jams."""

from __future__ import annotations

import pytest

from tests.api.conftest import app, client, engine, settings, town
from tests.api.templates import install, jam_ahead
from tests.api.town import Town

__all__ = ["app", "city", "client", "engine", "settings", "town"]


@pytest.fixture
def city(town: Town) -> Town:
    """A street with a jam, in a running system."""
    town.running()
    install(town, jam_ahead())
    town.road("100", "Viborgvej")
    town.event("jam-1", "100", "2014-08-05T11:30:00Z")
    return town

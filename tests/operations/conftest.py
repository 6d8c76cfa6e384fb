"""A small city with a road and a garage, and the application over it."""

from __future__ import annotations

import pytest

from tests.api.conftest import app as app
from tests.api.conftest import client as client
from tests.api.conftest import engine as engine
from tests.api.conftest import settings as settings
from tests.api.town import Town

ROAD = [[10.20, 56.15], [10.20, 56.152]]


@pytest.fixture
def town(engine: object) -> Town:
    """It is noon on a day of August 2014."""
    found = Town(engine)  # type: ignore[arg-type]
    found.running()
    found.road("158324", "Ringgaden", ROAD, free_flow_kmh=50.0)
    found.garage("BRUUNS", "Bruuns Galleri")
    return found

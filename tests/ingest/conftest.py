"""An empty database for all tests of the ingest, and a broker for those that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backend.broker import EmbeddedBroker
from backend.settings import Broker
from tests.api.conftest import migrated

__all__ = ["broker", "migrated"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker that runs; each test leaves it as it found it."""
    embedded = EmbeddedBroker()
    yield Broker(port=embedded.start())
    embedded.stop()

"""A broker for those tests of the ingest that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from citywise.backend.broker import EmbeddedBroker
from citywise.backend.settings import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker that runs; each test leaves it as it found it."""
    embedded = EmbeddedBroker()
    yield Broker(port=embedded.start())
    embedded.stop()

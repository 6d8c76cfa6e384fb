"""The day of CityBench's streams that the tests replay; it is read once."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.citybench.streams import Streams


@pytest.fixture(scope="session")
def streams(data_pack: Path) -> Streams:
    """The streams of 5 August 2014."""
    return Streams(data_pack / "citybench", date(2014, 8, 5))

"""The running system's files: Spark writes some of them by itself."""

from __future__ import annotations

import pytest

from tests.modes import open_to_others
from tests.street.city import City

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_nobody_else_may_read_what_the_system_keeps(city: City) -> None:
    """Checkpoints and state of batches included."""
    folder = city.system.settings.data_dir
    # Spark writes that down after the answers of a batch are there.
    city.until(lambda: bool(list((folder / "checkpoint").glob("commits/*"))))
    assert open_to_others(folder) == []

"""The running city."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.street.city import City, running


@pytest.fixture(scope="package")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    with running(tmp_path_factory.mktemp("city"), None, "sensors") as found:
        yield found

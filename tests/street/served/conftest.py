"""The running city."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.street.city import City, running


@pytest.fixture(scope="package")
def running_city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], City]]:
    """Gives the one that all share; once somebody has ended it, another."""
    with ExitStack() as cities:
        found: list[City] = []

        def city() -> City:
            if not found or has_ended(found[-1]):
                folder = tmp_path_factory.mktemp("city")
                found.append(cities.enter_context(running(folder, None, "sensors")))
            return found[-1]

        yield city


def has_ended(city: City) -> bool:
    return all(child.process.poll() is not None for child in city.system.children.values())


@pytest.fixture
def city(running_city: Callable[[], City]) -> City:
    return running_city()

"""The running city."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import following
from tests.browser.following import Followed
from tests.packs.test_tutorial_app import METER, write


@pytest.fixture(scope="package")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    """A running city, one for all of these, with an app that waits for a kind."""
    app = write(tmp_path_factory.mktemp("tutorial"), METER)
    with following.city(tmp_path_factory.mktemp("followed"), app) as city:
        yield city

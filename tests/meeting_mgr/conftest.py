"""What the tests of the meeting manager share: a database, an application, and who uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.browsers import quick_passwords
from tests.api.conftest import app as app
from tests.api.conftest import client as client
from tests.api.conftest import engine as engine
from tests.api.conftest import migrated as migrated
from tests.api.conftest import settings as settings
from tests.api.conftest import town as town


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with quick_passwords():
        yield

"""What the tests of the meeting manager share: a database, an application, and who uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from backend.settings import Settings
from tests.api.browsers import Browser, quick_passwords
from tests.api.conftest import app as app
from tests.api.conftest import client as client
from tests.api.conftest import engine as engine
from tests.api.conftest import town as town
from tests.meeting_mgr.hosted import Json, host, join, make


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with quick_passwords():
        yield


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a system where nobody is the demo's user."""
    return Settings(data_dir=tmp_path)


@pytest.fixture
def alice(app: Flask) -> Browser:
    """Who has an account, and hosts."""
    return host(app)


@pytest.fixture
def meeting(alice: Browser) -> Json:
    """Alice's meeting, as she sees it."""
    return make(alice)


@pytest.fixture
def bob(app: Flask, meeting: Json) -> Browser:
    """Who was invited, and has joined without an account."""
    return join(app, meeting, attendee="a2")

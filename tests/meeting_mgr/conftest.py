"""What the tests of the meeting manager share: a database, an application, and who uses it."""

from __future__ import annotations

import pytest
from flask import Flask

from tests.api.accounts_alone import quick as quick
from tests.api.accounts_alone import settings as settings
from tests.api.browsers import Browser
from tests.api.conftest import app as app
from tests.api.conftest import client as client
from tests.api.conftest import engine as engine
from tests.api.conftest import town as town
from tests.meeting_mgr.hosted import Json, host, join, make


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

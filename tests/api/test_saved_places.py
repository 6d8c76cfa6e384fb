"""The places somebody saved: kept sealed, exported, and forgotten with the account."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine, select

from citywise.backend.privacy.export import everything
from citywise.backend.settings import Settings
from citywise.backend.store.models import SavedPlacesRow
from tests.api.accounts_alone import quick as quick
from tests.api.accounts_alone import settings as settings
from tests.api.browsers import Browser

HOME: dict[str, Any] = {"kind": "home", "name": "Ringgade 12", "lat": 56.16, "lon": 10.2}


@pytest.fixture
def anna(app: Flask) -> Browser:
    browser = Browser.of(app)
    assert browser.sign_up("Anna").status_code == 201
    return browser


def test_places_are_kept_for_their_owner_alone(app: Flask, anna: Browser) -> None:
    assert anna.get("/me/places").json == {"places": []}
    assert anna.put("/me/places", {"places": [HOME]}).json == {"places": [HOME]}
    assert anna.get("/me/places").json == {"places": [HOME]}
    other = Browser.of(app)
    assert other.get("/me/places").status_code == 401
    other.sign_up("Bert")
    assert other.get("/me/places").json == {"places": []}


def test_the_database_does_not_say_where_somebody_lives(engine: Engine, anna: Browser) -> None:
    anna.put("/me/places", {"places": [HOME]})
    with engine.connect() as connection:
        (box,) = connection.scalars(select(SavedPlacesRow.box))
    assert "Ringgade" not in box
    assert "56.16" not in box


@pytest.mark.parametrize(
    "places",
    [[HOME, HOME], [{**HOME, "lat": 91}], [{**HOME, "name": ""}], [HOME] * 51, [{"name": "x"}], 3],
)
def test_what_is_no_list_of_places_is_refused(anna: Browser, places: Any) -> None:
    assert anna.put("/me/places", {"places": places}).status_code == 422
    assert anna.get("/me/places").json == {"places": []}


def test_places_are_exported(engine: Engine, settings: Settings, anna: Browser) -> None:
    anna.put("/me/places", {"places": [HOME]})
    with engine.connect() as connection:
        assert anna.user is not None
        assert everything(connection, settings, anna.user)["saved_places"] == [HOME]

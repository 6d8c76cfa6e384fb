"""Advice stands beside a notice until it is taken back, whatever the pipeline says meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.notices import advising
from citywise.backend.notices.announcing import begin
from tests.api.templates import change
from tests.api.town import Town
from tests.notices.booked import MINUTE, NOON_MS, alerts, announced, apply, due, row, wish

TEXTS = {"en": "Take the bypass", "da": "Tag omvejen"}
ADVICE: dict[str, Any] = {"kind": "trip", "text": TEXTS["en"], "texts": TEXTS, "url": "/plan"}


def advise(engine: Engine, advice: Any = ADVICE, at_ms: int = NOON_MS + MINUTE) -> bool:
    with engine.begin() as connection:
        begin(connection)
        return advising.advise(connection, row(engine)["id"], advice, at_ms)


@pytest.fixture
def opened(engine: Engine, city: Town) -> Engine:
    """The notice of a jam, opened and alerted at noon."""
    apply(engine, change("opened"))
    return engine


def test_advice_is_announced_with_the_notice(opened: Engine) -> None:
    assert advise(opened)
    told = announced(opened)[-1]
    assert (told["change"], told["advice"], told["alert"]) == ("updated", ADVICE, True)
    assert row(opened)["advice"] == ADVICE


def test_who_was_alerted_just_now_is_not_alerted_again(opened: Engine) -> None:
    advise(opened, at_ms=NOON_MS + advising.JUST_NOW_MS - 1)
    assert alerts(opened) == ["opened 3"]


def test_advice_that_is_given_already_is_no_news(opened: Engine) -> None:
    advise(opened)
    before = len(announced(opened))
    assert not advise(opened, at_ms=NOON_MS + 2 * MINUTE)
    assert len(announced(opened)) == before


def test_advice_is_taken_back_without_an_alert(opened: Engine) -> None:
    advise(opened)
    assert advise(opened, None, NOON_MS + 5 * MINUTE)
    told = announced(opened)[-1]
    assert (told["advice"], told["alert"]) == (None, False)
    assert row(opened)["advice"] is None


def test_what_the_rules_say_next_leaves_the_advice(opened: Engine) -> None:
    advise(opened)
    apply(opened, change("updated", NOON_MS + 2 * MINUTE, criticality=4))
    assert announced(opened)[-1]["advice"] == ADVICE
    apply(opened, change("refreshed", NOON_MS + 3 * MINUTE, details={"metres": 10}))
    due(opened, NOON_MS + 4 * MINUTE)
    assert row(opened)["advice"] == ADVICE


def test_a_notice_that_is_closed_is_given_none(opened: Engine) -> None:
    apply(opened, change("closed", NOON_MS + MINUTE))
    assert not advise(opened, at_ms=NOON_MS + 2 * MINUTE)
    assert row(opened)["advice"] is None


def test_what_holds_a_notice_back_holds_its_advice_back(engine: Engine, city: Town) -> None:
    wish(engine, threshold=5)
    apply(engine, change("opened"))
    advise(engine)
    assert alerts(engine) == []
    assert announced(engine)[-1]["advice"] == ADVICE


@pytest.mark.parametrize("language", ["en", "da"])
def test_the_api_shows_it_in_the_language_asked_for(
    opened: Engine, client: FlaskClient, language: str
) -> None:
    advise(opened)
    found = client.get(f"/api/v1/notices?user=alice&lang={language}").json
    assert found is not None
    assert found["notices"][0]["advice"]["text"] == TEXTS[language]

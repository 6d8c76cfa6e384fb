"""People make, change and remove repeating trips over HTTP, which nobody else sees."""

from __future__ import annotations

from typing import Any, cast

import orjson
import pytest
from flask import Flask
from sqlalchemy import Engine, select
from werkzeug.test import TestResponse

from citywise.apps.travel_planner import kept_plans, repeats, trips
from citywise.apps.travel_planner.tables import RepeatRow
from citywise.backend.ingest.keyring import Keyring
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from tests.api.accounts_alone import quick as quick
from tests.api.accounts_alone import settings as settings
from tests.api.browsers import Browser
from tests.api.town import Town
from tests.travel_planner import followed
from tests.travel_planner.followed import FROM, TO, Live
from tests.travel_planner.test_plans_api import valid

Json = dict[str, Any]
ASKED = {"from": FROM, "to": TO, "mode": "car"}


@pytest.fixture
def anna(app: Flask, town: Town) -> Browser:
    """Who has an account and has asked for a plan, on a Tuesday."""
    town.running("2014-08-05T12:00:00Z")
    with app.app_context():
        kept_plans.kept().keep("pl_way", orjson.dumps(followed.travel_answer(Live())))
        kept_plans.kept().keep("pl_park", orjson.dumps(followed.parking_answer(Live())))
    found = Browser.of(app)
    assert found.sign_up("Anna").status_code == 201
    return found


def made(browser: Browser, **more: Any) -> Json:
    body = {"plan": "pl_way", "at": "08:00", "weekdays": [1, 2, 3, 4, 5], **more}
    answer = browser.post("/repeats", body)
    assert answer.status_code == 201, answer.json
    return dict(cast("Json", answer.json)["repeat"])


def ok(answer: TestResponse) -> Json:
    """The body of an answer of success."""
    assert answer.status_code < 300, answer.json
    return cast("Json", answer.json)


def listed(browser: Browser) -> list[Json]:
    found = browser.get("/repeats")
    assert found.status_code == 200
    return list(found.json["repeats"])


def test_a_plan_becomes_a_repeating_trip(anna: Browser) -> None:
    one = ok(anna.post("/repeats", {"plan": "pl_way", "at": "08:00", "weekdays": [3]}))["repeat"]
    assert (one["next"]["day"], one["next"]["looks"]) == ("2014-08-06", "2014-08-05T18:00:00Z")
    assert one["tell"] == {"evening": "20:00", "before_min": 60, "underway": True}
    assert "depart" not in one["request"]
    assert one["told"] is None
    assert ok(anna.get(f"/repeats/{one['id']}"))["repeat"] == one
    whole = ok(anna.get("/repeats"))
    assert whole["repeats"] == [one]
    valid(anna.client.application, "RepeatList", whole)


def test_a_request_does_as_well_as_a_plan_and_may_be_about_lines(anna: Browser) -> None:
    asked = {**ASKED, "mode": "transit", "depart": "2014-08-05T12:00:00Z"}
    body = {"request": asked, "at": "10:00", "by": "arrive", "dates": ["2014-08-09"]}
    one = ok(anna.post("/repeats", {**body, "name": "Märkt ✓"}))["repeat"]
    assert one["name"] == "Märkt ✓"
    assert (one["request"]["mode"], one["next"]["day"]) == ("transit", "2014-08-09")


def test_it_is_changed_paused_and_gone_on_with(anna: Browser) -> None:
    one = made(anna)
    path = f"/repeats/{one['id']}"
    later = ok(anna.patch(path, {"at": "09:30", "weekdays": [6], "name": "Market"}))["repeat"]
    assert (later["next"]["day"], later["at"], later["name"]) == ("2014-08-09", "09:30", "Market")
    assert ok(anna.patch(path, {"paused": True}))["repeat"]["next"] is None
    assert ok(anna.patch(path, {"paused": False}))["repeat"]["next"] == later["next"]
    dated = ok(anna.patch(path, {"dates": ["2014-08-20"]}))["repeat"]
    assert (dated["weekdays"], dated["dates"]) == ([], ["2014-08-20"])
    quiet = {"evening": None, "before_min": None, "underway": False}
    assert ok(anna.patch(path, {"tell": quiet}))["repeat"]["tell"] == quiet
    assert ok(anna.patch(path, {"until": "2014-08-19"}))["repeat"]["next"] is None
    assert ok(anna.patch(path, {"until": None}))["repeat"]["next"]["day"] == "2014-08-20"


def test_one_day_is_left_out_and_taken_back(anna: Browser) -> None:
    one = made(anna)
    path = f"/repeats/{one['id']}/skipped/2014-08-06"
    assert ok(anna.put(path, None))["repeat"]["next"]["day"] == "2014-08-07"
    assert ok(anna.delete(path))["repeat"]["next"] == one["next"]
    assert anna.put(f"/repeats/{one['id']}/skipped/tomorrow", None).status_code == 404


def test_what_was_removed_is_made_again_from_the_answer(anna: Browser) -> None:
    one = made(anna)
    gone = ok(anna.delete(f"/repeats/{one['id']}"))["repeat"]
    assert listed(anna) == []
    body = {name: gone[name] for name in ("name", "request", "at", "by", "weekdays", "tell")}
    again = ok(anna.post("/repeats", body))["repeat"]
    assert again["next"] == one["next"]


def test_nobody_else_sees_or_changes_it(anna: Browser, app: Flask) -> None:
    one = made(anna)
    other = Browser.of(app)
    assert other.get("/repeats").status_code == 401
    assert other.sign_up("Ben").status_code == 201
    path = f"/repeats/{one['id']}"
    answers = [
        other.get(path),
        other.patch(path, {"paused": True}),
        other.delete(path),
        other.put(f"{path}/skipped/2014-08-06", None),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert listed(other) == []


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"at": "24:00"}, "at"),
        ({"at": "8:00"}, "at"),
        ({"weekdays": [0]}, "weekdays.0"),
        ({"weekdays": [], "dates": []}, "body"),
        ({"weekdays": [], "dates": ["2014-02-30"]}, "dates.0"),
        ({"weekdays": [], "dates": ["2013-01-01"]}, "dates"),
        ({"dates": ["2014-08-09"]}, "body"),
        ({"tell": {"evening": "20:00", "before_min": 0, "underway": True}}, "tell.before_min"),
        ({"plan": None, "request": {"from": FROM}}, "request.to"),
        ({"plan": None, "request": {**ASKED, "mode": "rocket"}}, "request.mode"),
        ({"plan": None, "request": {**ASKED, "to": 7}}, "request.to"),
        ({"plan": None}, "body"),
        ({"name": "x" * 81}, "name"),
        ({"wings": True}, "wings"),
    ],
)
def test_what_is_wrong_with_it_is_said_by_field(anna: Browser, more: Json, path: str) -> None:
    body = {"plan": "pl_way", "at": "08:00", "weekdays": [1], **more}
    answer = anna.post("/repeats", {k: v for k, v in body.items() if v is not None})
    assert answer.status_code == 422, answer.json
    assert path in [fault["path"] for fault in answer.json["errors"]], answer.json
    assert listed(anna) == []


def test_plans_of_garages_and_forgotten_ones_are_not_repeated(anna: Browser) -> None:
    for plan in ("pl_park", "pl_gone"):
        answer = anna.post("/repeats", {"plan": plan, "at": "08:00", "weekdays": [1]})
        assert answer.status_code == 404


def test_there_are_thirty_at_most(anna: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MOST", 2)
    made(anna)
    made(anna)
    answer = anna.post("/repeats", {"plan": "pl_way", "at": "08:00", "weekdays": [1]})
    assert (answer.status_code, answer.json["type"].rsplit(":")[-1]) == (409, "too-many")


def test_it_is_exported_sealed_and_forgotten(
    anna: Browser, engine: Engine, settings: Settings
) -> None:
    one = made(anna, name="Secret place")
    (told,) = anna.get("/me/export").json["repeating_trips"]
    assert (told["id"], told["name"]) == (one["id"], "Secret place")
    with engine.connect() as connection:
        (row,) = connection.execute(select(RepeatRow.__table__)).mappings()
        assert "Secret" not in str(dict(row))
    assert Keyring(settings.keys_dir).forget(anna.user)
    with engine.connect() as connection:
        assert repeats.of_user(connection, Boxes(settings.keys_dir, trips.TRIP), anna.user) == []

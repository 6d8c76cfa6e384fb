"""What users answer to notices over HTTP, what comes of it, and taking it back."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.times import iso
from tests.api.templates import change
from tests.api.town import Town
from tests.notices.booked import MINUTE, NOON_MS, alerts, announced, apply, due, row, wish

pytestmark = pytest.mark.usefixtures("city")


class Person:
    """The demo's user, who acts for alice."""

    def __init__(self, client: FlaskClient, engine: Engine) -> None:
        self.client, self.engine = client, engine

    def says(self, method: str, what: str, body: Any = None) -> Any:
        notice = quote(row(self.engine)["id"])
        answer = self.client.open(f"/api/v1/notices/{notice}/{what}", method=method, json=body)
        return answer.json if answer.status_code == 200 else answer


@pytest.fixture
def person(client: FlaskClient, engine: Engine) -> Person:
    apply(engine, change("opened"))
    return Person(client, engine)


def test_what_is_acknowledged_alerts_only_when_it_gets_worse(
    person: Person, engine: Engine
) -> None:
    shown = person.says("POST", "acknowledge")
    assert shown["acknowledged"] == "2014-08-05T12:00:00Z"
    apply(engine, change("updated", NOON_MS + 1, criticality=2))
    apply(engine, change("updated", NOON_MS + 2, criticality=3))
    assert announced(engine)[-1]["held_because"] == "acknowledged"
    apply(engine, change("updated", NOON_MS + 3, criticality=4))
    assert alerts(engine) == ["opened 3", "updated 4"]
    assert announced(engine)[-1]["acknowledged"] is None, "what is worse has not been seen"


def test_acknowledging_counts_for_the_criticality_at_which_it_was_said(
    person: Person, engine: Engine
) -> None:
    wish(engine, quiet=[{"from": "00:00", "until": "00:00"}])
    apply(engine, change("updated", NOON_MS + 1, criticality=5))
    person.says("POST", "acknowledge")
    wish(engine)
    apply(engine, change("updated", NOON_MS + 2, criticality=4))
    apply(engine, change("updated", NOON_MS + 3, criticality=5))
    assert alerts(engine) == ["opened 3"]


def test_what_is_taken_back_is_as_if_it_had_not_been_said(engine: Engine, person: Person) -> None:
    before = dict(row(engine))
    for what, body in (("acknowledge", None), ("snooze", {"minutes": 5})):
        person.says("POST", what, body)
        assert dict(row(engine)) != before
        person.says("DELETE", what)
        assert dict(row(engine)) == before


def test_saying_it_twice_says_it_once(person: Person, engine: Engine, city: Town) -> None:
    until = {"until": iso(NOON_MS + 20 * MINUTE)}
    for method, what, body in (
        ("POST", "acknowledge", None),
        ("DELETE", "acknowledge", None),
        ("POST", "snooze", until),
        ("DELETE", "snooze", None),
    ):
        first = person.says(method, what, body)
        said = len(announced(engine))
        city.running(iso(NOON_MS + MINUTE))
        assert person.says(method, what, body) == first
        assert len(announced(engine)) == said
        city.running()


def test_other_pages_of_the_user_hear_of_it_and_nobody_is_alerted(
    person: Person, engine: Engine
) -> None:
    person.says("POST", "acknowledge")
    person.says("POST", "snooze", {"minutes": 5})
    person.says("DELETE", "snooze")
    told = [(body["change"], body["alert"], body["user"]) for body in announced(engine)]
    assert told == [
        ("opened", True, "alice"),
        ("acknowledged", False, "alice"),
        ("snoozed", False, "alice"),
        ("updated", False, "alice"),
    ]


def test_what_is_snoozed_comes_again_once(person: Person, engine: Engine) -> None:
    shown = person.says("POST", "snooze", {"minutes": 10})
    assert shown["snoozed_until"] == shown["due"] == "2014-08-05T12:10:00Z"
    assert shown["held_because"] == "snoozed"
    apply(engine, change("updated", NOON_MS + MINUTE, criticality=5))
    assert [due(engine, NOON_MS + ms) for ms in (10 * MINUTE - 1, 10 * MINUTE, DAY)] == [0, 1, 0]
    assert alerts(engine) == ["opened 3", "reminded 5"]
    assert row(engine)["snoozed_until_ms"] is None


DAY = 24 * 60 * MINUTE


def test_what_is_acknowledged_and_then_snoozed_comes_again(person: Person, engine: Engine) -> None:
    person.says("POST", "acknowledge")
    person.says("POST", "snooze", {"minutes": 10})
    assert due(engine, NOON_MS + 10 * MINUTE) == 1
    assert alerts(engine)[-1] == "reminded 3"


def test_what_never_alerted_is_owed_again_when_its_acknowledgement_is_taken_back(
    client: FlaskClient, engine: Engine
) -> None:
    wish(engine, quiet=[{"from": "13:30", "until": "14:30"}])
    apply(engine, change("opened"))
    person = Person(client, engine)
    assert person.says("POST", "acknowledge")["due"] is None
    assert due(engine, NOON_MS + 40 * MINUTE) == 0
    assert person.says("DELETE", "acknowledge")["due"] == "2014-08-05T12:30:00Z"
    assert due(engine, NOON_MS + 40 * MINUTE) == 1


def test_what_is_over_cannot_be_snoozed(person: Person, engine: Engine) -> None:
    apply(engine, change("closed", NOON_MS + 1))
    refused = person.says("POST", "snooze", {"minutes": 10})
    assert refused.status_code == 409
    assert "closed at 2014-08-05T12:00:00.001Z" in refused.json["detail"]
    assert person.says("POST", "acknowledge")["acknowledged"]
    assert due(engine, NOON_MS + DAY) == 0


def test_a_snooze_that_cannot_be_meant_is_refused(person: Person) -> None:
    for body, path in (
        ({}, "body"),
        ({"minutes": 0}, "minutes"),
        ({"minutes": 50_000}, "minutes"),
        ({"minutes": 5, "until": "2014-08-05T13:00:00Z"}, "body"),
        ({"until": "2014-08-05T12:00:00Z"}, "until"),
        ({"until": "2014-10-05T12:00:00Z"}, "until"),
        ({"until": "2014-08-05T12:30:00"}, "until"),
        ({"hours": 1}, "hours"),
    ):
        refused = person.says("POST", "snooze", body)
        assert (refused.status_code, refused.json["errors"][0]["path"]) == (422, path), body


def test_there_is_nothing_to_answer_where_there_is_no_notice(client: FlaskClient) -> None:
    for what in ("acknowledge", "snooze"):
        answer = client.post(f"/api/v1/notices/none/{what}", json={"minutes": 1})
        assert answer.status_code == 404


# --- Wishes -------------------------------------------------------------------------------

NOTHING = {
    "threshold": 1,
    "quiet": [],
    "cool_down_s": 0,
    "muted": [],
    "channels": {"browser": True, "mqtt": True, "email": None},
}
MUTED = [{"app": "jam_watch", "notice": "jam_ahead"}]
WISHES = "/api/v1/me/wishes"


def test_wishes_are_kept_replaced_and_changed_one_by_one(client: FlaskClient) -> None:
    assert client.get(WISHES).json == NOTHING
    span = {"from": "22:00", "until": "07:00", "days": [6, 7], "except_from": 5}
    told = client.put(WISHES, json={"quiet": [span], "threshold": 2})
    assert told.json == {**NOTHING, "quiet": [span], "threshold": 2}
    assert client.patch(WISHES, json={"muted": MUTED}).json == {**told.json, "muted": MUTED}
    assert client.get(WISHES).json["muted"] == MUTED
    assert client.put(WISHES, json={}).json == NOTHING


def test_wishes_are_of_one_user_alone(client: FlaskClient) -> None:
    client.put(f"{WISHES}?user=alice", json={"threshold": 4})
    assert client.get(f"{WISHES}?user=alice").json["threshold"] == 4
    assert client.get(WISHES).json["threshold"] == 1


def test_wishes_that_cannot_be_meant_are_refused_with_what_is_wrong(client: FlaskClient) -> None:
    refused = client.put(WISHES, json={"threshold": 9, "quiet": [{"from": "9", "until": "10:00"}]})
    assert refused.status_code == 422
    assert [one["path"] for one in refused.json["errors"]] == ["threshold", "quiet.0.from"]
    assert client.get(WISHES).json == NOTHING


def test_a_kind_that_is_muted_is_held_from_then_on_and_unmuted_it_is_not_rung_after(
    client: FlaskClient, engine: Engine
) -> None:
    wish(engine, cool_down_s=600)
    apply(engine, change("opened"), change("opened", about="jam-2"))
    client.patch(f"{WISHES}?user=alice", json={"muted": MUTED})
    assert [row(engine, jam)["held_because"] for jam in ("jam-1", "jam-2")] == ["muted"] * 2
    assert due(engine, NOON_MS + DAY) == 0
    client.patch(f"{WISHES}?user=alice", json={"muted": [], "cool_down_s": 0})
    assert [row(engine, jam)["held_because"] for jam in ("jam-1", "jam-2")] == [None] * 2
    assert due(engine, NOON_MS + DAY) == 0
    assert alerts(engine) == ["opened 3"]


def test_an_alert_promised_for_later_comes_now_when_nothing_holds_it_any_more(
    client: FlaskClient, engine: Engine
) -> None:
    wish(engine, quiet=[{"from": "13:30", "until": "14:30"}])
    apply(engine, change("opened"))
    client.put(f"{WISHES}?user=alice", json={})
    assert due(engine, NOON_MS) == 1
    assert alerts(engine) == ["reminded 3"]


ALL_DAY = [{"from": "00:00", "until": "00:00"}]


def test_what_quiet_hours_without_an_end_held_comes_when_they_are_taken_back(
    client: FlaskClient, engine: Engine
) -> None:
    wish(engine, quiet=ALL_DAY)
    apply(engine, change("opened"))
    assert row(engine)["due_ms"] is None
    client.put(f"{WISHES}?user=alice", json={})
    assert [due(engine, NOON_MS) for _ in range(2)] == [1, 0]
    assert alerts(engine) == ["reminded 3"]


@pytest.mark.parametrize("wishes", [{"quiet": ALL_DAY}, {"muted": MUTED}])
def test_a_snooze_that_ends_while_nothing_may_alert_comes_when_it_may(
    person: Person, engine: Engine, city: Town, wishes: dict[str, Any]
) -> None:
    person.says("POST", "snooze", {"minutes": 5})
    person.client.put(f"{WISHES}?user=alice", json=wishes)
    assert due(engine, NOON_MS + 6 * MINUTE) == 0
    city.running(iso(NOON_MS + 6 * MINUTE))
    person.client.put(f"{WISHES}?user=alice", json={})
    assert [due(engine, NOON_MS + 6 * MINUTE) for _ in range(2)] == [1, 0]
    assert row(engine)["snoozed_until_ms"] is None


@pytest.mark.parametrize("wishes", [{"threshold": 5}, {"muted": MUTED}])
def test_what_is_let_through_does_not_alert_for_its_details_but_when_it_gets_worse(
    client: FlaskClient, engine: Engine, wishes: dict[str, Any]
) -> None:
    wish(engine, **wishes)
    apply(engine, change("opened"))
    client.put(f"{WISHES}?user=alice", json={"quiet": [{"from": "13:30", "until": "14:30"}]})
    assert due(engine, NOON_MS + DAY) == 0
    client.put(f"{WISHES}?user=alice", json={})
    apply(engine, change("updated", NOON_MS + 1, details={"metres": 1}))
    assert alerts(engine) == []
    apply(engine, change("updated", NOON_MS + 2, criticality=4))
    assert alerts(engine) == ["updated 4"]


def test_lists_say_what_is_held_back(client: FlaskClient, engine: Engine) -> None:
    wish(engine, threshold=4)
    apply(engine, change("opened"), change("opened", about="jam-2", criticality=4))
    for held, expected in (("true", ["jam-1"]), ("false", ["jam-2"])):
        found = client.get(f"/api/v1/notices?user=alice&held={held}").json["notices"]
        assert [one["about"]["id"] for one in found] == expected
    (one,) = client.get("/api/v1/notices?user=alice&held=true").json["notices"]
    assert one["held_because"] == "below-threshold"

"""Events opened by hand are events like any other: told, standing, ended, and undone."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from citywise.backend.city.events import event_object
from citywise.backend.ingest.standing import checked
from citywise.backend.operations import byhand, drafts, schedule
from citywise.backend.store.models import AuditRow, EventRow, InletRow, OperatorEventRow, OutboxRow
from citywise.backend.times import parse_ms
from tests.api.town import NOON, Town
from tests.operations.conftest import ROAD

EVENTS = "/api/v1/operator/events"
WORKS = {"type": "RoadWorks", "level": 4, "place_id": "158324"}
SQUARE = {"type": "Point", "coordinates": [10.2094, 56.1572]}
EARLIER, LATER, EVENING = (f"2014-08-05T{hour}:00:00Z" for hour in ("11", "13", "18"))


def told(town: Town) -> list[tuple[str, Any]]:
    """Announcements of events, the oldest first."""
    with town.engine.connect() as connection:
        rows = connection.execute(select(OutboxRow.kind, OutboxRow.body).order_by(OutboxRow.id))
        return [(kind, body) for kind, body in rows]


def kinds(town: Town) -> list[str]:
    return [kind for kind, _ in told(town)]


def standing(town: Town) -> list[tuple[str, Any]]:
    """What the ingest is to write into the log."""
    with town.engine.connect() as connection:
        rows = connection.execute(select(InletRow.__table__).order_by(InletRow.id)).all()
    assert all(row.subject == "event" for row in rows)
    for row in rows:
        checked(row.subject, row.key, row.body)  # or the ingest would refuse it
    return [(row.key, row.body) for row in rows]


def opened(client: FlaskClient, **more: Any) -> dict[str, Any]:
    answer = client.post(EVENTS, json={**WORKS, **more})
    assert answer.status_code == 201, answer.json
    assert answer.json is not None
    return dict(answer.json)


def undo(client: FlaskClient, number: int) -> TestResponse:
    return client.post(f"/api/v1/audit/{number}/undo")


def public(client: FlaskClient, event: str) -> Any:
    return client.get(f"/api/v1/events/{event}").json


# --- Opening and ending ------------------------------------------------------------------


def test_an_opened_event_is_an_event_of_the_city(client: FlaskClient, town: Town) -> None:
    found = opened(client, until=EVENING)
    assert found["id"] == "RoadWorks-158324-20140805T120000Z"
    assert (found["state"], found["start"], found["until"]) == ("open", NOON, EVENING)
    place = {
        "id": "158324",
        "name": "Ringgaden",
        "kind": "road",
        "lat": pytest.approx(56.151),
        "lon": 10.2,
    }
    shown = public(client, found["id"])
    assert shown == {
        "id": found["id"],
        "type": "RoadWorks",
        "level": 4,
        "place": place,
        "start": NOON,
        "confirmed": NOON,
        "end": None,
        "request": "operator",
        "causes": {"opened": []},
    }
    assert told(town) == [("event.opened", shown)]
    line = {"type": "LineString", "coordinates": ROAD}
    ((key, body),) = standing(town)
    assert key == found["id"]
    assert body == {
        "type": "RoadWorks",
        "level": 4,
        "place_id": "158324",
        "name": "Ringgaden",
        "geometry": line,
        "start_ms": parse_ms(NOON),
        "source": "authority",
    }


def test_an_event_may_be_at_no_place_that_sensors_watch(client: FlaskClient, town: Town) -> None:
    body = {"type": "SportsEvent", "geometry": SQUARE, "name": "Town hall square"}
    found = client.post(EVENTS, json=body).json
    assert found["geometry"] == SQUARE
    assert (found["name"], found["level"]) == ("Town hall square", 3)
    shown = public(client, found["id"])["place"]
    assert (shown["name"], shown["lat"], shown["lon"]) == ("Town hall square", 56.1572, 10.2094)
    assert shown["id"].startswith("spot-")
    assert standing(town)[0][1]["geometry"] == SQUARE
    feature = client.get("/api/v1/events.geojson").json["features"][0]
    assert feature["geometry"] == SQUARE


def test_an_ended_event_stands_no_more(client: FlaskClient, town: Town) -> None:
    found = opened(client)
    town.running(LATER)
    done = client.post(f"{EVENTS}/{found['id']}/end")
    assert (done.json["state"], done.json["end"]) == ("ended", LATER)
    assert public(client, found["id"])["end"] == LATER
    assert kinds(town) == ["event.opened", "event.cleared"]
    assert standing(town)[-1] == (found["id"], None)
    again = client.post(f"{EVENTS}/{found['id']}/end")
    assert (again.status_code, again.json["type"]) == (409, "urn:citywise:problem:event-over")


def test_a_change_is_told(client: FlaskClient, town: Town) -> None:
    found = opened(client, until=EVENING)
    changed = {"level": 5, "name": "Ringgaden, both lanes", "until": None}
    done = client.patch(f"{EVENTS}/{found['id']}", json=changed)
    assert (done.json["level"], done.json["name"], done.json["until"]) == (5, changed["name"], None)
    kind, shown = told(town)[-1]
    assert (kind, shown["level"], shown["place"]["name"]) == ("event.updated", 5, changed["name"])
    assert standing(town)[-1][1]["level"] == 5
    assert standing(town)[-1][1]["start_ms"] == parse_ms(NOON)


def test_an_event_of_the_citys_rules_is_not_an_operators_to_end(
    client: FlaskClient, town: Town
) -> None:
    town.event("jam", "158324", NOON)
    assert client.post(f"{EVENTS}/jam/end").status_code == 404
    assert client.patch(f"{EVENTS}/jam", json={"level": 1}).status_code == 404
    assert public(client, "jam")["end"] is None


def test_events_are_listed_by_state_with_the_types_there_are(
    client: FlaskClient, town: Town
) -> None:
    first = opened(client)
    planned = opened(client, type="Accident", start=LATER)
    client.post(f"{EVENTS}/{first['id']}/end")
    listed = client.get(EVENTS).json
    assert [event["id"] for event in listed["events"]] == [planned["id"]]
    over = client.get(f"{EVENTS}?state=ended,withdrawn").json["events"]
    assert [event["id"] for event in over] == [first["id"]]
    closure = {"type": "RoadClosure", "category": "TransportationEvent"}
    assert {
        **closure,
        "labels": {"en": "road closure", "da": "vejspærring", "de": "Straßensperrung"},
    } in listed["types"]
    assert not {"CityEvent", "TransportationEvent"} & set(drafts.types())


# --- By themselves -----------------------------------------------------------------------


def test_a_planned_event_begins_and_ends_by_itself(client: FlaskClient, town: Town) -> None:
    found = opened(client, start=LATER, until=EVENING)
    assert found["state"] == "planned"
    assert client.get(f"/api/v1/events/{found['id']}").status_code == 404
    at = parse_ms
    assert [schedule.sweep(town.engine, at(t)) for t in (NOON, LATER, LATER)] == [0, 1, 0]
    assert public(client, found["id"])["start"] == LATER
    late = at(EVENING) + 40_000
    assert [schedule.sweep(town.engine, t) for t in (late, late)] == [1, 0]
    over = public(client, found["id"])
    assert (over["end"], over["confirmed"]) == (EVENING, EVENING)
    assert kinds(town) == ["event.opened", "event.cleared"]


def test_an_event_whose_whole_time_was_slept_through_is_told_and_ended(
    client: FlaskClient, town: Town
) -> None:
    found = opened(client, start=LATER, until=EVENING)
    late = parse_ms(EVENING) + 1
    assert [schedule.sweep(town.engine, late) for _ in range(3)] == [1, 1, 0]
    assert public(client, found["id"])["end"] == EVENING


def test_a_planned_event_that_is_ended_was_never_there(client: FlaskClient, town: Town) -> None:
    found = opened(client, start=LATER)
    assert client.post(f"{EVENTS}/{found['id']}/end").json["state"] == "withdrawn"
    assert schedule.sweep(town.engine, parse_ms(EVENING)) == 0
    assert told(town) == []


def test_the_start_of_a_planned_event_may_change_into_the_past(
    client: FlaskClient, town: Town
) -> None:
    found = opened(client, start=LATER)
    moved = client.patch(f"{EVENTS}/{found['id']}", json={"start": EARLIER}).json
    assert (moved["state"], moved["start"]) == ("open", EARLIER)
    assert kinds(town) == ["event.opened"]
    answer = client.patch(f"{EVENTS}/{found['id']}", json={"start": LATER})
    assert answer.status_code == 422
    assert answer.json["errors"][0]["path"] == "start"


# --- What is refused ---------------------------------------------------------------------


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"type": "CityEvent"}, "type"),
    ({"type": 'RoadWorks"). leak(X) :- secret(X). %'}, "type"),
    ({"level": 6}, "level"),
    ({"level": True}, "level"),
    ({"geometry": SQUARE}, "body"),
    ({"place_id": None}, "body"),
    ({"place_id": None, "geometry": SQUARE}, "body"),
    ({"place_id": None, "geometry": {**SQUARE, "coordinates": [10, 560]}}, "geometry"),
    ({"start": "2014-08-05T12:00:00"}, "start"),
    ({"until": EARLIER}, "until"),
    ({"start": EVENING, "until": LATER}, "until"),
    ({"start": EARLIER, "until": "2014-08-05T11:30:00Z"}, "until"),
    ({"name": "two\nlines"}, "name"),
    ({"request": "traffic_jam"}, "request"),
    ({"id": "mine"}, "id"),
]
"""What is wrong with an event, and the field that is to be named."""


def test_a_wrong_event_is_refused_with_the_field_at_fault(client: FlaskClient, town: Town) -> None:
    for body, path in WRONG:
        answer = client.post(EVENTS, json={**WORKS, **body})
        assert answer.status_code == 422, body
        assert answer.json is not None
        assert answer.json["errors"][0]["path"].startswith(path), body
    assert told(town) == []
    with town.engine.connect() as connection:
        assert connection.execute(select(OperatorEventRow.id)).all() == []


def test_an_unknown_place_is_named(client: FlaskClient, town: Town) -> None:
    answer = client.post(EVENTS, json={**WORKS, "place_id": "nowhere"})
    assert answer.status_code == 404
    assert "'nowhere'" in answer.json["detail"]


@pytest.mark.parametrize(
    ("times", "status"),
    [
        ({}, 409),
        ({"start": LATER}, 409),
        ({"start": EVENING}, 201),
        ({"start": EARLIER, "until": None}, 409),
        ({"type": "RoadClosure"}, 201),
    ],
)
def test_no_two_of_a_type_at_a_place_at_one_time(
    client: FlaskClient, town: Town, times: dict[str, Any], status: int
) -> None:
    first = opened(client, until=EVENING)
    answer = client.post(EVENTS, json={**WORKS, **times})
    assert answer.status_code == status, answer.json
    if status == 409:
        assert first["id"] in answer.json["detail"]
        assert len(told(town)) == 1


def test_nor_may_a_change_make_them_meet(client: FlaskClient, town: Town) -> None:
    first = opened(client, until=LATER)
    second = opened(client, start=EVENING)
    answer = client.patch(f"{EVENTS}/{first['id']}", json={"until": None})
    assert (answer.status_code, answer.json["type"]) == (409, "urn:citywise:problem:event-exists")
    assert second["id"] in answer.json["detail"]
    assert client.get(EVENTS).json["events"][1]["until"] == LATER


def test_the_same_may_open_again_at_the_same_time_under_another_id(
    client: FlaskClient, town: Town
) -> None:
    first = opened(client)
    client.post(f"{EVENTS}/{first['id']}/end")
    assert opened(client)["id"] == f"{first['id']}-2"


def test_an_event_that_the_rules_opened_keeps_its_id(client: FlaskClient, town: Town) -> None:
    name = "RoadWorks-158324-20140805T120000Z"
    town.event(name, "158324", NOON, kind="RoadWorks")
    assert opened(client)["id"] == f"{name}-2"


# --- Audit and undo ----------------------------------------------------------------------


def test_what_was_opened_is_withdrawn_by_undoing_it(client: FlaskClient, town: Town) -> None:
    found = opened(client)
    assert undo(client, found["audit"]).status_code == 200
    assert client.get(f"{EVENTS}?state=withdrawn").json["events"][0]["id"] == found["id"]
    assert public(client, found["id"])["end"] == NOON
    assert undo(client, found["audit"]).status_code == 409


def test_what_was_ended_is_open_again_by_undoing_it(client: FlaskClient, town: Town) -> None:
    found = opened(client, until=LATER)
    ended = client.post(f"{EVENTS}/{found['id']}/end").json
    town.running(EVENING)
    assert undo(client, ended["audit"]).status_code == 200
    (again,) = client.get(EVENTS).json["events"]
    # Its planned end has passed: somebody has to end it now.
    assert (again["id"], again["state"], again["until"]) == (found["id"], "open", None)
    assert public(client, found["id"])["end"] is None
    assert kinds(town) == ["event.opened", "event.cleared", "event.opened"]
    assert standing(town)[-1][1] is not None


def test_opening_cannot_be_undone_where_the_event_is_over(client: FlaskClient, town: Town) -> None:
    found = opened(client)
    client.post(f"{EVENTS}/{found['id']}/end")
    answer = undo(client, found["audit"])
    assert (answer.status_code, answer.json["type"]) == (409, "urn:citywise:problem:not-undoable")
    assert kinds(town) == ["event.opened", "event.cleared"]


def test_a_planned_event_that_was_withdrawn_is_planned_again(
    client: FlaskClient, town: Town
) -> None:
    found = opened(client, start=LATER)
    ended = client.post(f"{EVENTS}/{found['id']}/end").json
    undo(client, ended["audit"])
    assert client.get(EVENTS).json["events"][0]["state"] == "planned"
    assert schedule.sweep(town.engine, parse_ms(LATER)) == 1


def test_a_change_is_taken_back(client: FlaskClient, town: Town) -> None:
    found = opened(client, until=EVENING)
    changed = client.patch(f"{EVENTS}/{found['id']}", json={"level": 1, "name": "x", "until": None})
    assert undo(client, changed.json["audit"]).status_code == 200
    (again,) = client.get(EVENTS).json["events"]
    assert (again["level"], again["name"], again["until"]) == (4, "Ringgaden", EVENING)
    assert told(town)[-1][1]["level"] == 4


def test_a_change_after_which_something_else_changed_cannot_be_taken_back(
    client: FlaskClient, town: Town
) -> None:
    found = opened(client)
    first = client.patch(f"{EVENTS}/{found['id']}", json={"level": 1}).json
    client.patch(f"{EVENTS}/{found['id']}", json={"level": 2})
    answer = undo(client, first["audit"])
    assert (answer.status_code, answer.json["type"]) == (409, "urn:citywise:problem:not-undoable")
    assert client.get(EVENTS).json["events"][0]["level"] == 2


def test_an_end_is_not_undone_where_another_has_begun_since(
    client: FlaskClient, town: Town
) -> None:
    first = opened(client)
    ended = client.post(f"{EVENTS}/{first['id']}/end").json
    second = opened(client)
    answer = undo(client, ended["audit"])
    assert answer.status_code == 409
    assert second["id"] in answer.json["detail"]


def test_every_act_is_in_the_audit_log_with_what_was_before(
    client: FlaskClient, town: Town
) -> None:
    found = opened(client)
    client.patch(f"{EVENTS}/{found['id']}", json={"level": 1})
    client.post(f"{EVENTS}/{found['id']}/end")
    with town.engine.connect() as connection:
        rows = connection.execute(select(AuditRow.__table__).order_by(AuditRow.id)).all()
    assert [row.action for row in rows] == ["event.opened", "event.changed", "event.ended"]
    assert {row.target for row in rows} == {found["id"]}
    assert {row.actor for row in rows} == {"demo"}
    assert [row.before and row.before["level"] for row in rows] == [None, 4, 1]
    assert [row.after["state"] for row in rows] == ["open", "open", "ended"]


def test_a_place_that_is_removed_later_takes_no_event_with_it(
    client: FlaskClient, town: Town
) -> None:
    """An event opened by hand carries where it is."""
    found = opened(client)
    with town.engine.connect() as connection:
        row = connection.execute(select(EventRow.__table__)).mappings().one()
        event = byhand.find(connection, found["id"])
    assert event_object(dict(row), None)["place"]["name"] == "Ringgaden"
    assert event.place["geometry"]["coordinates"] == ROAD

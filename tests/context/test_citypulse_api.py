"""`/citypulse/contextual_events_request` takes and gives CityPulse's messages."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update
from sqlalchemy.orm import Session
from werkzeug.test import TestResponse

from citywise.backend.api import sessions
from citywise.backend.ingest.standing import CONTEXT
from citywise.backend.settings import Settings
from citywise.backend.store.models import InletRow, InstanceRow, WishesRow
from tests.api.server import serving
from tests.api.town import Town, soon
from tests.context.conftest import Sample

ADDRESS = "/citypulse/contextual_events_request"
ROUTE = [{"latitude": 56.15, "longitude": 10.2}, {"latitude": 56.2, "longitude": 10.2}]
BASE = "https://w3id.org/citywise/event/"


def request(place: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A contextual event request by car, as the samples are; by default for a route."""
    place = place or {"type": "ROUTE", "route": ROUTE}
    elements = [
        {"name": "EVENT_LEVEL", "value": {"value": 30}},
        {"name": "DISTANCE", "value": {"value": 70}},
    ]
    return {
        "messageType": "ContextualEventRequest",
        "place": orjson.dumps(place).decode(),
        "filteringFactors": [{"name": "ACTIVITY", "values": [{"value": "CarCommute"}]}],
        "rankingFactor": {"type": "LINEAR", "rankingElements": elements},
        **more,
    }


def position(lat: float, lon: float = 10.2) -> dict[str, Any]:
    coordinate = {"latitude": lat, "longitude": lon}
    return {"messageType": "UserGPSCoordinate", "userCoordinate": coordinate}


def told(answer: TestResponse) -> dict[str, int]:
    """Criticality by event."""
    assert answer.status_code == 200, answer.text
    (found,) = answer.json.values()
    assert answer.json == {"contextualEvents": found}
    return {e["eventId"].removeprefix(BASE): e["contextualCriticality"] for e in found}


def start(client: FlaskClient, **more: Any) -> dict[str, str]:
    """A new session, as the header that names it."""
    answer = client.post(ADDRESS, json=request(**more))
    assert answer.status_code == 200, answer.text
    return {"Citypulse-Session": answer.headers["Citypulse-Session"]}


def inlet(town: Town) -> list[tuple[str, str, Any]]:
    with Session(town.engine) as session:
        rows = session.execute(select(InletRow).order_by(InletRow.id)).scalars()
        return [(row.subject, row.key, row.body) for row in rows]


def gone(session: str) -> list[tuple[str, str, Any]]:
    """What goes into the log when a session ends."""
    return [(subject, session, None) for subject in ("instance", *CONTEXT)]


# --- Asking ------------------------------------------------------------------------------


def test_a_request_is_answered_with_what_is_critical_on_the_route(client: FlaskClient) -> None:
    """As long as nobody knows where the user is, the levels 5 and 1 alone count."""
    answer = client.post(ADDRESS, json=request())
    assert told(answer) == {"jam-30": 5, "jam-5": 1}
    assert list(told(answer)) == ["jam-30", "jam-5"]
    first = answer.json["contextualEvents"][0]
    place = orjson.loads(first.pop("eventPlace"))
    assert place["type"] == "POINT"
    assert place["point"] == pytest.approx({"longitude": 10.2, "latitude": 56.18})
    assert first == {
        "eventId": BASE + "jam-30",
        "eventCategory": {"categoryName": "http://purl.oclc.org/NET/UNIS/sao/ec#TrafficJam"},
        "eventType": {"typeName": "http://purl.oclc.org/NET/UNIS/sao/ec#TransportationEvent"},
        "eventSource": "SENSOR",
        "eventLevel": 5,
        "eventTime": 1407222600000,
        "contextualCriticality": 5,
    }


def test_a_jam_against_the_direction_of_travel_is_not_critical(client: FlaskClient) -> None:
    back = {"type": "ROUTE", "route": ROUTE[::-1]}
    assert told(client.post(ADDRESS, json=request(back))) == {}


def test_at_a_point_of_interest_only_what_is_chosen_is_told(client: FlaskClient) -> None:
    garage = {"type": "POINT", "point": {"latitude": 56.1493, "longitude": 10.2062}}
    assert told(client.post(ADDRESS, json=request(garage))) == {"full": 4}
    jams = {"name": "EVENT_CATEGORY", "values": [{"value": "TrafficJam"}]}
    only_jams = request(garage, filteringFactors=[jams])
    assert told(client.post(ADDRESS, json=only_jams)) == {}


def test_in_an_area_what_lies_within_is_told(client: FlaskClient) -> None:
    corners = [(10.1, 56.17), (10.3, 56.17), (10.3, 56.19), (10.1, 56.19)]
    area = {"type": "AREA", "area": [{"longitude": x, "latitude": y} for x, y in corners]}
    assert set(told(client.post(ADDRESS, json=request(area)))) == {"jam-30"}


def test_what_does_not_affect_the_activity_is_not_told(client: FlaskClient) -> None:
    walking = [{"name": "ACTIVITY", "values": [{"value": "Walking"}]}]
    assert told(client.post(ADDRESS, json=request(filteringFactors=walking))) == {}


@pytest.mark.parametrize(
    "name",
    [
        "contextual_event_request",
        "contextual_event_request_old_style_parking",
        "contextual_event_request_old_style_travel",
    ],
)
def test_the_samples_are_accepted(client: FlaskClient, sample: Sample, name: str) -> None:
    answer = client.post(ADDRESS, json=sample(name))
    assert answer.status_code == 200
    assert ("Citypulse-Note" in answer.headers) == name.endswith("parking")


def test_a_request_registers_an_instance_in_table_and_log(client: FlaskClient, town: Town) -> None:
    session = start(client)["Citypulse-Session"]
    with Session(town.engine) as database:
        row = database.get_one(InstanceRow, session)
        assert (row.app, row.template) == ("contextual_filtering", "critical_events")
        assert (row.values["weight_distance"], row.values["activities"]) == (70, ["DrivingCar"])
        standing = {n: getattr(row, n) for n in ("app", "template", "version", "user", "values")}
    assert inlet(town) == [("instance", session, standing)]


# --- Going on ----------------------------------------------------------------------------


def test_positions_make_nearness_count_and_what_is_passed_go(client: FlaskClient) -> None:
    """Weights 70/30, horizon 5 km; values of nearness 4.56 and 2.33, then 3.22."""
    session = start(client)
    assert told(client.post(ADDRESS, json=position(56.15), headers=session)) == {
        "jam-5": 3,  # 0.7 · 4.56 + 0.3 · 1 = 3.49
        "jam-30": 3,  # 0.7 · 2.33 + 0.3 · 5 = 3.13
    }
    further = client.post(ADDRESS, json=position(56.16), headers=session)
    assert told(further) == {"jam-30": 4}  # 0.7 · 3.22 + 0.3 · 5 = 3.75
    assert further.headers["Citypulse-Session"] == session["Citypulse-Session"]
    assert told(client.post(ADDRESS, json=position(56.16, 10.21), headers=session)) == {}


def test_the_session_may_be_named_in_the_address(client: FlaskClient) -> None:
    session = start(client)["Citypulse-Session"]
    answer = client.post(f"{ADDRESS}?session={session}", json=position(56.16))
    assert told(answer) == {"jam-30": 4}


def test_a_position_goes_into_the_log(client: FlaskClient, town: Town) -> None:
    session = start(client)
    answer = client.post(ADDRESS, json=position(10.2, 56.15), headers=session)
    assert "exchanged back" in answer.headers["Citypulse-Note"]
    stands = {"lat": 56.15, "lon": 10.2, "heading": None, "along_m": None}
    assert inlet(town)[1:] == [("position", session["Citypulse-Session"], stands)]


def test_a_session_may_ask_for_something_else(client: FlaskClient, town: Town) -> None:
    session = start(client)
    garage = {"type": "POINT", "point": {"latitude": 56.1493, "longitude": 10.2062}}
    assert told(client.post(ADDRESS, json=request(garage), headers=session)) == {"full": 4}
    assert told(client.post(ADDRESS, json=position(56.1493, 10.2062), headers=session)) == {
        "full": 5  # 0.7 · 5 + 0.3 · 4 = 4.7
    }
    with Session(town.engine) as database:
        (row,) = database.execute(select(InstanceRow)).scalars()
        assert row.values["interest"] == "area"


def test_a_session_ends(client: FlaskClient, town: Town) -> None:
    session = start(client)
    assert client.delete(ADDRESS, headers=session).status_code == 204
    name = session["Citypulse-Session"]
    assert inlet(town)[1:] == gone(name)
    again = client.post(ADDRESS, json=position(56.16), headers=session)
    assert (again.status_code, again.mimetype) == (404, "application/problem+json")
    assert "send a ContextualEventRequest" in again.json["detail"]


def test_a_session_tells_its_position_and_wishes_while_it_lasts(
    client: FlaskClient, town: Town
) -> None:
    """And nobody those of a session that they made up."""
    session = start(client)
    name = session["Citypulse-Session"]
    context, wishes = f"/api/v1/users/{name}/context", f"/api/v1/me/wishes?user={name}"
    told = {"position": {"lat": 56.16, "lon": 10.2}}
    assert client.put(context, json=told).json["forgotten"] == []
    more = client.patch(context, json={**told, "activity": "Walking"})
    assert [fault["path"] for fault in more.json["errors"]] == ["activity"]
    assert client.put(wishes, json={"threshold": 2}).status_code == 200
    client.delete(ADDRESS, headers=session)
    waiting = inlet(town)
    assert [subject for subject, _, body in waiting if body] == ["instance", "position"]
    assert client.put(context, json=told).status_code == 404
    assert client.put(wishes, json={"threshold": 2}).status_code == 404
    assert client.get(f"/api/v1/events/stream?user={name}").status_code == 404
    assert inlet(town) == waiting
    with town.engine.connect() as connection:
        assert connection.execute(select(WishesRow.user)).all() == []


def test_a_session_that_was_long_silent_is_forgotten(client: FlaskClient, town: Town) -> None:
    silent, heard = start(client), start(client)
    with Session(town.engine) as database:
        database.execute(update(InstanceRow).values(updated_ms=0))
        database.commit()
    client.post(ADDRESS, json=position(56.16), headers=heard)
    start(client)
    assert client.post(ADDRESS, json=position(56.16), headers=silent).status_code == 404
    assert client.post(ADDRESS, json=position(56.16), headers=heard).status_code == 200


def test_silent_sessions_end_though_nobody_registers(client: FlaskClient, town: Town) -> None:
    silent, heard = (start(client)["Citypulse-Session"] for _ in range(2))
    with town.engine.begin() as connection:
        connection.execute(update(InstanceRow).values(updated_ms=0))
        sessions.move(connection, heard, {"lat": 56.16, "lon": 10.2})
        count = len(inlet(town))
        assert sessions.forget_silent(connection) == 1
        assert sessions.forget_silent(connection) == 0
        assert connection.execute(select(InstanceRow.id)).scalars().all() == [heard]
    assert inlet(town)[count + 1 :] == gone(silent)


def test_a_session_that_is_heard_while_others_are_ended_goes_on(
    client: FlaskClient, town: Town
) -> None:
    session = start(client)["Citypulse-Session"]
    with town.engine.begin() as connection:
        sessions.forget(connection, session, silent_since=1)
        assert sessions.find(connection, session)["id"] == session


@pytest.mark.slow
def test_the_web_process_ends_silent_sessions_by_itself(
    client: FlaskClient, town: Town, settings: Settings
) -> None:
    start(client)
    with town.engine.begin() as connection:
        connection.execute(update(InstanceRow).values(updated_ms=0))
    with serving(settings):
        soon(lambda: len(inlet(town)) >= 3)
    assert {body for _subject, _key, body in inlet(town)[1:]} == {None}


@pytest.mark.parametrize("name", ["citypulse-mine", "citypulse-mine.jam"])
def test_an_instance_whose_id_begins_like_a_session_is_kept_and_not_counted(
    client: FlaskClient, town: Town, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 1)
    wish = {"app": "contextual_filtering", "template": "critical_events", "user": name}
    assert client.put(f"/api/v1/instances/{name}", json=wish).status_code == 201
    with town.engine.begin() as connection:
        connection.execute(update(InstanceRow).values(updated_ms=0))
    start(client)
    assert client.get(f"/api/v1/instances/{name}").status_code == 200


def test_no_instance_of_others_has_the_id_of_a_session(client: FlaskClient) -> None:
    wish = {"app": "contextual_filtering", "template": "critical_events", "user": "alice"}
    name = "citypulse-" + "0" * 32
    put = client.put(f"/api/v1/instances/{name}", json=wish)
    post = client.post("/api/v1/instances", json={**wish, "id": name})
    assert put.status_code == 404
    assert (post.status_code, post.json["errors"][0]["path"]) == (422, "id")


def test_no_more_sessions_are_kept_than_can_be(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(client)
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 1)
    answer = client.post(ADDRESS, json=request())
    assert (answer.status_code, answer.json["type"]) == (
        503,
        "urn:citywise:problem:too-many-sessions",
    )


# --- What is wrong -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"messageType": "Hello"}, "messageType"),
        (request({"type": "POINT"}), "place"),
        (request(filteringFactors=[{"name": "ACTIVITY", "values": [{"value": "x"}]}]),
         "filteringFactors.0.values.0"),
        (
            request({"type": "AREA", "area": [ROUTE[0], ROUTE[1], ROUTE[0], ROUTE[1]]}),
            "place",
        ),
    ],
)  # fmt: skip
def test_a_problem_names_the_field(client: FlaskClient, body: dict[str, Any], path: str) -> None:
    answer = client.post(ADDRESS, json=body)
    assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    assert [fault["path"] for fault in answer.json["errors"]] == [path]


def test_a_position_needs_a_session(client: FlaskClient, town: Town) -> None:
    answer = client.post(ADDRESS, json=position(56.16))
    assert (answer.status_code, answer.json["parameter"]) == (400, "session")
    unknown = client.post(ADDRESS, json=position(56.16), headers={"Citypulse-Session": "alice"})
    assert unknown.status_code == 404
    assert client.delete(ADDRESS).status_code == 400
    assert inlet(town) == []


def test_instances_of_others_are_no_sessions(client: FlaskClient, town: Town) -> None:
    values = {"interest": "around_me"}
    wish = {"app": "contextual_filtering", "template": "critical_events", "user": "alice"}
    made = client.post("/api/v1/instances", json={**wish, "values": values, "id": "alice.mine"})
    assert made.status_code == 201
    named = {"Citypulse-Session": "alice.mine"}
    assert client.post(ADDRESS, json=request(), headers=named).status_code == 404
    assert client.delete(ADDRESS, headers=named).status_code == 404

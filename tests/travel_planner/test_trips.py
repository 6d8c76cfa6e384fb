"""People follow a plan of theirs over HTTP: what they tell reaches the log, and nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from flask import Flask
from sqlalchemy import Engine, delete, select, update
from werkzeug.test import TestResponse

from citywise.apps.travel_planner import kept_plans, trips
from citywise.apps.travel_planner.tables import TripRow
from citywise.apps.travel_planner.trips import Trip
from citywise.apps.travel_planner.watching import Watch
from citywise.backend.ingest.keyring import Keyring
from citywise.backend.machine import REPOSITORY
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from citywise.backend.store.models import ConsentRow, InletRow, InstanceRow, OutboxRow
from citywise.backend.store.outbox import begin
from tests.api.accounts_alone import quick as quick
from tests.api.accounts_alone import settings as settings
from tests.api.browsers import Browser
from tests.api.templates import install, pack_of
from tests.api.town import Town
from tests.transit.oracle import Update
from tests.travel_planner import followed
from tests.travel_planner.bus_town import DAY, BusTown
from tests.travel_planner.followed import EAST, NOON_MS, WEST, Live
from tests.travel_planner.test_plans_api import valid

PACK = REPOSITORY / "apps" / "travel_planner"
Json = dict[str, Any]


@pytest.fixture
def anna(app: Flask, town: Town) -> Browser:
    """Who has an account, agrees to be followed, and has asked for two plans."""
    town.running()
    install(town, *pack_of(PACK).templates)
    for name in ("MAIN", "EAST"):
        town.garage(name, name.title())
    with app.app_context():
        kept_plans.kept().keep("pl_way", orjson.dumps(followed.travel_answer(Live())))
        kept_plans.kept().keep("pl_park", orjson.dumps(followed.parking_answer(Live())))
    found = Browser.of(app)
    assert found.sign_up("Anna").status_code == 201
    for subject in ("position", "route", "activity"):
        assert found.put(f"/me/consents/{subject}", {"given": True}).status_code == 200
    return found


def start(browser: Browser, plan: str = "pl_way", **more: Any) -> Json:
    answer = browser.post("/trips", {"plan": plan, **more})
    assert answer.status_code == 201, answer.json
    return cast("Json", answer.json)


def go(browser: Browser, trip: Json, lat: float, lon: float = WEST, **more: Any) -> Json:
    answer = browser.put(f"/trips/{trip['id']}/position", {"lat": lat, "lon": lon, **more})
    assert answer.status_code == 200, answer.json
    return cast("Json", answer.json)


def answered(browser: Browser, trip: Json, **body: Any) -> TestResponse:
    return browser.post(f"/trips/{trip['id']}/proposal", body)


def inlet(engine: Engine) -> list[tuple[str, str, Any]]:
    """What has been told to the log, taken away."""
    with engine.begin() as connection:
        rows = connection.execute(select(InletRow).order_by(InletRow.id)).all()
        connection.execute(delete(InletRow))
    return [(row.subject, row.key, row.body) for row in rows]


def told(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        rows = connection.execute(select(OutboxRow.body).where(OutboxRow.kind == "trip"))
        return [row.body["change"] for row in rows]


def stored(engine: Engine, settings: Settings, trip_id: str) -> Trip:
    with engine.connect() as connection:
        found = trips.find(connection, trips.boxes_of(settings), trip_id)
    assert found is not None
    return found


def propose(engine: Engine, settings: Settings, trip_id: str) -> Json:
    """What the follower does when there is an accident."""
    live = Live(events=(followed.event(),))
    found = Watch(followed.planner()).look(stored(engine, settings, trip_id), (), live.refresh())
    assert found.proposal is not None
    with engine.begin() as connection:
        begin(connection)
        trip = stored(engine, settings, trip_id)
        changes = {"proposal": found.proposal, "number": found.proposal["number"]}
        trips.save(connection, trips.boxes_of(settings), trip.with_content(NOON_MS, **changes))
    proposal: Json = orjson.loads(orjson.dumps(found.proposal))
    return proposal


# --- Starting and ending -------------------------------------------------------------------------


def test_a_plan_is_followed(anna: Browser, engine: Engine) -> None:
    body = start(anna, choice="r1", position={"lat": 56.1501, "lon": WEST, "heading": 0.0})
    trip = body["trip"]
    assert (trip["kind"], trip["state"], body["ended"]) == ("travel", "following", None)
    assert trip["to"] == {"lat": 56.17, "lon": WEST, "name": "Main Street"}
    assert trip["progress"]["remaining_s"] == pytest.approx(trip["plan"]["time_s"], rel=0.02)
    assert "way" not in trip["plan"]
    entries = {subject: (key, body) for subject, key, body in inlet(engine)}
    assert entries["instance"][0] == f"{anna.user}.trip"
    assert entries["instance"][1]["template"] == "ahead"
    assert entries["route"][1]["coordinates"] == trip["plan"]["geometry"]["coordinates"]
    assert entries["activity"] == (anna.user, {"activity": "DrivingCar"})
    assert entries["position"] == (anna.user, {"lat": 56.1501, "lon": WEST, "heading": 0.0})
    assert anna.get("/trips").json["trips"] == [anna.get(f"/trips/{trip['id']}").json["trip"]]
    assert told(engine) == ["started"]


def test_a_journey_is_called_as_its_user_calls_where_it_leads(anna: Browser) -> None:
    trip = start(anna, to_name="Office")["trip"]
    assert trip["to"] == {"lat": 56.17, "lon": WEST, "name": "Office"}
    refused = anna.post("/trips", {"plan": "pl_main", "to_name": "x" * 201})
    assert refused.status_code == 422


def test_a_garage_is_followed_without_a_route(anna: Browser, engine: Engine) -> None:
    trip = start(anna, "pl_park")["trip"]
    assert (trip["kind"], trip["plan"]["id"]) == ("parking", "MAIN")
    assert "way" not in trip["plan"]["drive"]
    entries = {subject: body for subject, _key, body in inlet(engine)}
    assert entries["instance"]["template"] == "garage"
    assert entries["instance"]["values"]["garage"] == "MAIN"
    assert not {"route", "activity"} & entries.keys()


def test_where_one_goes_is_sealed(anna: Browser, engine: Engine, settings: Settings) -> None:
    trip = start(anna)["trip"]
    with engine.connect() as connection:
        row = dict(connection.execute(select(TripRow.__table__)).mappings().one())
        (announced,) = connection.scalars(select(OutboxRow.body)).all()
    assert "Main Street" not in str(row)
    assert "56.1" not in str(row)
    assert announced == {"trip": trip["id"], "kind": "travel", "change": "started"}
    assert Keyring(settings.keys_dir).forget(anna.user)
    with engine.connect() as connection:
        assert Boxes(settings.keys_dir, trips.TRIP).open([row["box"]]) == [None]
        assert trips.export(connection, settings, "nobody") == []


def test_starting_another_ends_the_first_and_that_can_be_undone(
    anna: Browser, engine: Engine
) -> None:
    first = start(anna)["trip"]
    parking = start(anna, "pl_park")
    assert parking["ended"] is None
    second = start(anna, choice="r2" if len(routes()) > 1 else None)
    assert second["ended"]["id"] == first["id"]
    assert second["ended"]["state"] == "ended"
    again = anna.post("/trips", {"resume": first["id"]}).json
    assert again["trip"]["id"] == first["id"]
    assert again["trip"]["state"] == "following"
    assert again["ended"]["id"] == second["trip"]["id"]
    states = {trip["id"]: trip["state"] for trip in anna.get("/trips").json["trips"]}
    assert list(states.values()) == ["following", "following", "ended"]


def routes() -> list[Any]:
    return list(followed.travel_answer(Live())["routes"])


def test_ending_forgets_what_was_told_for_it(anna: Browser, engine: Engine) -> None:
    trip = start(anna)["trip"]
    inlet(engine)
    assert anna.delete(f"/trips/{trip['id']}").json["trip"]["state"] == "ended"
    gone = [("instance", f"{anna.user}.trip"), ("route", anna.user), ("activity", anna.user)]
    assert inlet(engine) == [(*one, None) for one in [*gone, ("position", anna.user)]]
    with engine.connect() as connection:
        assert connection.scalars(select(InstanceRow.id)).all() == []
    assert anna.delete(f"/trips/{trip['id']}").status_code == 200
    assert inlet(engine) == []
    late = anna.put(f"/trips/{trip['id']}/position", {"lat": 56.15, "lon": WEST})
    assert (late.status_code, late.json["state"]) == (409, "ended")


def test_ended_trips_are_kept_for_a_day_and_not_too_many(anna: Browser, engine: Engine) -> None:
    for _ in range(trips.MOST_ENDED + 3):
        start(anna)
    with engine.begin() as connection:
        assert len(connection.scalars(select(TripRow.id)).all()) == trips.MOST_ENDED + 1
        assert trips.trim(connection, NOON_MS + trips.KEPT_MS) == 0
        assert trips.trim(connection, NOON_MS + trips.KEPT_MS + 1) == trips.MOST_ENDED
        assert connection.scalars(select(TripRow.state)).all() == ["following"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"plan": "pl_none"}, 404, "plan again"),
        ({"plan": "pl_way", "choice": "r99"}, 422, "expected one of r1"),
        ({}, 422, "expected one of `plan` and `resume`"),
        ({"plan": "pl_way", "resume": "tr_1"}, 422, "expected one of"),
        ({"resume": "tr_1"}, 404, "tr_1"),
        ({"plan": "pl_way", "position": {"lat": 100, "lon": 10}}, 422, "position.lat"),
        ({"plan": "pl_way", "position": {"lat": 56, "lon": 10, "at": "now"}}, 422, "ISO 8601"),
        ({"plan": 7}, 422, "plan"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_what_to_do(
    anna: Browser, body: Json, status: int, says: str
) -> None:
    answer = anna.post("/trips", body)
    assert answer.status_code == status
    assert says in answer.json["detail"]


def test_a_full_garage_cannot_be_chosen(app: Flask, anna: Browser) -> None:
    live = Live(garages=(followed.garage("MAIN", 100), followed.garage("EAST")))
    with app.app_context():
        kept_plans.kept().keep("pl_full", orjson.dumps(followed.parking_answer(live)))
    answer = anna.post("/trips", {"plan": "pl_full", "choice": "MAIN"})
    assert answer.status_code == 422
    assert "Choose another garage" in answer.json["detail"]


def test_a_journey_by_line_is_followed_and_one_of_several_others_taken(
    anna: Browser, app: Flask, engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    """Nothing of it is told to the rules of streets."""
    town = BusTown(tmp_path)
    with app.app_context():
        kept_plans.kept().keep("pl_line", orjson.dumps(town.answer))
    trip = start(anna, "pl_line", choice="r1")["trip"]
    assert (trip["journey"], trip["plan"]["mode"]) == (None, "transit")
    assert not {"route", "activity"} & {subject for subject, _, _ in inlet(engine)}
    town.told(Update("B0", DAY, "CANCELED"))
    town.trip = stored(engine, settings, trip["id"])
    seen = town.at(7)
    assert seen.proposal is not None
    changes = {"outlook": seen.outlook, "proposal": seen.proposal, "number": 1}
    with engine.begin() as connection:
        begin(connection)
        changed = town.trip.with_content(NOON_MS, **changes)
        trips.save(connection, trips.boxes_of(settings), changed)
    shown = anna.get(f"/trips/{trip['id']}").json["trip"]
    valid(app, "Trip", shown)
    assert shown["journey"]["broken"]["why"] == "trip_cancelled"
    refused = answered(anna, trip, answer="accept", number=1, option=9)
    assert (refused.status_code, refused.json["errors"][0]["path"]) == (422, "option")
    taken = answered(anna, trip, answer="accept", number=1, option=1).json["trip"]
    assert taken["plan"]["legs"] == shown["proposal"]["others"][0]["legs"]


# --- Moving --------------------------------------------------------------------------------------


def test_a_position_moves_the_trip_and_reaches_the_log(anna: Browser, engine: Engine) -> None:
    trip = start(anna)["trip"]
    inlet(engine)
    there = go(anna, trip, 56.16, accuracy_m=8.0)["trip"]
    assert there["progress"]["done_share"] == pytest.approx(0.5, abs=0.01)
    assert there["progress"]["remaining_s"] == pytest.approx(trip["plan"]["time_s"] / 2, rel=0.02)
    assert there["progress"]["off_route_m"] == pytest.approx(0, abs=1)
    assert inlet(engine) == [("position", anna.user, {"lat": 56.16, "lon": WEST})]
    assert told(engine) == ["started", "moved"]


def test_positions_out_of_order_are_ignored_and_those_without_a_time_count(anna: Browser) -> None:
    trip = start(anna)["trip"]
    go(anna, trip, 56.16, at="2026-01-01T12:00:10Z")
    late = go(anna, trip, 56.155, at="2026-01-01T12:00:09Z")
    assert late["ignored"] is True
    assert late["trip"]["position"]["lat"] == 56.16
    assert go(anna, trip, 56.155)["trip"]["position"]["lat"] == 56.155
    assert go(anna, trip, 56.156)["trip"]["position"]["lat"] == 56.156


def test_a_clock_that_was_wrong_once_stops_nobody(anna: Browser) -> None:
    trip = start(anna)["trip"]
    assert go(anna, trip, 56.152, at="2099-01-01T00:00:00Z")["trip"]["position"]["at"] is None
    there = go(anna, trip, 56.16, at="2026-01-01T12:00:09Z")
    assert there["trip"]["position"]["lat"] == 56.16
    assert "ignored" not in there
    beyond = {"lat": 56.16, "lon": WEST, "at": "9999-12-31T23:59:59-14:00"}
    refused = anna.put(f"/trips/{trip['id']}/position", beyond)
    assert refused.status_code == 422
    assert "ISO 8601" in refused.json["detail"]


def test_who_leaves_the_way_is_shown_to(anna: Browser) -> None:
    trip = start(anna)["trip"]
    progress = go(anna, trip, 56.16, EAST)["trip"]["progress"]
    assert progress["off_route"] is True
    assert progress["off_route_m"] == pytest.approx(746, abs=5)


@pytest.mark.parametrize("plan", ["pl_way", "pl_park"])
def test_who_is_there_has_arrived(anna: Browser, engine: Engine, plan: str) -> None:
    trip = start(anna, plan)["trip"]
    lat = 56.1699 if plan == "pl_way" else 56.1694
    assert go(anna, trip, lat)["trip"]["state"] == "arrived"
    assert told(engine)[-1] == "arrived"
    assert [entry for entry in inlet(engine) if entry[0] == "instance"][-1][2] is None


# --- Proposals -----------------------------------------------------------------------------------


def test_an_accepted_proposal_is_what_is_watched_and_undo_brings_the_old_one_back(
    anna: Browser, engine: Engine, settings: Settings
) -> None:
    trip = start(anna)["trip"]
    proposal = propose(engine, settings, trip["id"])
    where = f"/trips/{trip['id']}"
    shown = anna.get(where).json["trip"]["proposal"]
    assert shown["because"].startswith("There is an accident ahead")
    assert not {"way", "cause", "causes", "spent"} & shown.keys()
    danish = anna.get(where, **{"Accept-Language": "da"}).json["trip"]["proposal"]
    assert danish["because"].startswith("Der er en ulykke forude")
    assert danish["difference"]["time_s"] == proposal["difference"]["time_s"]
    assert danish["difference"]["text"] != shown["difference"]["text"]
    inlet(engine)
    accepted = answered(anna, trip, answer="accept", number=1).json["trip"]
    assert accepted["plan"]["geometry"] == proposal["geometry"]
    assert accepted["previous"]["geometry"] == trip["plan"]["geometry"]
    assert accepted["proposal"] is None
    route = next(body for subject, _key, body in inlet(engine) if subject == "route")
    assert route["coordinates"] == proposal["geometry"]["coordinates"]
    undone = answered(anna, trip, answer="undo").json["trip"]
    assert undone["plan"] == trip["plan"]
    assert undone["previous"] is None
    assert told(engine) == ["started", "accepted", "undone"]


def test_a_proposal_is_declined_or_put_off(
    anna: Browser, engine: Engine, settings: Settings
) -> None:
    trip = start(anna)["trip"]
    propose(engine, settings, trip["id"])
    later = answered(anna, trip, answer="snooze", minutes=5).json["trip"]
    assert later["snoozed_until"] == "2014-08-05T12:05:00Z"
    assert later["proposal"] is not None
    declined = answered(anna, trip, answer="decline").json["trip"]
    assert (declined["proposal"], declined["snoozed_until"]) == (None, None)
    assert stored(engine, settings, trip["id"]).content.declined[0]["cause"] == "crash"


@pytest.mark.parametrize(
    ("body", "slug"),
    [
        ({"answer": "accept", "number": 1}, "no-proposal"),
        ({"answer": "accept"}, "invalid"),
        ({"answer": "undo"}, "nothing-to-undo"),
        ({"answer": "perhaps"}, "invalid"),
        ({"answer": "snooze", "minutes": 0}, "invalid"),
    ],
)
def test_what_there_is_not_cannot_be_answered(anna: Browser, body: Json, slug: str) -> None:
    answer = answered(anna, start(anna)["trip"], **body)
    assert answer.json["type"] == f"urn:citywise:problem:{slug}"


def test_another_proposal_than_was_seen_is_not_accepted(
    anna: Browser, engine: Engine, settings: Settings
) -> None:
    trip = start(anna)["trip"]
    propose(engine, settings, trip["id"])
    answer = answered(anna, trip, answer="accept", number=2)
    assert answer.status_code == 409
    assert "proposal 1 is open" in answer.json["detail"]


# --- Whose it is ---------------------------------------------------------------------------------


def test_nobody_sees_or_changes_the_trips_of_others(app: Flask, anna: Browser) -> None:
    trip = start(anna)["trip"]
    bert = Browser.of(app)
    bert.sign_up("Bert")
    where = f"/trips/{trip['id']}"
    answers = [
        bert.get(where),
        bert.delete(where),
        bert.put(f"{where}/position", {"lat": 56.15, "lon": WEST}),
        bert.post(f"{where}/proposal", {"answer": "decline"}),
        bert.get(f"{where}/events"),
        bert.post("/trips", {"resume": trip["id"]}),
    ]
    assert [answer.status_code for answer in answers] == [404] * 6
    assert bert.get("/trips").json["trips"] == []
    assert Browser.of(app).get(where).status_code == 401


def test_without_consent_nobody_is_followed(anna: Browser, engine: Engine) -> None:
    trip = start(anna)["trip"]
    with engine.begin() as connection:
        gone = update(ConsentRow).where(ConsentRow.subject == "position").values(given_ms=None)
        connection.execute(gone)
    refused = anna.post("/trips", {"plan": "pl_way"})
    assert (refused.status_code, refused.json["subjects"]) == (403, ["position"])
    moved = anna.put(f"/trips/{trip['id']}/position", {"lat": 56.15, "lon": WEST})
    assert moved.status_code == 403


@pytest.mark.parametrize(("subject", "left"), [("position", "ended"), ("route", "following")])
def test_whoever_withdraws_what_following_needs_is_followed_no_more(
    anna: Browser, engine: Engine, settings: Settings, subject: str, left: str
) -> None:
    way, park = start(anna)["trip"], start(anna, "pl_park")["trip"]
    go(anna, way, 56.16)
    inlet(engine)
    assert anna.put(f"/me/consents/{subject}", {"given": False}).status_code == 200
    states = {trip["id"]: trip["state"] for trip in anna.get("/trips").json["trips"]}
    assert states == {way["id"]: "ended", park["id"]: left}
    assert ("instance", f"{anna.user}.trip", None) in inlet(engine)
    kept = stored(engine, settings, way["id"]).content.position
    assert (kept is None) is (subject == "position")


def test_a_phone_with_the_right_to_tell_context_tells_the_position_only(
    app: Flask, anna: Browser
) -> None:
    trip = start(anna)["trip"]
    made = anna.post("/me/tokens", {"label": "phone", "rights": ["context"]}).json
    phone = Browser.device(app, made["bearer"])
    assert go(phone, trip, 56.16)["trip"]["progress"]["done_share"] > 0.4
    assert phone.get(f"/trips/{trip['id']}").status_code == 403
    assert phone.delete(f"/trips/{trip['id']}").status_code == 403


def test_all_of_it_can_be_taken_along(anna: Browser, engine: Engine, settings: Settings) -> None:
    trip = start(anna)["trip"]
    with engine.connect() as connection:
        (found,) = trips.export(connection, settings, anna.user)
    assert found["id"] == trip["id"]
    assert found["plan"]["geometry"] == trip["plan"]["geometry"]
    assert orjson.dumps(found)


def test_the_stream_of_a_trip_tells_of_it_and_of_nothing_else(
    app: Flask, anna: Browser, town: Town
) -> None:
    trip = start(anna)["trip"]
    other = start(anna, "pl_park")["trip"]
    go(anna, trip, 56.16)
    go(anna, other, 56.16)
    town.event("jam-1", "MAIN", "2014-08-05T11:30:00Z")
    answer = anna.client.get(
        f"/api/v1/trips/{trip['id']}/events?last_event_id=0",
        environ_base={"REMOTE_ADDR": anna.address},
    )
    parts = answer.iter_encoded()
    hello, told = next(parts), next(parts)
    answer.close()
    assert b"event: hello" in hello
    events = [block.split(b"\n") for block in told.strip().split(b"\n\n")]
    assert [lines[1] for lines in events] == [b"event: trip"] * 2
    bodies = [orjson.loads(lines[2].removeprefix(b"data: ")) for lines in events]
    assert [body["change"] for body in bodies] == ["started", "moved"]
    assert {body["trip"]["id"] for body in bodies} == {trip["id"]}

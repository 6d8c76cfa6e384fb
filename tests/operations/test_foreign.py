"""What operators publish of a file in a format of others."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from flask.testing import FlaskClient

from citywise.backend.kinds import builtin
from citywise.backend.operations import foreign
from tests.api.town import Town
from tests.conftest import PACK
from tests.operations.test_events import EVENTS, kinds, told, undo

TRY, IMPORT = f"{EVENTS}/try", f"{EVENTS}/import"
STREET = [[10.2, 56.15], [10.2, 56.152]]
SOON, LATER, PAST = (f"2014-08-05T{hour}:00:00Z" for hour in ("13", "15", "11"))


def zone(identity: str, **more: Any) -> dict[str, Any]:
    """A work zone of WZDx, as its authors write one."""
    told = {"event_type": "work-zone", "road_names": ["Ringgaden"], "name": "New pipes"}
    told |= more.pop("core", {})
    shape = {"type": "LineString", "coordinates": more.pop("at", STREET)}
    properties = {
        "core_details": told,
        "vehicle_impact": "all-lanes-closed",
        "start_date": SOON,
        "end_date": LATER,
        **more,
    }
    return {"id": identity, "type": "Feature", "properties": properties, "geometry": shape}


def feed(*zones: dict[str, Any]) -> str:
    return json.dumps({"type": "FeatureCollection", "features": zones})


def offered(client: FlaskClient, content: str) -> dict[str, Any]:
    answer = client.post(TRY, json={"content": content})
    assert answer.status_code == 200, answer.json
    assert answer.json is not None
    return dict(answer.json)


def imported(client: FlaskClient, events: list[dict[str, Any]]) -> Any:
    answer = client.post(IMPORT, json={"events": events})
    assert answer.status_code in (200, 201), answer.json
    return answer.json


def test_a_file_is_shown_before_anything_of_it_is_kept(client: FlaskClient, town: Town) -> None:
    found = offered(
        client,
        feed(
            zone("a"),
            zone("b", core={"event_type": "detour"}, vehicle_impact="all-lanes-open"),
            zone("c", start_date="2014-08-05T01:00:00Z", end_date=PAST),
            zone("d", at=[[9.0, 55.0], [9.001, 55.0]]),
            {"id": "e", "properties": {"core_details": {"device_type": "camera"}}},
            {"id": "f", "properties": {"core_details": {"event_type": "work-zone"}}},
        ),
    )
    assert found["format"].startswith("WZDx")
    works, detour = found["events"]
    assert works == {
        "type": "RoadWorks",
        "level": 5,
        "name": "Ringgaden: New pipes",
        "geometry": {"type": "LineString", "coordinates": STREET},
        "start": SOON,
        "until": LATER,
    }
    assert (detour["type"], detour["level"]) == (None, 2)
    assert found["left"] == {"over": 1, "outside": 1, "unknown": 1, "more": 0}
    ((fault),) = found["refused"]
    assert fault["at"].startswith("/features/5")
    assert client.get(EVENTS).json["events"] == []
    assert told(town) == []


def test_events_are_opened_and_planned_together_and_undone_together(
    client: FlaskClient, town: Town
) -> None:
    found = offered(client, feed(zone("a"), zone("b", start_date=PAST, at=STREET[::-1])))
    done = imported(client, found["events"])
    assert [event["state"] for event in done["events"]] == ["planned", "open"]
    assert kinds(town) == ["event.opened"]
    again = imported(client, found["events"])
    assert again == {"events": [], "known": 2, "audit": None}
    assert undo(client, done["audit"]).status_code == 200
    assert kinds(town) == ["event.opened", "event.cleared"]
    assert client.get(EVENTS).json["events"] == []
    assert undo(client, done["audit"]).status_code == 409
    assert len(imported(client, found["events"])["events"]) == 2


def test_an_undo_leaves_what_has_ended_meanwhile(client: FlaskClient, town: Town) -> None:
    found = offered(client, feed(zone("a", start_date=PAST), zone("b", at=STREET[::-1])))
    done = imported(client, found["events"])
    first, second = (event["id"] for event in done["events"])
    client.post(f"{EVENTS}/{first}/end")
    undo(client, done["audit"])
    listed = client.get(f"{EVENTS}?state=ended,withdrawn").json["events"]
    assert {event["id"]: event["state"] for event in listed} == {
        first: "ended",
        second: "withdrawn",
    }
    done = imported(client, found["events"][:1])
    client.post(f"{EVENTS}/{done['events'][0]['id']}/end")
    assert undo(client, done["audit"]).status_code == 409


def test_one_that_is_wrong_is_named_and_none_is_opened(client: FlaskClient, town: Town) -> None:
    good = offered(client, feed(zone("a")))["events"][0]
    answer = client.post(IMPORT, json={"events": [good, {**good, "name": "b", "until": PAST}]})
    assert answer.status_code == 422
    assert answer.json is not None
    assert [error["path"] for error in answer.json["errors"]] == ["events.1.until"]
    assert client.get(EVENTS).json["events"] == []
    untyped = client.post(IMPORT, json={"events": [good, {**good, "type": None}]})
    assert untyped.status_code == 422
    assert untyped.json is not None
    assert untyped.json["errors"][0]["path"].startswith("events.1.type")


@pytest.mark.parametrize("content", ["", "[", "<a/>", '{"features": 3}', "{}"])
def test_what_holds_no_events_is_no_error(client: FlaskClient, town: Town, content: str) -> None:
    answer = client.post(TRY, json={"content": content})
    if not content:
        assert answer.status_code == 422
        return
    assert answer.json is not None
    assert (answer.status_code, answer.json["events"]) == (200, [])


def test_of_many_as_many_are_offered_as_one_act_may_open(
    client: FlaskClient, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "MOST", 2)
    found = offered(client, feed(*(zone(name) for name in "abc")))
    assert (len(found["events"]), found["left"]["more"]) == (2, 1)


def test_a_closed_line_is_an_area_with_its_event_inside(client: FlaskClient, town: Town) -> None:
    corners = [[10.20, 56.15], [10.21, 56.15], [10.21, 56.16], [10.20, 56.16], [10.20, 56.15]]
    body = {
        "type": "RoadClosure",
        "name": "Street festival",
        "geometry": {"type": "LineString", "coordinates": corners},
    }
    found = client.post(EVENTS, json=body).json
    place = client.get(f"/api/v1/events/{found['id']}").json["place"]
    assert 10.203 < place["lon"] < 10.207
    assert 56.153 < place["lat"] < 56.157
    assert place["geometry"] == body["geometry"]


@pytest.mark.parametrize(
    ("name", "title", "least"),
    [
        ("wzdx/scenario6_multi_lane_closure_linestring_example.geojson", "WZDx", 1),
        ("datex2/v2_finland_roadworks.xml", "DATEX II", 0),
        ("datex2/v3_netherlands_situations.xml", "DATEX II", 1),
        ("cap/weather.cap.xml", "CAP", 0),
        ("cap/australia.cap.xml", "CAP", 1),
    ],
)
def test_the_format_of_a_real_file_is_found(name: str, title: str, least: int) -> None:
    path = PACK / "feeds" / name
    if not path.is_file():
        pytest.skip(f"no data pack in {PACK}; CITYWISE_DATA names its folder")
    found = foreign.offered(path.read_text(encoding="utf-8"), builtin(), ZoneInfo("UTC"), 0, None)
    assert found.format.startswith(title)
    assert len(found.events) >= least

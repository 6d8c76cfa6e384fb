"""A host, a meeting, and who joins it, over HTTP."""

from __future__ import annotations

from typing import Any, cast

from flask import Flask
from sqlalchemy import Connection, Engine

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.model import AbilityState, Person
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import taking_part
from citywise.backend.settings import Settings
from citywise.backend.store.outbox import begin
from citywise.backend.times import wall_ms
from tests.api.browsers import Browser

Json = dict[str, Any]
BUSINESS: Json = {
    "title": "Business Meeting",
    "room": {"name": "Room B", "lat": 56.1551, "lon": 10.2085},
    "starts": "2026-05-04T09:00:00Z",
    "ends": "2026-05-04T10:00:00Z",
    "attendees": [
        {"id": "a1", "name": "Alice Maud Mary", "email": "alice@example.org"},
        {"id": "a2", "name": "Bob Simmons", "email": "bob@example.org"},
        {"id": "a3", "name": "Charlie Wilson", "required": False},
    ],
    "agenda": [
        {"id": "i1", "title": "Semantic Web", "speaker": "a1", "minutes": 30},
        {"id": "i2", "title": "Prices", "speaker": "a2", "minutes": 25, "sensitive": True},
    ],
}


def host(app: Flask, name: str = "Alice") -> Browser:
    """Somebody with an account."""
    found = Browser.of(app)
    assert found.sign_up(name).status_code == 201
    return found


def make(browser: Browser, **more: Any) -> Json:
    """A meeting of who asks, as they see it."""
    answer = browser.post("/meetings", {**BUSINESS, **more})
    assert answer.status_code == 201, answer.json
    return cast("Json", answer.json)


def join(app: Flask, meeting: Json, name: str = "Bob", **more: Any) -> Browser:
    """The browser of somebody without an account who has joined."""
    found = Browser.of(app)
    answer = found.post(people(meeting), {"key": meeting["join"]["key"], "name": name, **more})
    assert answer.status_code == 201, answer.json
    found.user = answer.json["me"]["id"]
    return found


def of(meeting: Json) -> str:
    """The address of a meeting."""
    return f"/meetings/{meeting['id']}"


def people(meeting: Json) -> str:
    return f"{of(meeting)}/people"


def me(meeting: Json) -> str:
    return f"{people(meeting)}/me"


def show(browser: Browser, meeting: Json) -> Json:
    """A meeting as its host sees it now."""
    answer = browser.get(of(meeting))
    assert answer.status_code == 200, answer.json
    return cast("Json", answer.json)


def conclude(engine: Engine, settings: Settings, meeting: Json, person: str) -> None:
    """What the reasoner does when somebody's surroundings have become noisy."""
    now_ms = wall_ms()
    off = AbilityState(state="off", since_ms=now_ms, because=("noise",))
    with engine.begin() as connection:
        begin(connection)
        record, found = stored(connection, settings, meeting, person)
        state = found.state.model_copy(update={"abilities": {"speak": off}})
        step = taking_part.concluded(record, found, state, now_ms)
        store.write(connection, store.boxes_of(settings), step)


def stored(
    connection: Connection, settings: Settings, meeting: Json, person: str
) -> tuple[MeetingRecord, Person]:
    """A meeting and somebody in it as they are kept."""
    boxes = store.boxes_of(settings)
    record = store.find(connection, boxes, meeting["id"])
    assert record is not None
    everybody = store.people_of(connection, boxes, record)
    return record, next(each for each in everybody if each.id == person)

"""Whom contextual filtering tells of what an operator opens."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete, select

from citywise.backend.store.models import InletRow
from tests.api.templates import pack_of
from tests.api.town import Town
from tests.context.situation import PACK
from tests.operations.conftest import ROAD
from tests.packs.test_run import Happening, told

EVENTS = "/api/v1/operator/events"
TEMPLATE = pack_of(PACK).template("critical_events")
AHEAD = [10.20, 56.155]
NOTICE = "ann.critical_events"


def user(activity: str, *, backwards: bool = False) -> list[Happening]:
    """Somebody at the southern end of the road who goes north, or at the northern, south."""
    way = [[10.20, 56.145], [10.20, 56.16]]
    way = way[::-1] if backwards else way
    instance = {
        "app": TEMPLATE.app,
        "template": TEMPLATE.name,
        "version": TEMPLATE.version,
        "user": "ann",
        "values": TEMPLATE.bind({"interest": "my_route"}),
    }
    position = {"lon": way[0][0], "lat": way[0][1], "heading": None, "along_m": None}
    return [
        ("instance", NOTICE, instance),
        ("route", "ann", {"coordinates": way}),
        ("position", "ann", position),
        ("activity", "ann", {"activity": activity}),
        1,
    ]


def appended(town: Town) -> list[Happening]:
    """What the ingest takes from the inlet, and the clock after it."""
    with town.engine.begin() as connection:
        rows = connection.execute(select(InletRow.__table__).order_by(InletRow.id)).all()
        connection.execute(delete(InletRow))
    assert rows
    return [*((row.subject, row.key, row.body) for row in rows), 1]


def changes(happenings: list[Happening]) -> list[tuple[str, str]]:
    return [(change, about) for _, change, _, about, _ in told(happenings, TEMPLATE)]


def opened(client: FlaskClient, **body: Any) -> str:
    answer = client.post(EVENTS, json={"type": "RoadClosure", "level": 5, **body})
    assert answer.status_code == 201, answer.json
    return str(answer.json["id"])


def test_who_drives_towards_a_closure_is_told_and_told_again_when_it_is_over(
    client: FlaskClient, town: Town
) -> None:
    event = opened(client, geometry={"type": "Point", "coordinates": AHEAD}, name="Bridge")
    before = appended(town)
    client.post(f"{EVENTS}/{event}/end")
    happened = [*user("DrivingCar"), *before, *appended(town)]
    assert changes(happened) == [("opened", event), ("closed", event)]


def test_a_name_that_looks_like_rules_is_a_name(client: FlaskClient, town: Town) -> None:
    name = 'Bridge"). notice("ann.critical_events","critical_event","x",5). %'
    point = {"type": "Point", "coordinates": AHEAD}
    event = opened(client, geometry=point, name=name)
    entries = appended(town)
    assert changes([*user("DrivingCar"), *entries]) == [("opened", event)]
    assert client.get(f"/api/v1/events/{event}").json["place"]["name"] == name


@pytest.mark.parametrize(
    ("kind", "activity", "is_told"),
    [
        ("RoadClosure", "DrivingCar", True),
        ("RoadClosure", "RidingBus", True),
        ("RoadClosure", "Cycling", True),
        ("RoadClosure", "Walking", False),
        ("RoadWorks", "Walking", True),
    ],
)
def test_only_those_are_told_whom_it_affects(
    client: FlaskClient, town: Town, kind: str, activity: str, is_told: bool
) -> None:
    event = opened(client, type=kind, place_id="158324")
    happened = [*user(activity), *appended(town)]
    assert changes(happened) == ([("opened", event)] if is_told else [])


def test_a_closed_line_counts_in_its_direction_and_a_point_in_both(
    client: FlaskClient, town: Town
) -> None:
    line = {"type": "LineString", "coordinates": ROAD}
    north = opened(client, geometry=line, name="Northbound")
    told_of_line = appended(town)
    assert changes([*user("DrivingCar"), *told_of_line]) == [("opened", north)]
    assert changes([*user("DrivingCar", backwards=True), *told_of_line]) == []
    point = opened(client, geometry={"type": "Point", "coordinates": AHEAD}, name="Both")
    told_of_point = appended(town)
    assert changes([*user("DrivingCar", backwards=True), *told_of_point]) == [("opened", point)]


def test_who_asks_for_what_authorities_report_gets_it(client: FlaskClient, town: Town) -> None:
    event = opened(client, place_id="158324")
    entries = appended(town)
    for sources, expected in ((["authority"], [("opened", event)]), (["sensor"], [])):
        happened = user("DrivingCar")
        subject, key, body = happened[0]  # type: ignore[misc]
        values = TEMPLATE.bind({"interest": "my_route", "sources": list[Any](sources)})
        happened[0] = (subject, key, {**body, "values": values})
        assert changes([*happened, *entries]) == expected

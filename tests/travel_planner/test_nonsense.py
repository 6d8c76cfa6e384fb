"""Requests that make no sense get a problem that says what to change: each kind, 20 at random."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from citywise.apps.travel_planner.requests import RequestError, TravelRequest, read
from citywise.backend.times import iso
from tests.travel_planner.conftest import HOME, NOW_MS, WORK, planner_of_town

Json = dict[str, Any]
Chance = random.Random
HOUR_MS = 3_600_000
POINTS = {"travel": ("from", "to"), "parking": ("destination", "from")}
TIMES = {"travel": "depart", "parking": "arrive"}


def sensible(kind: str) -> Json:
    if kind == "travel":
        return {"from": HOME, "to": WORK}
    return {"destination": WORK, "from": HOME}


def changed(kind: str, chance: Chance, point: Json) -> tuple[Json, str]:
    """A sensible request, but for one of its points; and which."""
    name = chance.choice(POINTS[kind])
    return {**sensible(kind), name: point}, name


def swapped(kind: str, chance: Chance) -> tuple[Json, str, str]:
    lat, lon = round(chance.uniform(56.11, 56.19), 5), round(chance.uniform(10.13, 10.22), 5)
    body, name = changed(kind, chance, {"lat": lon, "lon": lat})
    return body, name, f'write {{"lat": {lat:g}, "lon": {lon:g}}}'


def sea(kind: str, chance: Chance) -> tuple[Json, str, str]:
    """East of the town, just beyond its streets, and more than 1500 m from each."""
    _, south, east, north = planner_of_town().city.network.bounds
    point = {"lat": chance.uniform(south, north), "lon": east + chance.uniform(0.0265, 0.0295)}
    body, name = changed(kind, chance, point)
    return body, name, "from the nearest street"


def another_continent(kind: str, chance: Chance) -> tuple[Json, str, str]:
    point = {"lat": chance.uniform(-60, 40), "lon": chance.uniform(-170, -20)}
    body, name = changed(kind, chance, point)
    return body, name, "not in this city; expected lat"


def past(kind: str, chance: Chance) -> tuple[Json, str, str]:
    moment = iso(NOW_MS - chance.randint(2, 100_000) * 60_000)
    return {**sensible(kind), TIMES[kind]: moment}, TIMES[kind], "write null for now, which is 2026"


def far_future(kind: str, chance: Chance) -> tuple[Json, str, str]:
    moment = iso(NOW_MS + chance.randint(370, 20_000) * 24 * HOUR_MS)
    return {**sensible(kind), TIMES[kind]: moment}, TIMES[kind], "more than a year from now"


def negative(kind: str, chance: Chance) -> tuple[Json, str, str]:
    limit = {"on": chance.choice(["cost", "walk"]), "op": "<=", "value": -chance.uniform(0.1, 1e4)}
    return {**sensible(kind), "constraints": [limit]}, "constraints.0.value", "expected at least 0"


def contradictory(kind: str, chance: Chance) -> tuple[Json, str, str]:
    on = chance.choice(["time", "distance", "pollution", "cost", "walk"])
    wishes = [{"minimise": on}, {"maximise": on}]
    chance.shuffle(wishes)
    return {**sensible(kind), "preferences": wishes}, "preferences", f"`{on}` is to be both"


def excluding(kind: str, chance: Chance) -> tuple[Json, str, str]:
    on, value = chance.choice(["cost", "walk", "time"]), chance.randint(1, 5000)
    limits = [
        {"on": on, "op": "<=", "value": value},
        {"on": on, "op": ">=", "value": value + chance.uniform(0.1, 100)},
    ]
    chance.shuffle(limits)
    return {**sensible(kind), "constraints": limits}, "constraints", "exclude each other"


def twice(kind: str, chance: Chance) -> tuple[Json, str, str]:
    on = chance.choice(["time", "distance", "pollution", "cost", "walk"])
    wishes = [{"minimise": on}, {"minimise": on}]
    return {**sensible(kind), "preferences": wishes}, "preferences", f"`{on}` stands there twice"


def unknown_word(kind: str, chance: Chance) -> tuple[Json, str, str]:
    word = chance.choice(["boat", "tim", "", "CAR", "*"])
    wrong: list[tuple[Json, str]] = [
        ({"constraints": [{"on": word, "op": "<", "value": 1}]}, "constraints.0.on"),
        ({"constraints": [{"on": "cost", "op": word, "value": 1}]}, "constraints.0.op"),
        ({"preferences": [{"minimise": word}]}, "preferences.0.minimise"),
    ]
    if kind == "travel":
        wrong.append(({"mode": word}, "mode"))
    more, path = chance.choice(wrong)
    return {**sensible(kind), **more}, path, f'found "{word}", expected'


def wrong_type(kind: str, chance: Chance) -> tuple[Json, str, str]:
    value: Any = chance.choice(["x", [], True, {"lat": 1}, 3.5, None])
    name = chance.choice(POINTS[kind][:1])
    return {**sensible(kind), name: value}, name, ""


def too_many(kind: str, chance: Chance) -> tuple[Json, str, str]:
    name = "alternatives" if kind == "travel" else chance.choice(["stay_minutes", "radius_m"])
    value = chance.choice([0, -3, 10**6, 10**18])
    return {**sensible(kind), name: value}, name, "expected"


def nowhere_to_go(kind: str, chance: Chance) -> tuple[Json, str, str]:
    if kind == "parking":
        return {"from": HOME}, "destination", "found nothing, but it is needed"
    point = {"lat": chance.uniform(56.13, 56.16), "lon": chance.uniform(10.16, 10.2)}
    return {"from": point, "to": point}, "to", "it is where you start"


KINDS: tuple[Callable[[str, Chance], tuple[Json, str, str]], ...] = (
    swapped,
    sea,
    another_continent,
    past,
    far_future,
    negative,
    contradictory,
    excluding,
    twice,
    unknown_word,
    wrong_type,
    too_many,
    nowhere_to_go,
)


@pytest.mark.parametrize("kind", ["travel", "parking"])
@pytest.mark.parametrize("nonsense", KINDS, ids=lambda each: each.__name__)
def test_nonsense_is_answered_with_what_to_change(
    planning: FlaskClient, kind: str, nonsense: Callable[[str, Chance], tuple[Json, str, str]]
) -> None:
    chance = Chance(f"{kind} {nonsense.__name__}")
    for _ in range(20):
        body, path, said = nonsense(kind, chance)
        answer = planning.post(f"/api/v1/plans/{kind}", json=body)
        assert answer.status_code == 422, (body, answer.text)
        assert answer.content_type == "application/problem+json"
        found = [fault for fault in answer.json["errors"] if fault["path"].startswith(path)]
        assert found, (body, answer.json)
        assert any(said in fault["message"] for fault in found), (said, found)


def test_all_faults_are_told_at_once(planning: FlaskClient) -> None:
    body = {
        "from": {"lat": HOME["lon"], "lon": HOME["lat"]},
        "to": {"lat": 0, "lon": 0},
        "mode": "boat",
        "depart": "yesterday",
        "constraints": [{"on": "time", "op": "<", "value": -1}],
        "preferences": [{"minimize": "time"}],
        "alternatives": 99,
        "moed": "car",
    }
    answer = planning.post("/api/v1/plans/travel", json=body)
    assert sorted(fault["path"] for fault in answer.json["errors"]) == [
        "alternatives",
        "constraints.0.value",
        "depart",
        "from",
        "mode",
        "moed",
        "preferences.0.minimize",
        "to",
    ]
    swap = next(fault for fault in answer.json["errors"] if fault["path"] == "from")
    assert (swap["code"], swap["suggestion"]) == ("swapped", HOME)
    assert "did you mean `minimise`?" in str(answer.json["errors"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"to": [10.16, 56.12]}, 'a point, as in {"lat": 56.15, "lon": 10.2}'),
        ({"to": None}, "found null, expected a point"),
        ({"alternatives": 10000000.0}, "found 10000000.0, expected a whole number"),
        ({"alternatives": "3"}, "write 3 without quotes"),
        ({"constraints": [{"on": "time", "op": "<", "value": "900"}]}, "write 900 without quotes"),
        ({"constraints": {}}, "expected a list"),
        ({"constraints": ["time"]}, 'as in {"on": "time", "op": "<=", "value": 900}'),
        ({"preferences": ["time"]}, 'as in {"minimise": "time"}'),
        ({"preferences": [{"minimise": "time"}] * 9}, "found 9 of them, expected at most 5"),
        ({"depart": 5}, "expected a time in ISO 8601"),
        ({"depart": iso(NOW_MS), "arrive": iso(NOW_MS)}, "give `depart` or `arrive`, not both"),
        ({"depart": "9999-12-31T23:59:59-14:00"}, "expected a time in ISO 8601"),
    ],
)
def test_faults_are_told_in_words_for_who_wrote_the_request(wrong: Json, said: str) -> None:
    with pytest.raises(RequestError) as raised:
        read(TravelRequest, {**sensible("travel"), **wrong}, None)
    (fault,) = raised.value.faults
    assert said in fault["message"]
    assert not re.search("valid|instance|Input|dictionary", fault["message"])


@pytest.mark.parametrize(
    ("data", "content_type", "status"),
    [
        (b"", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"from": NaN}', "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"{}", "application/json", 422),
    ],
)
def test_bodies_that_are_none_are_refused(
    planning: FlaskClient, data: bytes, content_type: str, status: int
) -> None:
    answer = planning.post("/api/v1/plans/travel", data=data, content_type=content_type)
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")

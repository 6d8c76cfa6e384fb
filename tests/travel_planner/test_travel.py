"""Journeys: candidates, constraints, wishes, and what an answer says of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citywise.apps.travel_planner import ground
from citywise.apps.travel_planner import travel as travelling
from citywise.apps.travel_planner.candidates import Search
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.requests import RequestError, TravelRequest, read
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.disturbances import OpenEvent
from citywise.apps.travel_planner.roads.recorded import recorded
from citywise.backend.times import iso, parse_ms
from tests.travel_planner.conftest import HOME, NOW, NOW_MS, WORK, breathed, calm, travel

Json = dict[str, Any]
HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">=": lambda value, bound: value >= bound,
    ">": lambda value, bound: value > bound,
}
FIELDS = {"time": "time_s", "distance": "distance_m", "walk": "walk_m"}
CRITERIA = ("time", "pollution", "distance", "cost", "walk")


def value(route: Json, on: str) -> float:
    found = route[FIELDS.get(on, on)]
    return float("inf") if found is None else float(found)


def all_of(answer: Json) -> list[Json]:
    return [*answer["routes"], *answer["rejected"]]


# --- Independent recomputation ------------------------------------------------------------


class Raw:
    """The network and its costs as plain lists, to recompute routes edge by edge."""

    def __init__(self, conditions: Conditions) -> None:
        network, costs = conditions.network, conditions.costs()
        self.tail, self.head = network.tail.tolist(), network.head.tolist()
        self.metres, self.modes = network.length_m.tolist(), network.modes.tolist()
        self.seconds = {mode: costs.seconds(mode).tolist() for mode in Mode}
        self.air = costs.air.tolist()

    def of(self, route: Json) -> Json:
        """What a route takes."""
        way, mode = route["way"], Mode(route["mode"])
        edges, seconds = way["edges"], self.seconds[mode]
        assert all(self.head[one] == self.tail[next_] for one, next_ in pairwise(edges))
        assert all(self.modes[edge] & mode.bit for edge in edges), f"not for {mode}"
        shares = [1.0] * len(edges)
        shares[0] -= 1 - way["first"]
        shares[-1] -= 1 - way["last"]
        metres = sum(share * self.metres[e] for share, e in zip(shares, edges, strict=True))
        taken = [share * seconds[e] for share, e in zip(shares, edges, strict=True)]
        dose = sum(s / 3600 * self.air[e] for s, e in zip(taken, edges, strict=True))
        cost = metres / 1000 * 2.0 if mode is Mode.CAR else 0.0
        access = route["access"]["from_m"] + route["access"]["to_m"]
        time = sum(taken) + access / 4800 * 3600
        walked = access + (metres if mode is Mode.WALK else 0.0)
        distance = walked if mode is Mode.WALK else metres
        found = {"distance": distance, "time": time, "walk": walked, "cost": cost}
        return {**found, "pollution": dose}


def check(answer: Json, body: Json, raw: Raw) -> None:
    """Every route is what it says, keeps to all limits, and none is dominated."""
    for route in all_of(answer):
        found = raw.of(route)
        for on, wanted in found.items():
            if on == "pollution" and route["pollution"] is None:
                continue
            assert value(route, on) == pytest.approx(wanted, abs=0.2), (on, route["id"])
    for route in answer["routes"]:
        for limit in body.get("constraints", ()):
            assert HOLDS[limit["op"]](value(route, limit["on"]), limit["value"])
        assert not any(dominates(other, route) for other in answer["routes"])


def dominates(one: Json, other: Json) -> bool:
    pairs = [(value(one, on), value(other, on)) for on in CRITERIA]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def best(answer: Json, body: Json) -> list[float] | None:
    """The rank of the lexicographic optimum among all candidates of an answer, by trying."""
    fitting = [
        route
        for route in all_of(answer)
        if all(
            HOLDS[limit["op"]](value(route, limit["on"]), limit["value"])
            for limit in body.get("constraints", ())
        )
    ]
    wishes = [next(iter(wish.values())) for wish in body["preferences"]]
    order = [*wishes, *(on for on in CRITERIA if on not in wishes)]
    return min(([value(route, on) for on in order] for route in fitting), default=None)


# --- The town -----------------------------------------------------------------------------


def test_the_fastest_way_is_first_where_nothing_is_wished(planner: Planner) -> None:
    conditions = calm(planner.city)
    answer = travel(planner, conditions, mode="car")
    check(answer, {}, Raw(conditions))
    first, *others = all_of(answer)
    assert first["chosen"]
    assert first["id"] == "r1"
    assert not any(route["chosen"] for route in others)
    assert all(first["time_s"] <= route["time_s"] for route in others)
    assert answer["now"] == first["departs"] == NOW
    line = first["geometry"]["coordinates"]
    assert line[0] == pytest.approx([HOME["lon"], HOME["lat"]], abs=0.005)
    assert line[-1] == pytest.approx([WORK["lon"], WORK["lat"]], abs=0.005)


def test_each_wish_has_its_optimum(planner: Planner) -> None:
    conditions = calm(planner.city)
    found = {on: travel(planner, conditions, preferences=[{"minimise": on}]) for on in CRITERIA}
    for on, answer in found.items():
        least = min(value(route, on) for other in found.values() for route in all_of(other))
        assert value(answer["routes"][0], on) == least
    assert found["cost"]["routes"][0]["mode"] != "car"


def test_all_modes_are_weighed_where_none_is_asked_for(planner: Planner) -> None:
    """Walking is nowhere better than cycling here, which is why it is not offered."""
    answer = travel(planner, calm(planner.city), mode=None)
    assert {route["mode"] for route in answer["routes"]} == {"car", "bicycle"}
    (walk,) = [route for route in answer["rejected"] if route["mode"] == "walk"]
    assert "Worse than another one in" in walk["why"]
    assert {mode: bool(best) for mode, best in answer["modes"].items()} == {
        "car": True,
        "bicycle": True,
        "walk": True,
    }


def test_no_more_routes_come_than_were_asked_for(planner: Planner) -> None:
    conditions = calm(planner.city)
    one, many = (travel(planner, conditions, alternatives=count) for count in (1, 8))
    assert len(one["routes"]) == 1
    assert len(many["routes"]) > 1
    beyond = [route for route in one["rejected"] if "more than you asked for" in route["why"]]
    assert len(beyond) == len(many["routes"]) - 1
    assert "more than you asked for" not in str(many)


def test_steps_add_up_to_the_route(planner: Planner) -> None:
    for route in all_of(travel(planner, calm(planner.city))):
        metres = sum(step["distance_m"] for step in route["steps"])
        if route["mode"] == "walk":
            metres += route["access"]["from_m"] + route["access"]["to_m"]
        assert metres == pytest.approx(route["distance_m"], abs=0.1 * len(route["steps"]))
        seconds = sum(step["time_s"] for step in route["steps"]) + route["access"]["time_s"]
        assert seconds == pytest.approx(route["time_s"], abs=0.1 * len(route["steps"]))


def test_an_event_makes_its_streets_slower_and_is_told(planner: Planner) -> None:
    conditions = calm(planner.city)
    before = travel(planner, conditions, mode="car", alternatives=1)["routes"][0]
    lon, lat = before["geometry"]["coordinates"][len(before["geometry"]["coordinates"]) // 2]
    jam = OpenEvent(
        id="jam",
        type="TrafficJam",
        level=5,
        place="Ringgaden",
        lon=lon,
        lat=lat,
        start_ms=NOW_MS,
        geometry={"type": "Point", "coordinates": [lon, lat]},
        place_id="ring",
    )
    jammed = conditions.including(jam)
    after = travel(planner, jammed, mode="car", alternatives=8)
    path = planner.way(before)
    assert path is not None
    assert planner.measured(path, Mode.CAR, jammed).time_s > before["time_s"]
    through = [route for route in all_of(after) if route["events"]]
    for route in through:
        (event,) = route["events"]
        assert (event["id"], event["type"], event["level"]) == ("jam", "TrafficJam", 5)
        assert 0 <= event["ahead_m"] <= route["distance_m"]
    assert through or after["routes"][0]["way"]["edges"] != before["way"]["edges"]
    assert travel(planner, conditions, mode="car", alternatives=1)["routes"][0] == before


def test_limits_that_cannot_be_kept_say_which_and_what_to_allow(planner: Planner) -> None:
    limits = [
        {"on": "time", "op": "<=", "value": 60},
        {"on": "distance", "op": "<=", "value": 100_000},
        {"on": "cost", "op": "<", "value": 1},
    ]
    answer = travel(planner, calm(planner.city), mode="car", constraints=limits)
    conflict = answer["conflict"]
    assert answer["routes"] == []
    assert conflict["sets"] == [["time ≤ 1 min"], ["cost < 1 DKK"]]
    assert conflict["wishes"] == ["time ≤ 1 min", "cost < 1 DKK"]
    assert "instead of 1 min" in conflict["relaxation"]
    assert all("Your limit is" in route["why"] for route in answer["rejected"])
    again = travel(
        planner, calm(planner.city), mode="car", constraints=conflict["then"]["constraints"]
    )
    assert again["conflict"] is None
    assert again["routes"]


@pytest.mark.parametrize(
    ("one", "other", "exclude"),
    [
        (("<=", 100), (">=", 200), True),
        (("<", 100), (">=", 100), True),
        (("<=", 100), (">=", 100), False),
        (("=", 100), ("<", 99.5), True),
        (("=", 100), ("<=", 99.5), False),
        (("=", 15), ("=", 15.2), False),
        (("=", 15), ("=", 16), True),
        (("<", 100), ("<", 200), False),
    ],
)
def test_limits_on_one_quantity_that_exclude_each_other_are_refused_by_name(
    planner: Planner, one: tuple[str, float], other: tuple[str, float], exclude: bool
) -> None:
    limits = [{"on": "time", "op": op, "value": value} for op, value in (one, other)]
    body = {"from": HOME, "to": WORK, "constraints": limits}
    if not exclude:
        read(TravelRequest, body, planner.situation(calm(planner.city)))
        return
    with pytest.raises(RequestError) as raised:
        read(TravelRequest, body, planner.situation(calm(planner.city)))
    (fault,) = raised.value.faults
    assert (fault["path"], fault["code"]) == ("constraints", "contradiction")
    for op, value in (one, other):
        assert f"`time {op} {value:g}`" in fault["message"]


def test_what_is_found_does_not_depend_on_whether_much_is_wished_or_asked_for(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `maximise` finds, `>=` finds too, and the other way about; both say of what it is."""
    monkeypatch.setattr(travelling, "MOST_REJECTED", 1000)
    conditions = breathed(planner.city)
    asked: list[Json] = [
        {"preferences": [{"maximise": "distance"}]},
        {"preferences": [{"maximise": "time"}]},
        {"preferences": [{"minimise": "cost"}, {"maximise": "walk"}]},
        {"constraints": [{"on": "time", "op": ">=", "value": 900}]},
    ]
    found = []
    for body in asked:
        answer = travel(planner, conditions, **body, **ACROSS)
        assert "at-least" in [note["code"] for note in answer["notes"]]
        found.append({(r["mode"], tuple(r["way"]["edges"])) for r in all_of(answer)})
    assert found == [found[0]] * len(found)
    longest = travel(planner, conditions, **asked[0], **ACROSS)["routes"][0]["distance_m"]
    limit = [{"on": "distance", "op": ">=", "value": longest}]
    assert travel(planner, conditions, constraints=limit, **ACROSS)["routes"]


def test_a_conflict_that_is_only_of_the_ways_found_says_so(planner: Planner) -> None:
    conditions = breathed(planner.city)
    for op, value, certain in ((">=", 900_000, False), ("<=", 10, True)):
        limit = [{"on": "time", "op": op, "value": value}]
        conflict = travel(planner, conditions, constraints=limit)["conflict"]
        assert conflict["certain"] is certain
        assert ("there may be others" in conflict["relaxation"]) is not certain


def test_who_is_far_from_the_street_walks_there_first(planner: Planner) -> None:
    """All count it the same: the time, the arrival, limits, and what each mode takes."""
    west, south, _, north = planner.city.network.bounds
    far = {"lat": (south + north) / 2, "lon": west - 0.008}
    conditions = calm(planner.city)
    answer = travel(planner, conditions, **{"from": far})
    for route in all_of(answer):
        access, ends = route["access"], (answer["from"], answer["to"])
        assert access["from_m"] > 300
        assert access["time_s"] == pytest.approx(
            (access["from_m"] + access["to_m"]) * 0.75, abs=0.1
        )
        if route["mode"] != "walk":
            assert route["walk_m"] == pytest.approx(access["from_m"] + access["to_m"], abs=0.1)
        assert route["time_s"] > access["time_s"]
        assert parse_ms(route["arrives"]) - NOW_MS == round(route["time_s"] * 1000)
        assert len(ends) == 2
    walk = next(route for route in all_of(answer) if route["mode"] == "walk")
    assert walk["distance_m"] == walk["walk_m"]
    assert walk["time_s"] == pytest.approx(walk["walk_m"] * 0.75, abs=0.2)
    assert answer["modes"]["walk"]["time_s"] == walk["time_s"]
    limit = [{"on": "time", "op": "<", "value": answer["routes"][0]["time_s"]}]
    assert travel(planner, conditions, **{"from": far}, constraints=limit)["conflict"]


def test_who_is_under_way_next_to_a_street_is_on_it(planner: Planner) -> None:
    conditions = calm(planner.city)
    network = planner.city.network
    node = int(network.head[0])
    near = {"lat": float(network.lat[node]) + 0.0001, "lon": float(network.lon[node])}
    request = read(TravelRequest, {"from": near, "to": WORK}, planner.situation(conditions))
    at_rest, moving = (
        planner.travel(request, conditions, moving=moving)["routes"][0] for moving in (False, True)
    )
    assert at_rest["access"]["from_m"] > 0 == moving["access"]["from_m"]
    saved = at_rest["access"]["time_s"] - moving["access"]["time_s"]
    assert at_rest["time_s"] - moving["time_s"] == pytest.approx(saved, abs=0.1)
    path = planner.way(moving)
    assert path is not None
    again = planner.measured(
        path, Mode(moving["mode"]), conditions, access_m=moving["access"]["to_m"]
    )
    assert again.time_s == pytest.approx(moving["time_s"], abs=0.1)


def test_weights_that_are_used_are_kept_when_others_come(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ground, "_KEPT", 3)
    weights, costs = ground.Weights(planner.router), calm(planner.city).costs()
    distance = weights.by("distance", Mode.CAR, costs)
    for version in range(5):
        other = replace(costs, version=-1 - version)
        weights.by("time", Mode.CAR, other)
        assert weights.by("distance", Mode.CAR, other) is distance


def test_of_unknown_air_nothing_is_claimed(planner: Planner) -> None:
    answer = travel(planner, calm(planner.city), preferences=[{"minimise": "pollution"}])
    assert {route["pollution"] for route in all_of(answer)} == {None}
    assert "air-unknown" in [note["code"] for note in answer["notes"]]
    limit = [{"on": "pollution", "op": "<", "value": 100}]
    assert travel(planner, calm(planner.city), constraints=limit)["routes"] == []


ACROSS = {"from": {"lat": 56.1352, "lon": 10.1497}, "to": {"lat": 56.1653, "lon": 10.211}}
"""Past the centre, where the air is foul: the cleanest way goes round it."""


def best_of(planner: Planner, conditions: Conditions, *wishes: str) -> Json:
    answer = travel(
        planner, conditions, mode="car", preferences=[{"minimise": on} for on in wishes], **ACROSS
    )
    check(answer, {}, Raw(conditions))
    found: Json = answer["routes"][0]
    return found


def test_the_cleanest_way_goes_round_foul_air(planner: Planner) -> None:
    conditions = breathed(planner.city)
    fast, clean = (best_of(planner, conditions, on) for on in ("time", "pollution"))
    assert clean["pollution"] < fast["pollution"]
    assert clean["time_s"] > fast["time_s"]
    assert "less pollution than the next" in clean["why"]
    limit = [{"on": "pollution", "op": "<=", "value": clean["pollution"]}]
    within = travel(planner, conditions, mode="car", constraints=limit, **ACROSS)["routes"]
    assert [route["pollution"] for route in within] == [clean["pollution"]]


@pytest.mark.parametrize("without", ["_between", "_squeezed"])
def test_two_limits_are_kept_by_a_way_between_the_extremes(
    planner: Planner, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    """Neither the fastest nor the cleanest way keeps to both; each search alone finds one."""
    nothing = {"_between": lambda *_: None, "_squeezed": lambda *_: iter(())}
    monkeypatch.setattr(Search, without, nothing[without])
    conditions = breathed(planner.city)
    fast, clean = (best_of(planner, conditions, on) for on in ("time", "pollution"))
    limits = [
        {"on": "time", "op": "<", "value": clean["time_s"]},
        {"on": "pollution", "op": "<", "value": fast["pollution"]},
    ]
    answer = travel(planner, conditions, mode="car", constraints=limits, **ACROSS)
    check(answer, {"constraints": limits}, Raw(conditions))
    assert answer["routes"], answer["conflict"]
    assert "best-effort" in [note["code"] for note in answer["notes"]]


def test_plans_speak_danish(planner: Planner) -> None:
    conditions = calm(planner.city)
    body = {"from": HOME, "to": WORK, "mode": "car"}
    request = read(TravelRequest, body, planner.situation(conditions))
    answer = planner.travel(request, conditions, "da")
    assert "hurtigste" in answer["routes"][0]["why"]
    assert "Busser og tog er ikke med her; vælg offentlig transport for at rejse med dem." in [
        note["text"] for note in answer["notes"]
    ]


# --- Recorded days ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rush(aarhus: Planner, data_pack: Path) -> Conditions:
    """A Wednesday morning in Aarhus."""
    return recorded(data_pack, aarhus.city.network, parse_ms("2014-08-06T06:00:00Z"))


def _random_request(chance: random.Random) -> Json:
    def somewhere() -> Json:
        return {"lat": chance.uniform(56.13, 56.18), "lon": chance.uniform(10.16, 10.22)}

    bounds = {"time": 1500, "distance": 7000, "pollution": 40, "cost": 12, "walk": 4000}
    limits = [
        {
            "on": on,
            "op": chance.choice(["<", "<="] * 5 + [">=", ">"]),
            "value": round(bound * chance.uniform(0.3, 1.5), 1),
        }
        for on, bound in bounds.items()
        if chance.random() < 0.15
    ]
    wishes = chance.sample(CRITERIA, chance.randint(1, 3))
    return {
        "from": somewhere(),
        "to": somewhere(),
        "mode": chance.choice(["car", "bicycle", "walk"] * 4 + [None]),
        "constraints": limits,
        "preferences": [{"minimise": on} for on in wishes],
        "alternatives": chance.randint(1, 3),
    }


@pytest.mark.slow
def test_random_requests_are_decided_as_by_trying_all_candidates(
    aarhus: Planner, rush: Conditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(travelling, "MOST_REJECTED", 1000)
    chance, chosen, raw = random.Random(7), 0, Raw(rush)
    for _ in range(150):
        body = _random_request(chance)
        answer = travel(aarhus, rush, **body)
        check(answer, body, raw)
        wishes = [next(iter(wish.values())) for wish in body["preferences"]]
        order = [*wishes, *(on for on in CRITERIA if on not in wishes)]
        found = [route for route in answer["routes"] if route["chosen"]]
        ranks = [[value(route, on) for on in order] for route in found]
        wanted = best(answer, body)
        assert ranks == ([] if wanted is None else [wanted])
        assert (answer["conflict"] is None) == bool(found)
        chosen += bool(found)
    assert 75 < chosen < 144, "the requests try too little"


@pytest.mark.slow
def test_a_single_upper_limit_is_kept_whenever_roads_can(aarhus: Planner, rush: Conditions) -> None:
    """The least of each criterion, found by itself, is the bound of the next request."""
    for on in ("time", "distance", "pollution"):
        body: Json = {"from": HOME, "to": WORK, "mode": "car", "alternatives": 1}
        least = travel(aarhus, rush, **body, preferences=[{"minimise": on}])["routes"][0]
        limit = [{"on": on, "op": "<=", "value": value(least, on)}]
        answer = travel(aarhus, rush, **body, constraints=limit)
        assert value(answer["routes"][0], on) == value(least, on)


def test_who_is_to_be_there_by_a_time_is_told_when_to_leave(planner: Planner) -> None:
    """Each way begins so that it ends then, and takes what one takes that departs then."""
    conditions = calm(planner.city)
    wanted = NOW_MS + 2 * 3_600_000
    found = travel(planner, conditions, arrive=iso(wanted))
    assert found["request"]["arrive"] == iso(wanted)
    for route in all_of(found):
        begins, ends = parse_ms(route["departs"]), parse_ms(route["arrives"])
        assert ends == wanted
        assert ends - begins == pytest.approx(route["time_s"] * 1000, abs=1)
    chosen = found["routes"][0]
    again = travel(planner, conditions, depart=chosen["departs"])
    assert again["routes"][0]["time_s"] == pytest.approx(chosen["time_s"], rel=0.02)
    assert "late" not in {note["code"] for note in found["notes"]}


def test_who_is_late_already_leaves_now_and_is_told_so(planner: Planner) -> None:
    conditions = calm(planner.city)
    found = travel(planner, conditions, arrive=iso(NOW_MS + 60_000))
    assert {route["departs"] for route in found["routes"]} == {iso(NOW_MS)}
    (late,) = (note for note in found["notes"] if note["code"] == "late")
    assert late["text"] == "None of these routes arrives in time any more; they leave now."


def test_arrays_of_costs_are_not_changed_by_planning(planner: Planner) -> None:
    conditions = calm(planner.city)
    before = conditions.costs().car_s.copy()
    limits = [{"on": "time", "op": "<=", "value": 500}, {"on": "cost", "op": "<=", "value": 5}]
    travel(planner, conditions, mode="car", constraints=limits)
    assert np.array_equal(before, conditions.costs().car_s)

"""Another plan is proposed when it is really better by its user's wishes, or the old one is of no
use; and never twice to who has said no."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.apps.travel_planner import (
    answering,
    beginning,
    following,
    news,
    proposals,
    replanning,
    trips,
    watching,
    wording,
)
from citywise.apps.travel_planner.replanning import Cause
from citywise.apps.travel_planner.trips import Trip
from citywise.apps.travel_planner.watching import Open, Outcome, Watch
from citywise.backend.machine import REPOSITORY
from tests.api.templates import pack_of
from tests.travel_planner import followed
from tests.travel_planner.followed import Live

TIME, POLLUTION = {"minimise": "time"}, {"minimise": "pollution"}
OLD = {"time": 600.0, "distance": 5000.0, "pollution": 10.0, "cost": 10.0, "walk": 0.0}
CRASH = Open("alice.trip~accident~crash~1", "accident", "crash", "Main Street", 4, 4)


def is_better(new: Any, old: Any, wishes: list[Any]) -> bool:
    """Whether a plan is really better than the rest of another."""
    found = replanning.gain(new, old, wishes)
    return found is not None and found.by > 0


@pytest.mark.parametrize(
    ("new", "wishes", "better"),
    [
        ({"time": 539.0}, [], True),  # 61 s
        ({"time": 571.0}, [], False),  # 29 s, less than 5 %
        ({"time": 569.0}, [], True),  # 31 s, more than 5 %
        ({"time": 700.0}, [], False),
        ({"time": 700.0, "pollution": 9.0}, [POLLUTION, TIME], True),
        ({"time": 500.0, "pollution": 11.0}, [POLLUTION, TIME], False),
        ({"time": 500.0, "pollution": 10.1}, [POLLUTION, TIME], True),  # alike: time decides
        ({"time": 500.0, "pollution": None}, [POLLUTION, TIME], True),  # unknown tells nothing
        ({"distance": 5600.0}, [{"maximise": "distance"}], True),
        ({"distance": 4000.0}, [{"maximise": "distance"}], False),
    ],
)
def test_the_first_wish_that_tells_them_apart_decides(
    new: dict[str, float | None], wishes: list[Any], better: bool
) -> None:
    assert is_better({**OLD, **new}, OLD, wishes) is better


@given(
    st.fixed_dictionaries({on: st.floats(0, 10_000) for on in replanning.CRITERIA}),
    st.fixed_dictionaries({on: st.floats(0, 10_000) for on in replanning.CRITERIA}),
    st.permutations([{"minimise": on} for on in replanning.CRITERIA]),
)
def test_of_two_plans_never_each_is_better_than_the_other(
    one: dict[str, float], other: dict[str, float], wishes: list[Any]
) -> None:
    assert not is_better(one, one, wishes)
    both = is_better(one, other, wishes) and is_better(other, one, wishes)
    assert not both


def test_limits_count_what_is_spent_and_end_when_they_say_nothing() -> None:
    limits = [
        {"on": "time", "op": "<=", "value": 900},
        {"on": "distance", "op": ">", "value": 1000},
        {"on": "air", "op": "<", "value": 50},
    ]
    left = replanning.left_of(limits, {"time": 300.0, "distance": 2000.0})
    assert left == [
        {"on": "time", "op": "<=", "value": 600.0},
        {"on": "air", "op": "<", "value": 50.0},
    ]


def test_no_is_no_until_it_becomes_worse() -> None:
    content = followed.trip(Live()).content
    declined = trips.declined_with(content, [{"cause": "n", "level": 3, "at_ms": 0}])
    said_no = replace(content, declined=declined)
    assert replanning.is_declined(said_no, Cause("event", "n", 3), 10**9)
    assert not replanning.is_declined(said_no, Cause("event", "n", 4), 10**9)
    assert not replanning.is_declined(said_no, Cause("event", "m", 3), 10**9)
    unasked = Cause("off_route", "n", 2)
    assert replanning.is_declined(said_no, unasked, replanning.QUIET_MS - 1)
    assert not replanning.is_declined(said_no, unasked, replanning.QUIET_MS)


# --- Looking at a trip ---------------------------------------------------------------------------


def look(trip: Trip, live: Live, *notices: Open) -> Outcome:
    return Watch(followed.planner()).look(trip, notices, live.refresh())


def streets(plan: Any) -> set[str]:
    return {step["name"] for step in plan["steps"]}


def test_while_nothing_happens_nothing_is_proposed() -> None:
    live = Live()
    trip = followed.trip(live)
    outcome = look(trip, live)
    assert outcome.proposal is None
    assert outcome.outlook["values"]["time"] == pytest.approx(trip.content.plan["time_s"], abs=0.2)
    assert outcome.outlook["ahead"] == []
    assert streets(trip.content.plan) == {"Main Street"}


def test_an_event_ahead_leads_to_the_other_street_and_says_what_it_changes() -> None:
    live = Live()
    trip = followed.moved(followed.trip(live), 56.152)
    live.change(events=(followed.event(),))
    outcome = look(trip, live, CRASH)
    found = outcome.proposal
    assert found is not None
    assert "Bypass" in streets(found)
    assert found["reason"] == "event"
    assert found["notice"] == CRASH.id
    said = proposals.worded(found, "en")
    assert said["because"] == "There is an accident ahead: Main Street, severity 4 of 5."
    assert "1.5 km longer" in said["difference"]["text"]
    danish = proposals.worded(found, "da")
    assert danish["because"] == "Der er en ulykke forude: Main Street, alvor 4 af 5."
    assert "1,5 km længere" in danish["difference"]["text"]
    old = outcome.outlook["values"]
    assert found["instead"]["time_s"] == old["time"]
    assert found["difference"]["time_s"] == pytest.approx(found["time_s"] - old["time"], abs=0.01)
    assert found["difference"]["time_s"] < -60
    assert [one["id"] for one in outcome.outlook["ahead"]] == ["crash"]


def test_an_event_that_costs_less_than_the_detour_changes_nothing() -> None:
    live = Live()
    trip = followed.trip(live)
    live.change(events=(followed.event(level=0),))
    assert look(trip, live, CRASH).proposal is None


def test_what_is_proposed_keeps_its_number_and_not_its_figures_while_one_goes_on() -> None:
    live = Live()
    trip = followed.moved(followed.trip(live), 56.152)
    live.change(events=(followed.event(),))
    first = look(trip, live, CRASH).proposal
    assert first is not None
    proposed = trip.with_content(0, proposal=first, number=1)
    assert not proposals.is_news(first, look(proposed, live, CRASH).proposal or {})
    there = followed.moved(proposed, 56.1585)
    later = look(there, live, CRASH)
    assert later.proposal is not None
    assert later.proposal["number"] == 1
    assert later.proposal["instead"]["time_s"] == later.outlook["values"]["time"]
    assert later.proposal["time_s"] < first["time_s"] - 30
    assert news.change_of(there, later, followed.NOON_MS) == "outlook"


def test_an_event_that_becomes_less_severe_is_told_so_in_the_open_proposal() -> None:
    live = Live()
    trip = followed.moved(followed.trip(live), 56.152)
    live.change(events=(followed.event(level=5),))
    first = look(trip, live).proposal
    asked = trip.with_content(0, proposal=first, number=1)
    live.change(events=(followed.event(level=3),))
    found = look(asked, live).proposal
    assert first is not None
    assert found is not None
    assert (first["cause_level"], found["cause_level"], found["number"]) == (5, 3, 1)
    assert "severity 3 of 5" in proposals.because(found, "en")
    assert found["difference"]["time_s"] > first["difference"]["time_s"] + 30
    said_no = answering.decline(asked.with_content(0, proposal=found), followed.NOON_MS).trip
    live.change(events=(followed.event(level=5),))
    assert look(said_no, live).proposal is not None


def test_when_the_event_clears_the_proposal_goes() -> None:
    live = Live(events=(followed.event(),))
    trip = followed.moved(followed.trip(Live()), 56.152)
    proposed = trip.with_content(0, proposal=look(trip, live, CRASH).proposal, number=1)
    live.change(events=())
    assert look(proposed, live).proposal is None


def test_who_said_no_is_not_asked_again_by_the_streets() -> None:
    live = Live()
    trip = followed.trip(live)
    live.change(events=(followed.event(),))
    asked = trip.with_content(0, proposal=look(trip, live, CRASH).proposal, number=1)
    said_no = answering.decline(asked, followed.NOON_MS).trip
    assert look(said_no, live, CRASH).proposal is None
    assert look(said_no, live, CRASH._replace(criticality=5)).proposal is None  # only nearer
    worse = CRASH._replace(criticality=5, level=5)
    assert look(said_no, live, worse).proposal is not None


def test_no_to_a_way_is_no_to_all_that_it_was_for() -> None:
    jam = replace(followed.event(level=2, lat=56.164, kind="TrafficJam"), id="jam")
    live = Live()
    trip = followed.moved(followed.trip(live), 56.152)
    live.change(events=(followed.event(), jam))
    asked = trip.with_content(0, proposal=look(trip, live).proposal, number=1)
    said_no = answering.decline(asked, followed.NOON_MS).trip
    assert [one["cause"] for one in said_no.content.declined] == ["crash", "jam", "traffic"]
    assert look(said_no, live).proposal is None
    live.change(events=(jam,))
    assert look(said_no, live).proposal is None


def test_what_is_new_behind_what_was_declined_is_no_reason_unless_it_costs_more() -> None:
    live = Live()
    trip = followed.moved(followed.trip(live), 56.152)
    live.change(events=(followed.event(),))
    asked = trip.with_content(0, proposal=look(trip, live).proposal, number=1)
    said_no = answering.decline(asked, followed.NOON_MS).trip
    behind = replace(followed.event(level=1, kind="TrafficJam"), id="jam")
    live.change(events=(followed.event(), behind))
    assert look(said_no, live).proposal is None
    elsewhere = replace(followed.event(level=5, lat=56.1625), id="works")
    live.change(events=(followed.event(), elsewhere))
    found = look(said_no, live).proposal
    assert found is not None
    assert found["cause"] == "works"


def test_undo_is_a_no_to_all_that_was_accepted_for() -> None:
    jam = replace(followed.event(level=2, lat=56.164, kind="TrafficJam"), id="jam")
    live = Live()
    trip = followed.moved(followed.trip(live), 56.152)
    live.change(events=(followed.event(), jam))
    asked = trip.with_content(0, proposal=look(trip, live).proposal, number=1)
    back = answering.undo(answering.accept(asked, 0).trip, followed.NOON_MS).trip
    assert look(back, live).proposal is None


@pytest.mark.parametrize(
    "wish", [{"minimise": "cost"}, {"minimise": "pollution"}, {"minimise": "walk"}]
)
def test_where_a_wish_tells_nothing_apart_time_does(wish: dict[str, str]) -> None:
    live = Live()
    mode = "bicycle" if wish == {"minimise": "cost"} else "car"
    trip = followed.trip(live, mode=mode, preferences=[wish])
    trip = followed.moved(trip, 56.152)
    live.change(events=(followed.event(level=5, kind="RoadClosure"),))
    rest = look(trip, live)
    assert rest.proposal is not None
    assert rest.proposal["time_s"] < rest.outlook["values"]["time"] - 60


def test_what_was_driven_before_a_proposal_is_accepted_is_spent_once() -> None:
    live = Live()
    trip = followed.moved(followed.trip(live), 56.1505)
    live.change(events=(followed.event(),))
    asked = trip.with_content(0, proposal=look(trip, live).proposal, number=1)
    driven = followed.moved(asked, 56.158)
    now = answering.accept(driven, followed.NOON_MS).trip
    spent = replanning.spent(now, following.done_share(now.content), followed.NOON_MS)
    assert spent["distance"] == pytest.approx(driven.content.along_m, rel=0.02)


def test_a_limit_that_is_used_up_is_told_and_a_pause_uses_up_nothing() -> None:
    live = Live()
    limit = {"on": "time", "op": "<=", "value": 400}
    trip = followed.moved(followed.trip(live, constraints=[limit]), 56.152)
    live.change(events=(followed.event(),), now_ms=followed.NOON_MS + 500_000)
    found = look(trip, live).proposal
    assert found is not None
    assert found["relaxed"]
    over = trips.ended(trip, "ended", followed.NOON_MS)
    resumed = beginning.resumed(over, followed.NOON_MS + 500_000)
    found = look(resumed, live).proposal
    assert found is not None
    assert not found["relaxed"]


def test_who_has_left_the_way_gets_one_from_there() -> None:
    live = Live()
    trip = followed.moved(followed.trip(live), 56.155, followed.EAST)
    found = look(trip, live).proposal
    assert found is not None
    assert found["reason"] == "off_route"
    assert found["geometry"]["coordinates"][0] == pytest.approx([followed.EAST, 56.155], abs=1e-4)


def test_limits_that_nothing_keeps_any_more_are_given_up_and_that_is_said() -> None:
    live = Live()
    limit = {"on": "time", "op": "<=", "value": 170}
    trip = followed.moved(followed.trip(live, constraints=[limit]), 56.155, followed.EAST)
    late = live.change(now_ms=followed.NOON_MS + 160_000)
    found = Watch(followed.planner()).look(trip, (), late).proposal
    assert found is not None
    assert found["relaxed"]
    assert "limits" in proposals.because(found, "en")


def test_every_kind_of_notice_has_a_sentence_in_every_language() -> None:
    kinds = pack_of(REPOSITORY / "apps" / "travel_planner").manifest.notices.keys()
    wanted = {kind for kind in kinds if not kind.startswith(("garage", "off", "repeat"))}
    types = {"TrafficJam", "Accident", "RoadWorks", "RoadClosure", "Obstruction", "SportsEvent"}
    assert {watching.kind_of(one) for one in types} <= wanted
    assert set(wording.languages()) == {"da", "de", "en"}
    for language in wording.languages():
        for kind in wanted:
            assert "Vej" in wording.Words(language).say("trips", kind, about="Vej", level=3)


# --- Garages -------------------------------------------------------------------------------------


def test_a_garage_that_is_full_is_given_up_for_the_next() -> None:
    live = Live()
    trip = followed.trip(live, "parking")
    assert trip.content.plan["id"] == "MAIN"
    assert look(trip, live).proposal is None
    live.change(garages=(followed.garage("MAIN", 100), followed.garage("EAST")))
    outcome = look(trip, live)
    assert outcome.proposal is not None
    assert outcome.proposal["id"] == "EAST"
    assert outcome.proposal["reason"] == "garage_full"
    assert outcome.proposal["difference"]["walk_m"] > 500
    assert outcome.outlook["garage"]["state"] == "full"
    assert outcome.outlook["garage"]["free"] == 0


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"hours": "Mo-Su 03:00-04:00"}, "garage_closed"),
        ({"observed_ms": followed.NOON_MS - 3 * 3_600_000}, "garage_unknown"),
    ],
)
def test_so_is_one_that_closes_or_falls_silent(state: dict[str, Any], reason: str) -> None:
    live = Live()
    trip = followed.trip(live, "parking")
    live.change(garages=(followed.garage("MAIN", **state), followed.garage("EAST")))
    found = look(trip, live).proposal
    assert found is not None
    assert (found["id"], found["reason"]) == ("EAST", reason)


def test_a_garage_that_fills_up_is_given_up_when_it_is_likely_full_on_arrival() -> None:
    live = Live()
    trip = followed.trip(live, "parking")
    told = Open("alice.parking~garage_full~MAIN~1", "garage_full", "MAIN", "Main", 3)
    live.change(garages=(followed.garage("MAIN", 96), followed.garage("EAST")))
    assert look(trip, live, told).proposal is None
    filling = followed.garage("MAIN", 99, per_hour=200.0)
    live.change(garages=(filling, followed.garage("EAST")))
    found = look(trip, live, told).proposal
    assert found is not None
    assert found["reason"] == "garage_filling"
    assert found["notice"] == told.id


def test_who_put_off_a_garage_that_fills_up_is_asked_about_another_one() -> None:
    live = Live(garages=(followed.garage("MAIN"), followed.garage("EAST"), THIRD))
    trip = followed.trip(live, "parking")
    full = followed.garage("MAIN", 100)
    live.change(garages=(full, followed.garage("EAST"), THIRD))
    asked = trip.with_content(0, proposal=look(trip, live).proposal, number=1)
    later = answering.snooze(asked, 240, followed.NOON_MS).trip
    assert news.change_of(later, look(later, live), followed.NOON_MS) in (None, "outlook")
    live.change(garages=(full, followed.garage("EAST", 100), THIRD))
    outcome = look(later, live)
    assert outcome.proposal is not None
    assert (outcome.proposal["id"], outcome.proposal["number"]) == ("THIRD", 2)
    assert news.change_of(later, outcome, followed.NOON_MS) == "proposed"


def test_who_put_off_a_garage_that_was_filling_is_asked_when_it_is_full() -> None:
    live = Live()
    trip = followed.trip(live, "parking")
    told = Open("alice.parking~garage_full~MAIN~1", "garage_full", "MAIN", "Main", 3)
    east = followed.garage("EAST")
    live.change(garages=(followed.garage("MAIN", 99, per_hour=200.0), east))
    asked = trip.with_content(0, proposal=look(trip, live, told).proposal, number=1)
    later = answering.snooze(asked, 240, followed.NOON_MS).trip
    live.change(garages=(followed.garage("MAIN", 100), east))
    outcome = look(later, live, told)
    assert outcome.proposal is not None
    assert outcome.proposal["reason"] == "garage_full"
    assert news.change_of(later, outcome, followed.NOON_MS) == "proposed"


THIRD = followed.garage("THIRD", lat=56.168)


def test_where_there_is_no_other_garage_none_is_proposed() -> None:
    live = Live()
    trip = followed.trip(live, "parking")
    live.change(garages=(followed.garage("MAIN", 100),))
    assert look(trip, live).proposal is None


# --- Answers -------------------------------------------------------------------------------------


def accepted() -> tuple[Trip, Trip]:
    """A trip half way with a proposal, and the same when that is accepted."""
    live = Live(events=(followed.event(),))
    trip = followed.moved(followed.trip(Live()), 56.152)
    asked = trip.with_content(0, proposal=look(trip, live, CRASH).proposal, number=1)
    return asked, answering.accept(asked, followed.NOON_MS).trip


def test_an_accepted_proposal_is_the_plan_and_keeps_nothing_of_the_question() -> None:
    asked, now = accepted()
    assert asked.content.proposal is not None
    assert now.content.proposal is None
    assert now.content.plan["geometry"] == asked.content.proposal["geometry"]
    assert now.content.previous == asked.content.plan
    assert not {"number", "cause", "causes", "spent", "instead"} & now.content.plan.keys()
    assert now.content.along_m == pytest.approx(0, abs=1)
    behind = asked.content.along_m
    assert now.content.spent["distance"] == pytest.approx(behind, abs=2)


def test_undo_brings_the_old_plan_back_and_does_not_ask_again() -> None:
    asked, now = accepted()
    back = answering.undo(now, followed.NOON_MS).trip
    assert back.content.plan == asked.content.plan
    assert back.content.previous is None
    assert back.content.spent == asked.content.spent
    assert look(back, Live(events=(followed.event(),)), CRASH).proposal is None


def test_advice_names_the_garage_that_notices_tell_of_anyway_and_not_where_it_is() -> None:
    live = Live()
    trip = followed.trip(live, "parking")
    live.change(garages=(followed.garage("MAIN", 100), followed.garage("EAST")))
    proposed = look(trip, live).proposal
    assert proposed is not None
    found = proposals.advice("tr_1", "parking", proposed)
    assert found["texts"]["en"].startswith("Park at East instead: ")
    assert "56.1" not in str(found)


def test_advice_of_a_way_says_it_in_every_language_and_nothing_of_where() -> None:
    asked, _now = accepted()
    assert asked.content.proposal is not None
    found = proposals.advice("tr_1", "travel", asked.content.proposal)
    assert found["texts"]["en"].startswith("A better route: ")
    assert found["texts"]["da"].startswith("En bedre rute: ")
    assert found["texts"]["en"] == found["text"]
    assert "geometry" not in found
    assert found["url"] == "/plan?trip=tr_1"

"""The template `critical_events` says which events are critical to whom, and how much."""

from __future__ import annotations

import tomllib

import pytest
from rdflib import RDF, Graph, URIRef

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.languages.casp.parsing import read_file
from citywise.reasoning.model.request import Signature
from citywise.reasoning.run.keyed.locality import Locality
from citywise.reasoning.run.language import check
from tests.context.situation import PACK, TEMPLATE, Situation

EFFECTS = Signature("ctx_affects", 2)
CONTEXT = "https://w3id.org/citywise/context#"


def on_my_way(**values: str | int | list[str]) -> Situation:
    """Three jams on my way: a slight one near by, a severe one far off, one between."""
    situation = Situation().instance(**values).fact("has_position", "me")
    for name, level, metres in (("near", 1, 500), ("middle", 3, 2500), ("far", 5, 4500)):
        situation.event(name, level).ahead(name, metres)
    return situation


# --- The rules ---------------------------------------------------------------------------


def test_the_rules_have_no_fault() -> None:
    assert [f for f in check(TEMPLATE) if f.code != "unknown-predicate"] == []


def test_every_rule_reads_only_what_can_be_reached_from_its_instance() -> None:
    reading = read_file(TEMPLATE)
    supplied = reading.request.used - reading.request.derived - {EFFECTS}
    assert Locality(reading.rules, [EFFECTS], supplied).leaps == ()


def test_a_situation_without_instances_concludes_nothing() -> None:
    found = Situation().event("jam").conclude()
    assert (found.notices, found.details, found.closed) == ({}, {}, set())


# --- Places of interest ------------------------------------------------------------------


def test_only_what_remains_of_my_route_matters() -> None:
    situation = Situation().instance().event("jam").event("elsewhere").event("behind")
    found = situation.ahead("jam").fact("passed", "me", "behind").conclude()
    assert found.of() == {"jam": 4}


def test_another_threshold_than_mine_is_not_mine() -> None:
    found = Situation().instance(radius=50).event("jam").ahead("jam", radius=100).conclude()
    assert found.of() == {}


def test_events_around_me_and_in_my_area_are_none_on_my_route() -> None:
    situation = Situation().instance().event("a").around("a", 10).event("b")
    assert situation.fact("inside", "me", "b", "area").conclude().of() == {}


def test_on_my_way_metres_are_those_along_it() -> None:
    situation = Situation().instance().event("jam").ahead("jam", 800).around("jam", 90)
    assert situation.conclude().details["me", "jam"]["metres"] == 800


def test_what_lies_against_my_direction_of_travel_does_not_matter() -> None:
    situation = Situation().instance().event("jam").ahead("jam").fact("opposite", "me", "jam")
    assert situation.conclude().of() == {}


def test_around_me_only_what_is_within_the_radius_matters() -> None:
    situation = Situation().instance(interest="around_me").fact("has_position", "me")
    situation.event("near").around("near", 100).event("far").around("far", 101)
    assert set(situation.conclude().of()) == {"near"}


def test_around_me_another_radius_than_mine_is_not_mine() -> None:
    situation = Situation().instance(interest="around_me", radius=50).event("jam")
    assert situation.around("jam", 80).conclude().of() == {}


def test_in_an_area_what_lies_inside_matters_however_far_i_am() -> None:
    situation = Situation().instance(interest="area").event("in", 5).event("out", 5)
    situation.fact("inside", "me", "in", "area").ahead("out").around("out", 10)
    assert situation.conclude().of() == {"in": 3}


def test_each_instance_has_its_own_interest_and_route() -> None:
    situation = Situation().event("a", 1).event("b", 5)
    situation.instance("anna").instance("bo").instance("cleo", interest="area")
    situation.ahead("a", None, "anna").ahead("b", None, "bo").ahead("b", None, "cleo")
    assert situation.conclude().notices == {("anna", "a"): 1, ("bo", "b"): 5}


# --- Filtering factors -------------------------------------------------------------------


def filtered(**values: str | int | list[str]) -> Situation:
    situation = Situation().instance(**values)
    situation.event("jam").event("works", kind="RoadWorks", source="authority")
    situation.event("air", kind="PoorAir").event("concert", kind="CulturalEvent", source="social")
    for name in ("jam", "works", "air", "concert"):
        situation.ahead(name)
    return situation


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({}, {"jam", "works", "air", "concert"}),
        ({"sources": ["sensor"]}, {"jam", "air"}),
        ({"sources": ["social", "authority"]}, {"works", "concert"}),
        ({"categories": ["ev_TrafficJam"]}, {"jam"}),
        ({"categories": ["ev_TransportationEvent"]}, {"jam", "works"}),
        ({"categories": ["ev_CityEvent"]}, {"jam", "works", "air", "concert"}),
        ({"categories": ["ev_PublicEvent", "ev_RoadWorks"]}, {"works", "concert"}),
        ({"categories": ["ev_TransportationEvent"], "sources": ["sensor"]}, {"jam"}),
    ],
    ids=lambda given: str(sorted(given) if isinstance(given, set) else given),
)
def test_a_factor_keeps_what_is_chosen_at_any_level_and_all_if_nothing_is(
    values: dict[str, list[str]], kept: set[str]
) -> None:
    assert set(filtered(**values).conclude().of()) == kept


@pytest.mark.parametrize(
    ("activity", "kept"),
    [
        ("DrivingCar", {"jam", "works", "air", "concert"}),
        ("Cycling", {"works", "air"}),
        ("Staying", {"air"}),
    ],
)
def test_the_effects_of_the_ontology_say_what_affects_what_i_am_doing(
    activity: str, kept: set[str]
) -> None:
    situation = filtered().fact("ctx_activity", "me", f"ctx_{activity}")
    assert set(situation.conclude().of()) == kept


def test_what_i_say_here_that_i_am_doing_counts_instead_of_what_is_known() -> None:
    situation = filtered(activities=["Cycling"]).fact("ctx_activity", "me", "ctx_DrivingCar")
    assert set(situation.conclude().of()) == {"works", "air"}
    assert set(filtered(activities=["Staying", "Walking"]).conclude().of()) == {"works", "air"}
    assert set(filtered(activities=["RidingBus"]).conclude().of()) == {"jam", "works", "concert"}


def test_every_activity_of_the_ontology_can_be_chosen() -> None:
    parameters = tomllib.loads((PACK / "app.toml").read_text(encoding="utf-8"))
    choices = parameters["templates"]["critical_events"]["parameters"]["activities"]["choices"]
    context = Graph().parse(REPOSITORY / "ontologies" / "context.ttl")
    activities = set(context.subjects(RDF.type, URIRef(CONTEXT + "Activity")))
    assert {URIRef(CONTEXT + choice) for choice in choices} == activities


def test_i_may_ask_for_what_does_not_affect_what_i_am_doing() -> None:
    situation = filtered(affecting="anything").fact("ctx_activity", "me", "ctx_Staying")
    assert set(situation.conclude().of()) == {"jam", "works", "air", "concert"}


# --- Linear ranking ----------------------------------------------------------------------


def test_weights_reorder_criticality_as_computed_by_hand() -> None:
    """Horizon 5 km. Distance values: 500 m 4.6, 2500 m 3.0, 4500 m 1.4; levels 1, 3, 5."""
    # 70/30: 3.52, 3.0, 2.48   30/70: 2.08, 3.0, 3.92   50/50: 2.8, 3.0, 3.2
    mostly_near = on_my_way(weight_distance=70, weight_level=30).conclude()
    assert mostly_near.of() == {"near": 4, "middle": 3, "far": 2}
    assert mostly_near.ranks() == {"near": 1, "middle": 2, "far": 3}
    mostly_severe = on_my_way(weight_distance=30, weight_level=70).conclude()
    assert mostly_severe.of() == {"near": 2, "middle": 3, "far": 4}
    assert mostly_severe.ranks() == {"near": 3, "middle": 2, "far": 1}
    even = on_my_way().conclude()
    assert even.of() == {"near": 3, "middle": 3, "far": 3}
    assert even.ranks() == {"near": 3, "middle": 2, "far": 1}


def test_equal_products_count_twice() -> None:
    """50 · 300 from the distance and 50 · 300 from the level: a set of sums would keep one."""
    situation = Situation().instance(horizon=10).event("jam", 3).ahead("jam", 500)
    assert situation.conclude().of() == {"jam": 3}


def test_one_event_does_not_hide_another_as_severe_and_near() -> None:
    situation = Situation().instance().event("a", 4).event("b", 4)
    found = situation.ahead("a", 100).ahead("b", 100).conclude()
    assert found.of() == {"a": 4, "b": 4}
    assert found.ranks() == {"a": 1, "b": 1}


def test_metres_decide_and_not_the_number_of_pieces_of_the_way() -> None:
    situation = Situation().instance(weight_level=0, horizon=40).event("jam").event("next")
    assert situation.ahead("jam", 900).ahead("next", 2100).conclude().of() == {"jam": 4, "next": 3}


@pytest.mark.parametrize(
    ("metres", "criticality"),
    [(1, 5), (1125, 5), (1136, 5), (1137, 4), (3386, 4), (3387, 3), (7887, 1), (50_000, 1)],
)
def test_halves_are_rounded_up_and_levels_are_not_cut_off(metres: int, criticality: int) -> None:
    """Horizon 9 km, distance alone: 5 less 4/9 a kilometre, to the hundredth.

    1136 m: 4.4951, so 4.50 and 5; 1137 m: 4.4947, so 4.49 and 4. 3386 m: 3.4951; 7887 m: 1.4947.
    """
    situation = Situation().instance(weight_level=0, horizon=90).event("jam").ahead("jam", metres)
    assert situation.conclude().of() == {"jam": criticality}


def test_the_largest_weights_and_horizon_stay_within_32_bits() -> None:
    values = {"weight_distance": 100, "weight_level": 100, "horizon": 500}
    situation = Situation().instance(**values).event("jam", 5).ahead("jam", 1)
    assert situation.conclude().of() == {"jam": 5}
    situation = Situation().instance(**values).event("jam", 5).ahead("jam", 49_999)
    assert situation.conclude().of() == {"jam": 3}


def test_while_nobody_knows_where_i_am_the_level_alone_counts() -> None:
    situation = Situation().instance(weight_distance=90, weight_level=10).event("jam", 2)
    assert situation.ahead("jam", None).conclude().of() == {"jam": 2}


@pytest.mark.parametrize("metres", [None, 1])
def test_an_event_of_which_nothing_weighs_is_not_lost(metres: int | None) -> None:
    situation = Situation().instance(weight_distance=0, weight_level=0).event("jam", 1)
    found = situation.ahead("jam", metres).conclude()
    assert found.of() == {"jam": 1 if metres is None else 3}


def test_only_the_weight_of_what_is_unknown_is_no_weight() -> None:
    situation = Situation().instance(weight_distance=100, weight_level=0).event("jam", 4)
    assert situation.ahead("jam", None).conclude().of() == {"jam": 4}


def test_around_me_nearness_falls_to_its_least_at_the_radius() -> None:
    situation = Situation().instance(interest="around_me", radius=100, weight_level=0)
    for metres in (0, 25, 50, 100):
        situation.event(f"at {metres}").around(f"at {metres}", metres)
    assert situation.conclude().of() == {"at 0": 5, "at 25": 4, "at 50": 3, "at 100": 1}


def test_in_an_area_what_is_farther_than_the_radius_is_far_for_all_users_alike() -> None:
    """However far the framework looks for others, my distances end at my radius."""
    situation = Situation().instance(interest="area", weight_level=0).fact("has_position", "me")
    for name in ("here", "there", "beyond"):
        situation.event(name).fact("inside", "me", name, "area")
    found = situation.around("here", 50).around("there", 150).conclude()
    assert found.of() == {"here": 3, "there": 1, "beyond": 1}
    assert found.ranks() == {"here": 1, "there": 2, "beyond": 2}
    assert [("metres" in found.details["me", name]) for name in ("here", "there")] == [True, False]


def test_what_is_less_critical_than_i_want_is_not_told_and_not_ranked() -> None:
    found = on_my_way(weight_distance=70, weight_level=30, least_criticality=3).conclude()
    assert found.of() == {"near": 4, "middle": 3}
    assert found.ranks() == {"near": 1, "middle": 2}
    assert found.closed == {("me", "far", "less_critical")}


def test_what_is_told_has_metres_and_level() -> None:
    found = Situation().instance().event("jam", 4).ahead("jam", 321).conclude()
    assert found.details == {("me", "jam"): {"rank": 1, "metres": 321, "level": 4}}


# --- Ordered ranking ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "criticality", "ranks"),
    [
        ("distance", {"near": 5, "middle": 3, "far": 1}, {"near": 1, "middle": 2, "far": 3}),
        ("level", {"near": 1, "middle": 3, "far": 5}, {"near": 3, "middle": 2, "far": 1}),
    ],
)
def test_what_i_name_first_decides(
    first: str, criticality: dict[str, int], ranks: dict[str, int]
) -> None:
    found = on_my_way(ranking="ordered", first=first).conclude()
    assert (found.of(), found.ranks()) == (criticality, ranks)


def test_the_second_factor_decides_among_equals_only() -> None:
    situation = Situation().instance(ranking="ordered", first="level")
    for name, level, metres in (("a", 3, 900), ("b", 3, 100), ("c", 5, 4000), ("d", 3, 100)):
        situation.event(name, level).ahead(name, metres)
    assert situation.conclude().ranks() == {"c": 1, "b": 2, "d": 2, "a": 4}


def test_in_an_area_what_is_beyond_the_radius_comes_after_what_is_at_it() -> None:
    values = {"interest": "area", "ranking": "ordered", "first": "distance"}
    situation = Situation().instance(**values).fact("has_position", "me")
    for name, level, metres in (("at", 1, 100), ("beyond", 5, 101), ("beyond too", 4, 150)):
        situation.event(name, level).around(name, metres).fact("inside", "me", name, "area")
    assert situation.conclude().ranks() == {"at": 1, "beyond": 2, "beyond too": 3}


def test_while_nobody_knows_where_i_am_the_level_decides_first() -> None:
    situation = Situation().instance(ranking="ordered", first="distance")
    found = situation.event("a", 2).event("b", 4).ahead("a", None).ahead("b", None).conclude()
    assert (found.of(), found.ranks()) == ({"a": 2, "b": 4}, {"a": 2, "b": 1})


# --- Expiry and change -------------------------------------------------------------------


def test_a_jam_that_i_have_passed_is_closed_as_passed() -> None:
    found = Situation().instance().event("jam").fact("passed", "me", "jam").conclude()
    assert (found.of(), found.closed) == ({}, {("me", "jam", "passed")})


def test_what_opens_just_behind_me_is_not_told_though_it_is_near_my_way() -> None:
    found = Situation().instance().event("jam").ahead("jam", 0).conclude()
    assert (found.of(), found.closed) == ({}, {("me", "jam", "passed")})


def test_off_my_route_all_that_lies_on_it_is_closed() -> None:
    situation = Situation().instance().event("jam").ahead("jam", 10).fact("off_route", "me")
    found = situation.event("behind").fact("passed", "me", "behind").conclude()
    assert (found.of(), found.closed) == ({}, {("me", "jam", "off_route")})


def test_what_i_have_moved_away_from_is_no_longer_told() -> None:
    found = Situation().instance(interest="around_me").event("jam").conclude()
    assert (found.of(), found.closed) == ({}, set())


def test_what_no_longer_affects_what_i_am_doing_is_closed() -> None:
    situation = Situation().instance().event("jam").ahead("jam")
    assert situation.fact("ctx_activity", "me", "ctx_DrivingCar").conclude().of() == {"jam": 4}
    situation = Situation().instance().event("jam").ahead("jam")
    found = situation.fact("ctx_activity", "me", "ctx_Walking").conclude()
    assert (found.of(), found.closed) == ({}, {("me", "jam", "not_affected")})


def test_an_event_that_has_ended_is_no_longer_there() -> None:
    found = Situation().instance().fact("has_position", "me").conclude()
    assert (found.of(), found.closed) == ({}, set())


@pytest.mark.parametrize("interest", ["my_route", "around_me", "area"])
def test_reasons_concern_the_place_of_interest_only(interest: str) -> None:
    situation = Situation().instance(interest=interest)
    if interest != "my_route":
        situation.event("left").fact("passed", "me", "left").event("on").ahead("on")
    assert situation.conclude().closed == set()
    if interest != "my_route":
        assert situation.fact("off_route", "me").conclude().closed == set()


@pytest.mark.parametrize("interest", ["my_route", "around_me", "area"])
def test_what_is_told_has_no_reason_to_be_closed(interest: str) -> None:
    situation = Situation().instance(interest=interest).event("jam").ahead("jam")
    found = situation.around("jam", 20).fact("inside", "me", "jam", "area").conclude()
    assert (set(found.of()), found.closed) == ({"jam"}, set())
    assert found.details["me", "jam"]["metres"] == (1 if interest == "my_route" else 20)

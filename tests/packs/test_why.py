"""Why a user was told of something, or was not: the atom that decided is named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.why import NoInstanceError, Reasons, explain
from tests.packs.concluding import notices
from tests.packs.test_run import (
    Happening,
    event,
    instance,
    log,
    position,
    route,
    steps_of,
    template,
)

RULES = """\
(near) notice(Me,"jam",E,L) :- radius(Me,R), near_route(Me,E,R), not opposite(Me,E),
        rdf_type(E,"ev_TrafficJam"), ev_level(E,L).
(r2) detail(Me,"jam",E,"metres",M) :- notice(Me,"jam",E,_), ahead(Me,E,M).
"""
JAM = template(RULES)
EVENT = "https://w3id.org/citywise/event/e"
LACKS = f'fails: there is no near_route("a.jam","{EVENT}",R)'


def road(key: str, *points: Sequence[float]) -> tuple[str, str, Any]:
    """A jam on a directed road."""
    subject, name, body = event(key, 0)
    return subject, name, {**body, "geometry": {"type": "LineString", "coordinates": points}}


def why(
    happenings: Sequence[Happening],
    of: TemplateVersion = JAM,
    about: str = "e",
    who: str = "a.jam",
    kind: str = "jam",
    there: Mapping[str, str] | None = None,
) -> Reasons:
    """What explains the last answer of a log."""
    run = TemplateRun(of)
    for entry in log(happenings):
        list(run.take(entry))
    return explain(run, who, kind, about, there)


def test_who_was_told_sees_the_rule_and_the_facts_it_rests_on() -> None:
    found = why([instance("a", radius=200), route("a"), event("e", 10.2, level=4), 1])
    assert found.told
    assert found.tree.splitlines()[1:] == [
        '├─ radius("a.jam",200)  given',
        f'├─ near_route("a.jam","{EVENT}",200)  given',
        f'├─ not opposite("a.jam","{EVENT}")  not in the answer',
        f'├─ rdf_type("{EVENT}","ev_TrafficJam")  given',
        f'└─ ev_level("{EVENT}",4)  given',
    ]
    assert "by rule near: " in found.tree.splitlines()[0]
    assert found.answer == (f'notice("a.jam","jam","{EVENT}",4)',)
    assert 'radius("a.jam",200)' in found.inputs
    assert found.explanation["holds"] is True
    assert found.notes == ()


def test_what_could_not_be_understood_of_a_thing_or_a_user_is_among_the_notes() -> None:
    odd = ("event", "e", {**event("e", 10.2)[2], "level": None})
    blind = ("route", "a", {"coordinates": [["x", "y"]]})
    found = why([instance("a"), route("a"), odd, 1])
    assert found.notes[0].startswith("event e: `ev_level`")
    assert why([instance("a"), blind, event("e", 10.2), 1]).notes[0] == (
        "route a: left out: ValueError"
    )
    with pytest.raises(NoInstanceError, match=r"another version; a\.jam: "):
        why([instance("a", radius=-1), 1])


def test_who_drives_the_other_way_sees_that_the_road_is_opposite() -> None:
    found = why([instance("a"), route("a"), road("e", [10.21, 56.15], [10.20, 56.15]), 1])
    assert not found.told
    assert f'not opposite("a.jam","{EVENT}")  fails: opposite(' in found.tree
    assert found.notes == ("e was on a road against a's direction of travel",)
    assert found.tree.count("fails:") == 1
    assert found.answer == ()


@pytest.mark.parametrize(
    ("happenings", "note"),
    [
        pytest.param(
            [instance("a"), route("a"), event("e", 10.2), position("a", 10.21)],
            "e was near a's way, but only near the part behind a",
            id="passed",
        ),
        pytest.param(
            [instance("a"), route("a"), event("e", 10.2, lat=56.16)],
            "e was 1114 m from what remained of a's way; near is up to 100 m",
            id="too far",
        ),
        pytest.param(
            [instance("a", radius=70), route("a"), event("e", 10.2, lat=56.1507)],
            "e was 78 m from what remained of a's way; near is up to 70 m",
            id="radius too small",
        ),
        pytest.param(
            [instance("a"), event("e", 10.2)], "no route of a was known", id="no route"
        ),
        pytest.param(
            [instance("a"), route("a"), event("e", 10.2), 1, ("event", "e", None)],
            "no event or place `e` stood then: it was over, or not yet begun",
            id="over",
        ),
    ],
)  # fmt: skip
def test_who_has_it_not_before_them_sees_that_it_is_not_near_and_why(
    happenings: list[Happening], note: str
) -> None:
    found = why([*happenings, 1])
    assert (found.told, found.answer) == (False, ())
    assert LACKS in found.tree
    assert found.tree.count("fails:") == 1
    assert not any(fact.startswith("near_route(") for fact in found.inputs)
    assert found.notes == (note,)
    assert found.tree.endswith(f"\nNote: {note}.\n")


def test_asking_why_changes_nothing_of_what_is_told_next() -> None:
    """Also not though things far away were looked at."""
    rules = template(RULES + 'notice(Me,"jam",behind,1) :- passed(Me,_).')
    asked: list[Happening] = [instance("a"), route("a"), event("e", 10.2, lat=56.16), 1]
    later: list[Happening] = [event("f", 10.205), position("a", 10.2), 1, position("a", 10.21), 1]
    entries = log([*asked, *later])
    run, found = TemplateRun(rules), []
    for entry in entries:
        found += [change for step in run.take(entry) for change in step.changes]
        if entry is entries[len(asked) - 1]:
            assert explain(run, "a.jam", "jam", "e").notes
    assert found == [change for _t, change in steps_of(TemplateRun(rules), entries)]
    assert [change["about"] for change in found] == ["f", "f", "behind"]


def test_a_wider_radius_would_have_been_enough() -> None:
    near: list[Happening] = [instance("a", radius=80), route("a"), event("e", 10.2, lat=56.1507), 1]
    assert why(near).told
    assert not why([instance("a", radius=70), *near[1:]]).told


def test_without_permission_nothing_of_the_route_is_known() -> None:
    told: list[Happening] = [instance("a"), route("a"), event("e", 10.2), 1]
    blind = why(told, template(RULES, permissions=("position",)))
    assert (why(told).told, blind.told) == (True, False)
    assert LACKS in blind.tree
    said = 'the app may not see it: `permissions` in its app.toml lists no "route"'
    assert blind.notes == (said,)
    assert "near_route" in str(why(told).inputs)
    assert "near_route" not in str(blind.inputs)


def test_without_a_position_it_says_that_there_is_none() -> None:
    rules = '(here) notice(Me,"jam",E,1) :- has_position(Me), radius(Me,R), near_me(Me,E,R).'
    found = why([instance("a"), event("e", 10.2), 1], template(rules))
    assert not found.told
    assert 'has_position("a.jam")  fails: ' in found.tree
    assert found.notes == ("no position of a was known",)


def test_who_is_too_far_from_it_sees_how_far() -> None:
    rules = '(here) notice(Me,"jam",E,1) :- radius(Me,R), near_me(Me,E,R).'
    found = why([instance("a"), event("e", 10.2), position("a", 10.21), 1], template(rules))
    assert found.notes == ("e was 622 m from a's position; near is up to 100 m",)


def test_another_kind_of_event_or_level_is_named() -> None:
    rules = RULES.replace('"ev_TrafficJam"', '"ev_PublicParking"').replace("L).", "L), L > 2.", 1)
    found = why([instance("a"), route("a"), event("e", 10.2, level=1), 1], template(rules))
    assert f'rdf_type("{EVENT}","ev_PublicParking")  fails' in found.tree


def test_each_rule_that_could_have_told_says_what_it_lacked() -> None:
    rules = RULES + '(worst) notice(Me,"jam",E,5) :- near_route(Me,E,_), ev_level(E,5).\n'
    rules += '(other) notice(Me,"quiet",E,1) :- near_route(Me,E,_).\n'
    found = why(
        [instance("a"), route("a"), road("e", [10.21, 56.15], [10.20, 56.15]), 1], template(rules)
    )
    assert "rule near:" in found.tree
    assert "rule worst:" in found.tree
    assert f'ev_level("{EVENT}",5)  fails' in found.tree
    assert "rule other:" not in found.tree  # another kind of notice


def test_an_answer_of_the_past_is_explained_by_what_stood_then() -> None:
    happenings: list[Happening] = [instance("a"), route("a"), event("e", 10.2), 1]
    passed: list[Happening] = [*happenings, position("a", 10.21)]
    assert why(passed).told  # no clock since
    assert not why([*passed, 1]).told
    assert why(happenings).at < why([*passed, 1]).at


def test_what_no_event_is_called_is_explained_as_an_event() -> None:
    found = why([instance("a"), route("a"), event("e", 10.2), 1], about="f")
    assert not found.told
    assert "https://w3id.org/citywise/event/f" in found.tree


def test_a_place_that_the_rules_do_not_see_is_not_taken_for_an_event() -> None:
    blind = template(RULES, streams=["events"])
    there = {"havnen": "place"}
    found = why([instance("a"), route("a"), 1], blind, about="havnen", there=there)
    assert '"place_havnen"' in found.tree
    assert found.notes == ('`havnen` is a place, and `streams` in app.toml lists no "places"',)


def test_what_was_probably_meant_is_said() -> None:
    found = why([instance("a"), route("a"), 1], about="BRUNS", there={"BRUUNS": "place"})
    assert found.notes == ("there is no event or place `BRUNS`; did you mean `BRUUNS`?",)


def test_times_of_day_that_it_was_not_are_said() -> None:
    span = {"type": "time_span", "title": "When", "default": "07:00-09:00"}
    rules = '(r1) notice(Me,"jam","x",1) :- user(Me,_), during(Me,"when").'
    found = why([instance("a"), 1], template(rules, parameters={"when": span}), about="x")
    assert 'during("a.jam","when")  is not in the answer' in found.tree
    assert "it would say: the local time is in the span that my parameter" in found.tree
    (note,) = found.notes
    assert re.fullmatch(r"it was \d\d:\d\d then, which is not in `when`: 07:00-09:00", note)


def test_a_notice_about_a_term_is_asked_for_by_its_text() -> None:
    rules = '(home) notice(Me,"jam",at_home,1) :- user(Me,_), has_route(Me).'
    found = why([instance("a"), route("a"), 1], template(rules), about="at_home")
    assert found.told
    assert why([instance("a"), 1], template(rules), about="at_home").notes == ()


@pytest.mark.parametrize(
    ("happenings", "who"),
    [
        ([instance("a"), 1], "b.jam"),
        ([instance("a"), 1, ("instance", "a.jam", None), 1], "a.jam"),
        ([instance("a", version=2), 1], "a.jam"),
        ([instance("a", radius="wide"), 1], "a.jam"),
    ],
)
def test_an_instance_that_was_not_there_cannot_be_asked_about(
    happenings: list[Happening], who: str
) -> None:
    with pytest.raises(NoInstanceError, match=f"no instance `{who}` of test/jam@1 then; it may"):
        why(happenings, who=who)


def test_rules_that_read_nothing_of_events_still_tell_an_end_from_moving_away() -> None:
    bare = template('notice(Me,"jam",E,1) :- radius(Me,R), near_route(Me,E,R).')
    begin: list[Happening] = [instance("a"), route("a"), event("e", 10.2), 1]
    for after, reason in (
        (position("a", 10.21), "moved_away"),
        (("event", "e", None), "ended"),
        (("instance", "a.jam", None), "removed"),
    ):
        changes = [change for _t, change in notices(log([*begin, after, 1]), [bare])]
        assert [c["closed_because"] for c in changes] == [None, reason]

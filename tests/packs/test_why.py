"""Why a user was told of something, or was not: the atom that decided is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from backend.packs.run import TemplateRun
from backend.packs.template import TemplateVersion
from backend.packs.why import NoInstanceError, Reasons, explain
from tests.packs.test_run import Happening, event, instance, log, position, route, template

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
) -> Reasons:
    """What explains the last answer of a log."""
    run = TemplateRun(of)
    for entry in log(happenings):
        list(run.take(entry))
    return explain(run, who, kind, about)  # fmt: skip


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
    assert 'user("a.jam","a")' in found.inputs
    assert found.explanation["holds"] is True


def test_who_drives_the_other_way_sees_that_the_road_is_opposite() -> None:
    found = why([instance("a"), route("a"), road("e", [10.21, 56.15], [10.20, 56.15]), 1])
    assert not found.told
    assert f'not opposite("a.jam","{EVENT}")  fails: opposite(' in found.tree
    assert found.tree.count("fails:") == 1
    assert found.answer == ()


@pytest.mark.parametrize(
    "happenings",
    [
        pytest.param(
            [instance("a"), route("a"), event("e", 10.2), position("a", 10.21)], id="passed"
        ),
        pytest.param([instance("a"), route("a"), event("e", 10.2, lat=56.16)], id="too far"),
        pytest.param(
            [instance("a", radius=50), route("a"), event("e", 10.2, lat=56.1507)], id="radius"
        ),
        pytest.param([instance("a"), event("e", 10.2)], id="no route"),
        pytest.param(
            [instance("a"), route("a"), event("e", 10.2), 1, ("event", "e", None)], id="over"
        ),
    ],
)
def test_who_has_it_not_before_them_sees_that_it_is_not_near(happenings: list[Happening]) -> None:
    found = why([*happenings, 1])
    assert (found.told, found.answer) == (False, ())
    assert LACKS in found.tree
    assert found.tree.count("fails:") == 1
    assert not any(fact.startswith("near_route(") for fact in found.inputs)


def test_a_wider_radius_would_have_been_enough() -> None:
    near: list[Happening] = [instance("a", radius=80), route("a"), event("e", 10.2, lat=56.1507), 1]
    assert why(near).told
    assert not why([instance("a", radius=70), *near[1:]]).told


def test_without_permission_nothing_of_the_route_is_known() -> None:
    told: list[Happening] = [instance("a"), route("a"), event("e", 10.2), 1]
    blind = why(told, template(RULES, permissions=("position",)))
    assert (why(told).told, blind.told) == (True, False)
    assert LACKS in blind.tree
    assert "has_route" not in str(blind.inputs)


def test_without_a_position_it_says_that_there_is_none() -> None:
    rules = '(here) notice(Me,"jam",E,1) :- has_position(Me), radius(Me,R), near_me(Me,E,R).'
    found = why([instance("a"), event("e", 10.2), 1], template(rules))
    assert not found.told
    assert 'has_position("a.jam")  fails: ' in found.tree


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


def test_a_notice_about_a_term_is_asked_for_by_its_text() -> None:
    rules = '(home) notice(Me,"jam",at_home,1) :- user(Me,_), has_route(Me).'
    found = why([instance("a"), route("a"), 1], template(rules), about="at_home")
    assert found.told
    assert not why([instance("a"), 1], template(rules), about="at_home").told


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

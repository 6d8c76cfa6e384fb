"""Injection: what a user fills in is data to the rules, never rules.

Each text is put where users, sensors and authorities can put one, and evaluated by the
template's real run; the answer must be what the rules conclude of any text.
"""

from __future__ import annotations

from typing import Any

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from citywise.backend.ingest.standing import checked
from citywise.backend.packs.parameters import TYPES
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import NoticeText
from citywise.backend.packs.values import BadValuesError
from tests.packs.test_run import START, log, template
from tests.security.hostile import NAMES, TEXTS

ME = "anna.echo"
PARAMETERS: dict[str, dict[str, Any]] = {
    "note": {"type": "text", "max_length": 500},
    "size": {"type": "number"},
    "word": {"type": "choice", "choices": ["low", "high"]},
    "garage": {"type": "place"},
    "gauge": {"type": "sensor"},
    "way": {"type": "route"},
    "zone": {"type": "area"},
    "wait": {"type": "duration"},
    "hour": {"type": "time_of_day"},
    "hours": {"type": "time_span"},
    "friend": {"type": "user"},
    "kind": {"type": "class", "of": "ev:Event", "choices": ["ev:TrafficJam"]},
}
ECHO = template(
    """
    notice(Me,"said",Text,1) :- note(Me,Text).
    notice(Me,"said",Text,2) :- preference(Me,"wish",Text).
    notice(Me,"said",Text,3) :- ctx_activity(Me,Text).
    notice(Me,"said",Kind,4) :- radius(Me,_), rdf_type(Event,Kind), ev_level(Event,_).
    notice(Me,"said",Friend,6) :- friend(Me,Friend).
    notice(Me,"leak",X,5) :- secret(Me,X).
    """,
    name="echo",
    parameters={
        "radius": {"type": "number", "title": "R", "default": 100},
        **{name: {**kind, "title": name, "optional": True} for name, kind in PARAMETERS.items()},
    },
    notices={name: NoticeText(title=name) for name in ("said", "leak")},
)


def instance(**values: Any) -> tuple[str, str, Any]:
    app = {"app": "test", "template": "echo", "version": 1, "user": "anna"}
    return "instance", ME, {**app, "values": values}


def concluded(*stands: tuple[str, str, Any]) -> list[clingo.Symbol]:
    """The notices that follow from what stands, once all of it is as the ingest takes it."""
    taken = [checked(*each) for each in stands]
    run = TemplateRun(ECHO)
    for entry in log([*((one.subject, one.key, one.body) for one in taken), 1]):
        list(run.take(entry))
    answer = [clingo.parse_term(atom) for atom in run.answer(ME)]
    run.close()
    return answer


def said(text: str, level: int) -> clingo.Symbol:
    arguments = [clingo.String(ME), clingo.String("said"), clingo.String(text)]
    return clingo.Function("notice", [*arguments, clingo.Number(level)])


# --- Values of instances ------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_told_back_as_it_was_written_and_nothing_else_follows(text: str) -> None:
    try:
        values = ECHO.bind({"note": text})
    except BadValuesError:
        assert "\x00" in text  # No language of ours can hold it.
        return
    assert concluded(instance(**values)) == [said(text, 1)]


@given(st.text(max_size=30))
@settings(max_examples=100)
def test_whatever_is_written_is_one_term(text: str) -> None:
    try:
        values = ECHO.bind({"note": text})
    except BadValuesError:
        return
    [fact] = [fact for fact in ECHO.facts(ME, values, ECHO.term) if fact.startswith("note(")]
    atom = clingo.parse_term(fact)
    assert atom == clingo.Function("note", [clingo.String(ME), clingo.String(text)])


def test_no_type_of_parameter_is_left_out() -> None:
    assert {kind["type"] for kind in PARAMETERS.values()} == set(TYPES)


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name != "note"])
def test_other_types_of_parameter_take_no_such_text(name: str) -> None:
    for text in TEXTS:
        values: list[Any] = [text, [text], {"place": text, "observes": text}]
        for value in [*values, {"place": "1", "observes": text}, {"coordinates": [text]}]:
            with pytest.raises(BadValuesError):
                ECHO.bind({name: value})


# --- Context, events and places -----------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_a_preference_is_told_back_as_it_was_written(text: str) -> None:
    stands = instance(radius=1), ("preferences", "anna", {"wish": text})
    try:
        found = concluded(*stands)
    except ValidationError:
        assert not text.isprintable()
        return
    assert found == [said(text, 2)]


def event(**more: Any) -> tuple[str, str, Any]:
    geometry = {"type": "Point", "coordinates": [10.2, 56.15]}
    body = {"type": "TrafficJam", "level": 3, "geometry": geometry, "start_ms": START}
    return "event", "e1", {**body, "source": "authority", **more}


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_no_name_is_refused_where_it_comes_in(text: str) -> None:
    wish = instance()[2]
    refused: list[tuple[str, str, Any]] = [
        ("preferences", "anna", {text: 1}),
        ("preferences", text, {"wish": 1}),
        ("activity", "anna", {"activity": text}),
        event(source=text),
        event(place_id=text),
        event(type=text),
        ("instance", text, wish),
        ("instance", ME, {**wish, "user": text}),
        ("instance", ME, {**wish, "app": text}),
        ("instance", ME, {**wish, "values": {text: 1}}),
    ]
    for each in refused:
        with pytest.raises(ValueError, match=r".+"):
            checked(*each)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_would_be_something_else_in_a_rule_is_a_name(name: str) -> None:
    found = concluded(instance(note=name, friend=name), ("preferences", "anna", {"wish": name}))
    assert found == [said(name, 1), said(name, 2), said(name, 6)]
    assert ECHO.bind({"garage": name}) == {"garage": name, "radius": 100}


@pytest.mark.parametrize("text", TEXTS)
def test_what_an_event_is_called_changes_no_answer(text: str) -> None:
    try:
        found = concluded(instance(radius=1), event(name=text))
    except ValidationError:
        assert not text.isprintable()
        return
    assert found == concluded(instance(radius=1), event(name="Viborgvej"))
    assert [each.arguments[2].string for each in found if each.arguments[3].number == 4] == [
        "ev_CityEvent",
        "ev_TrafficJam",
        "ev_TransportationEvent",
    ]

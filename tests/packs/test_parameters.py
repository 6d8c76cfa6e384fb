"""Values of parameters: what they may be, and the facts that they give."""

from __future__ import annotations

import time
from typing import Any

import clingo
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter, ValidationError

from citywise.backend.packs.parameters import TYPES, AnyParameter
from citywise.backend.packs.values import BadValueError
from citywise.reasoning.rdf.mapping import quote

ADAPTER: TypeAdapter[AnyParameter] = TypeAdapter(AnyParameter)
EV = "https://w3id.org/citywise/event#"
CLASSES = {"of": EV + "CityEvent", "choices": [EV + "TrafficJam", EV + "Fog"]}
CIRCLE = {"center": {"lat": 56.15, "lon": 10.2}, "radius_m": 300}
POLYGON = {"type": "Polygon", "coordinates": [[[10, 56], [10.1, 56], [10.1, 56.1], [10, 56]]]}
WAY = {"coordinates": [[10.2, 56.15], [10.3, 56.15]]}


def parameter(kind: str, /, **rest: Any) -> AnyParameter:
    """A parameter as a manifest declares it."""
    return ADAPTER.validate_python({"type": kind, "title": "A", **rest})


def facts(found: AnyParameter, value: JsonValue) -> list[tuple[str, ...]]:
    """The arguments that a value gives; IRIs as they are."""
    return found.terms(found.check(value, "it"), quote)


@pytest.mark.parametrize(
    ("kind", "rest", "value", "arguments"),
    [
        ("number", {"unit": "m", "min": 50, "max": 1000, "step": 50}, 300, [("300",)]),
        ("number", {"step": 0.5}, 1.5, [("15",)]),
        ("number", {"min": 0.25, "step": 0.5}, 0.75, [("75",)]),
        ("number", {"min": 0.1, "step": 0.1}, 0.3, [("3",)]),
        ("number", {"step": 0.001}, 0.007, [("7",)]),
        ("number", {}, 3.0, [("3",)]),
        ("choice", {"choices": ["low", "high"]}, "high", [('"high"',)]),
        ("place", {"kind": "garage"}, "B.1", [('"https://w3id.org/citywise/place/B.1"',)]),
        (
            "sensor",
            {"observes": "traffic"},
            "158324",
            [('"https://w3id.org/citywise/place/158324"', '"traffic"')],
        ),
        (
            "sensor",
            {},
            {"place": "1", "observes": "air"},
            [('"https://w3id.org/citywise/place/1"', '"air"')],
        ),
        ("route", {}, "mine", [('"mine"',)]),
        ("route", {}, WAY, [('"own"',)]),
        ("area", {}, CIRCLE, []),
        ("duration", {}, "15m", [("900",)]),
        ("duration", {}, "PT1H30M", [("5400",)]),
        ("duration", {}, "1d2h", [("93600",)]),
        ("time_of_day", {}, "07:30", [("450",)]),
        ("time_span", {}, "22:00-06:30", [("1320", "390")]),
        ("user", {}, "bob", [('"bob"',)]),
        ("class", CLASSES, "ev:TrafficJam", [(f'"{EV}TrafficJam"',)]),
        ("class", CLASSES, "Fog", [(f'"{EV}Fog"',)]),
        ("class", CLASSES, EV + "Fog", [(f'"{EV}Fog"',)]),
        ("text", {}, 'say "hi" \\ \n', [('"say \\"hi\\" \\\\ \\n"',)]),
        ("user", {"repeated": True}, ["bob", "eve", "bob"], [('"bob"',), ('"eve"',)]),
    ],
)
def test_a_value_gives_the_arguments_of_its_facts(
    kind: str, rest: dict[str, Any], value: JsonValue, arguments: list[tuple[str, ...]]
) -> None:
    found = parameter(kind, **rest)
    assert facts(found, value) == arguments
    assert all(len(each) == found.arity for each in arguments)
    canonical = found.check(value, "it")
    assert found.check(canonical, "it") == canonical, "canonical values stay as they are"
    jsonschema.validate(canonical, found.schema())


@pytest.mark.parametrize(
    ("kind", "rest", "value", "said"),
    [
        (
            "number",
            {"unit": "m", "min": 50, "max": 1000, "step": 50},
            "300",
            (
                'it: found "300", expected a whole number from 50 to 1000 in steps of 50 (m); '
                "write it without quotes"
            ),
        ),
        ("number", {"min": 50, "step": 50}, 120, "near it are 100 and 150"),
        ("number", {"max": 5}, 7, "expected a whole number of at most 5; the nearest is 5"),
        ("number", {"min": 2}, -7, "expected a whole number of at least 2; the nearest is 2"),
        ("number", {"unit": "m"}, -1, "from 0 to 50000 (m); the nearest is 0"),
        ("number", {"unit": "m", "min": 5}, 2**31 - 1, "from 5 to 50000 (m); the nearest is 50000"),
        ("number", {}, 1.5, "near it are 1 and 2"),
        ("number", {}, True, "found true, expected a whole number"),
        ("number", {}, 2**31, "the nearest is 2147483647"),
        ("number", {"step": 0.5}, float("nan"), "write a finite number"),
        ("choice", {"choices": ["low", "high"]}, "hihg", "expected one of low, high"),
        ("place", {"kind": "weather_station"}, 'x"). p(1', "the id of a weather station"),
        ("sensor", {}, "158324", 'expected an object like {"place": "158324"'),
        ("sensor", {}, {"place": "1", "observes": "smell"}, "it.observes: found"),
        ("sensor", {"observes": "air"}, {"place": "", "observes": "air"}, "it.place: found"),
        ("route", {}, "yours", 'expected "mine" or'),
        ("route", {}, {"coordinates": [[10.2, 56.15], [10.3, 156]]}, "it.coordinates[1][1]: found"),
        ("route", {}, {"coordinates": [[10.2, 56.15]]}, "it.coordinates: found"),
        ("route", {}, {"type": "Point", **WAY}, 'it.type: found "Point"'),
        ("duration", {}, "15", "expected a duration such as 15m"),
        ("duration", {}, "T15M", "use d, h, m and s, in this order"),
        ("duration", {}, "P15M", "write T before hours, minutes, seconds"),
        ("duration", {}, "5m1h", "use d, h, m and s, in this order"),
        ("duration", {}, "900d", "shorten it"),
        ("time_of_day", {}, "7:30", 'as in "07:30"'),
        ("time_of_day", {}, "24:00", "from 00:00 to 23:59"),
        ("time_span", {}, "07:00", 'as in "07:00-09:30"'),
        ("time_span", {}, "07:00-07:00", "let it end at another time"),
        ("user", {}, 'bob"', "the id of a user"),
        ("class", CLASSES, "ev:Jam", "one of TrafficJam, Fog"),
        ("text", {"max_length": 3}, "four", "found 4 characters"),
        ("text", {"pattern": "[a-z]+"}, "a1", "expected text that fits `[a-z]+`"),
        ("text", {}, "a\0b", "remove what is no text"),
        ("text", {}, "\ud800", "remove what is no text"),
        ("text", {}, 5, "write it in quotes"),
        ("user", {"repeated": True}, "bob", "expected a list of 1 to 20 values"),
        ("user", {"repeated": True, "max_items": 2}, ["a", "b", "c"], "a list of 1 to 2 values"),
        ("user", {"repeated": True}, [], "a list of 1 to 20 values"),
        ("user", {"repeated": True}, ["bob", 'e"'], "it[1]: found"),
    ],
)
def test_a_wrong_value_is_refused_with_what_to_write(
    kind: str, rest: dict[str, Any], value: JsonValue, said: str
) -> None:
    with pytest.raises(BadValueError) as caught:
        parameter(kind, **rest).check(value, "it")
    assert said in str(caught.value)
    assert caught.value.path.startswith("it")


@pytest.mark.parametrize(
    ("kind", "rest", "said"),
    [
        ("number", {"step": 0}, "step: found 0, expected a number above 0"),
        ("number", {"min": 5, "max": 1}, "min 5 is above max 1; exchange them"),
        ("number", {"unit": "m", "min": 60_000}, "unless min and max say otherwise; add max"),
        ("number", {"max": 1e9, "step": 0.01}, "must fit 32 bits"),
        ("number", {"unit": "m", "step": 0.5}, "metres are whole numbers"),
        ("text", {"pattern": "("}, "`(` is no regular expression: unclosed group"),
        ("text", {"pattern": "a)|(b"}, "is no regular expression: unopened group"),
        ("text", {"pattern": r"(a)\1"}, "backreferences are not supported"),
        ("text", {"pattern": "(a{1000}){1000}"}, "exceeds size limit"),
        (
            "text",
            {"pattern": "([a-z]{0,900}){30}!", "max_length": 10_000},
            "repeats too much for texts of 10,000",
        ),
        ("choice", {"choices": []}, "at least 1 item"),
    ],
)
def test_a_parameter_that_no_value_fits_is_refused(
    kind: str, rest: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        parameter(kind, **rest)
    assert said in str(caught.value)


@pytest.mark.parametrize("value", [CIRCLE, POLYGON])
def test_an_area_is_a_circle_or_a_polygon(value: JsonValue) -> None:
    found = parameter("area")
    assert found.check(value, "it") == value
    jsonschema.validate(value, found.schema())


@pytest.mark.parametrize(
    "value",
    [
        5,
        {"center": {"lat": 56.15}, "radius_m": 300},
        {"center": {"lat": 95, "lon": 10}, "radius_m": 300},
        {"center": {"lat": 56, "lon": 10}, "radius_m": -1},
        {"type": "Polygon", "coordinates": []},
    ],
)
def test_what_is_no_area_is_refused(value: JsonValue) -> None:
    with pytest.raises(BadValueError, match=r"^it: found .* expected .*GeoJSON Polygon"):
        parameter("area").check(value, "it")


@given(st.text())
def test_no_text_breaks_out_of_its_fact(text: str) -> None:
    """Whatever a user writes is one string of ASP, which reads back as it was written."""
    found = parameter("text", max_length=10_000)
    try:
        ((argument,),) = facts(found, text)
    except BadValueError:
        assert "\0" in text
        return
    symbol = clingo.parse_term(f"p({argument})")
    assert [a.string for a in symbol.arguments] == [text]


@given(st.integers(0, 1000), st.sampled_from([0.1, 0.25, 0.01, 2, 5]))
def test_each_step_of_a_number_is_taken_and_is_exact_in_its_fact(count: int, step: float) -> None:
    found = parameter("number", min=0, step=step)
    value = round(count * step, 2)
    ((argument,),) = facts(found, value)
    assert int(argument) == round(count * step * found.scale)


def test_there_is_a_type_for_all_that_the_manifest_names() -> None:
    assert set(TYPES) == {
        *("number", "choice", "place", "sensor", "route", "area", "duration", "time_of_day"),
        *("time_span", "user", "class", "text"),
    }


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*.*.*)*;"])
def test_a_pattern_takes_no_more_time_than_the_text_is_long(pattern: str) -> None:
    found = parameter("text", pattern=pattern, max_length=10_000)
    began = time.process_time()
    with pytest.raises(BadValueError):
        found.check("a" * 9_999 + "!", "it")
    assert time.process_time() - began < 10


def test_a_pattern_fits_the_whole_text() -> None:
    found = parameter("text", pattern="a|b{2}")
    assert found.check("bb", "it") == "bb"
    for value in ("ab", "a\n", "abb", ""):
        with pytest.raises(BadValueError, match="expected text that fits"):
            found.check(value, "it")

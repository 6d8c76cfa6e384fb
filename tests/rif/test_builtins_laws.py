"""What holds of all built-ins; those that XPath knows too agree with an XPath engine."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import pytest
from elementpath import XPath2Parser, XPathContext
from elementpath.exceptions import ElementPathError
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.languages.rif.builtins import builtin, names
from citywise.reasoning.languages.rif.document import FUNC, PRED
from citywise.reasoning.languages.rif.values import string, term, text, value
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.mapping import XSD, Literal
from tests.rif.conditions import known

_NUMBERS = st.one_of(
    st.integers(-1000, 1000).map(str),
    st.decimals(-1000, 1000, places=3).map(lambda number: f"{number:f}"),
    st.floats(-1e6, 1e6).map(
        lambda number: f"{number!r}e0" if "e" not in repr(number) else repr(number)
    ),
)
_EXACT = st.integers(-20_000, 20_000).map(lambda number: Fraction(number, 1000))
_OPERATORS = {
    "numeric-add": "+",
    "numeric-subtract": "-",
    "numeric-multiply": "*",
    "numeric-divide": "div",
}
_COMPARISONS = {
    "numeric-equal": "eq",
    "numeric-not-equal": "ne",
    "numeric-less-than": "lt",
    "numeric-less-than-or-equal": "le",
    "numeric-greater-than": "gt",
    "numeric-greater-than-or-equal": "ge",
}
_STRINGS = st.text("ab-é %<", max_size=6)
_OF_STRINGS = {
    "compare": 2,
    "concat": 2,
    "string-length": 1,
    "upper-case": 1,
    "lower-case": 1,
    "encode-for-uri": 1,
    "iri-to-uri": 1,
    "escape-html-uri": 1,
    "substring-before": 2,
    "substring-after": 2,
}
_VALUES = st.recursive(
    st.one_of(
        st.integers(-3, 3),
        st.sampled_from(
            ["<http://a.org>", "_:b", "_local", '"a"', '"a"@en', '"a"^^<http://a.org/u>']
        ),
        st.builds(
            lambda name, lexical: value(Literal(lexical, XSD + name)),
            *map(st.just, ("decimal", "-0.5")),
        ),
        st.sampled_from(
            [
                value(Literal(lexical, XSD + name))
                for name, lexical in [
                    *(("double", x) for x in ("0", "-0", "INF", "NaN", "1.5", "1e300")),
                    *(("float", x) for x in ("0.1", "-INF", "NaN")),
                    *(("date", x) for x in ("2000-02-29", "9999-12-31Z", "-0001-01-01")),
                    *(("dateTime", x) for x in ("2000-02-29T00:00:00", "0001-01-01T00:00:00Z")),
                    *(("time", x) for x in ("12:00:00", "00:00:00+14:00")),
                    *(("duration", x) for x in ("P1Y", "PT0S", "-P1D", "P1MT1S", "P99999Y")),
                    ("boolean", "1"),
                    ("hexBinary", "0A"),
                    ("anyURI", "http://a.org"),
                ]
            ]
        ),
    ),
    lambda items: st.lists(items, max_size=3).map(lambda found: ("", *found)),
    max_leaves=4,
)


@settings(max_examples=150)
@given(st.sampled_from(names()), st.data())
def test_builtin_gives_a_value_or_none_whatever_it_is_given(iri: str, data: st.DataObject) -> None:
    found = known(iri)
    count = data.draw(
        st.integers(found.least, (found.least + 2) if found.most is None else found.most)
    )
    result = found.function(*data.draw(st.lists(_VALUES, min_size=count, max_size=count)))
    if found.predicate:
        assert result in (1, None)
    elif result is not None:
        assert value(term(result)) == result


def _xpath(expression: str) -> object:
    """What an XPath engine says; the class of its error where it has no value."""
    try:
        return XPath2Parser().parse(expression).evaluate(XPathContext(None, item=1))
    except ElementPathError:
        return None


def _number(lexical: str) -> Value:
    name = "double" if "e" in lexical else "decimal"
    return value(Literal(lexical, XSD + name))


def _close(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return str(left) == str(right) or math.isclose(left, right, rel_tol=1e-15)
    if left is None or right is None:
        return left is right
    return abs(Fraction(str(left)) - Fraction(str(right))) <= Fraction(1, 10**18)


def _decimal(number: Fraction) -> Value:
    return value(Literal(f"{float(number):.3f}", XSD + "decimal"))


def _plain(found: Value | None) -> object:
    if found is None:
        return None
    known = term(found)
    assert isinstance(known, Literal)
    return float(known.lexical) if known.datatype == XSD + "double" else Decimal(known.lexical)


@pytest.mark.parametrize("name", _OPERATORS)
@settings(max_examples=15)
@given(_NUMBERS, _NUMBERS)
def test_arithmetic_is_that_of_xpath(name: str, left: str, right: str) -> None:
    expected = _xpath(f"({left}) {_OPERATORS[name]} ({right})")
    found = known(FUNC + name).function(_number(left), _number(right))
    assert _close(_plain(found), expected)


@given(_EXACT, _EXACT)
def test_division_of_decimals_leaves_a_rest_with_the_sign_of_the_dividend(
    left: Fraction, right: Fraction
) -> None:
    whole, rest = (
        known(f"{FUNC}numeric-integer-{name}").function(*map(_decimal, (left, right)))
        for name in ("divide", "mod")
    )
    if not right:
        assert whole is rest is None
        return
    assert isinstance(whole, int)
    found = Fraction(str(_plain(rest)))
    assert whole * right + found == left
    assert abs(found) < abs(right)
    assert found * left >= 0


@pytest.mark.parametrize("name", _COMPARISONS)
@settings(max_examples=15)
@given(_NUMBERS, _NUMBERS)
def test_comparison_is_that_of_xpath(name: str, left: str, right: str) -> None:
    expected = _xpath(f"({left}) {_COMPARISONS[name]} ({right})")
    found = known(PRED + name).function(_number(left), _number(right))
    assert (found is not None) == expected


@pytest.mark.parametrize("name", _OF_STRINGS)
@settings(max_examples=15)
@given(st.lists(_STRINGS, min_size=2, max_size=2))
def test_function_of_strings_is_that_of_xpath(name: str, strings: list[str]) -> None:
    given = strings[: _OF_STRINGS[name]]
    arguments = ", ".join(f"'{text}'" for text in given)
    found = known(FUNC + name).function(*map(string, given))
    assert (text(found) if isinstance(found, str) else found) == _xpath(f"fn:{name}({arguments})")


def test_number_of_absurdly_many_digits_is_an_error_that_says_what_to_do() -> None:
    square = known(FUNC + "numeric-multiply").function
    large = square(10**900, 1)
    with pytest.raises(SolvingError, match="bound the numbers"):
        square(large, large)


def test_iri_follows_from_its_text_and_its_text_from_it() -> None:
    solves = known(PRED + "iri-string").solves
    assert solves[0](string("http://a.org/é")) == "<http://a.org/é>"
    assert solves[1]("<http://a.org/é>") == string("http://a.org/é")
    assert solves[0](string("not an iri")) is None
    assert solves[0](1) is None
    assert solves[1](string("http://a.org")) is None


def test_what_is_no_builtin_is_none() -> None:
    for iri in (FUNC + "is-list", PRED + "count", XSD + "anyType", "http://a.org/f", FUNC, PRED):
        assert builtin(iri) is None


def test_every_builtin_is_documented() -> None:
    page = (REPOSITORY / "docs" / "rif-builtins.md").read_text(encoding="utf-8")
    for iri in names():
        name = known(iri).name
        if "is-literal-" in name or not name.startswith(("func:", "pred:")):
            types = page.partition("`TYPE` is one of ")[2].partition("\n\n")[0]
            assert name.rpartition(":")[2].split("-")[-1] in re.findall(r"\w+", types), name
        else:
            assert f"`{name}" in page, name

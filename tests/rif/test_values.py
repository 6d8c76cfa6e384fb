"""Terms of RIF and RDF as values of the engine: equal values are equal objects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.rif.document import RIF, Local
from citywise.reasoning.languages.rif.values import GroundTerm, literal, string, term, text, value
from citywise.reasoning.rdf.datatypes import EXAMPLES
from citywise.reasoning.rdf.mapping import RDF, XSD, Blank, Iri, Literal

SAME = """
integer +007 | decimal 7.0
byte -1 | integer -1
decimal 1.50 | decimal +01.5
decimal -.5 | decimal -0.50
double 1e2 | double 100
double INF | double +INF
float 16777217 | float 16777216
float 1e-50 | float 0
boolean 1 | boolean true
token a b | string a b
language en | string en
dateTime 2000-01-01T24:00:00 | dateTime 2000-01-02T00:00:00
dateTime 2000-01-01T00:00:00.50+00:00 | dateTimeStamp 2000-01-01T00:00:00.5Z
dateTime 2000-01-01T00:00:00-00:00 | dateTime 2000-01-01T00:00:00Z
time 24:00:00 | time 00:00:00
date 2000-01-01-00:00 | date 2000-01-01Z
gMonthDay --02-29+00:00 | gMonthDay --02-29Z
dayTimeDuration PT36H | duration P1DT12H
yearMonthDuration P14M | duration P1Y2M
yearMonthDuration P0M | dayTimeDuration PT0S
hexBinary aabb | hexBinary AABB
base64Binary QUI=  | base64Binary Q U I =
"""
APART = """
integer 1 | double 1
integer 1 | string 1
double 0 | double -0
double 0.1 | float 0.1
string a | anyURI a
hexBinary 41 | base64Binary QQ==
dateTime 2000-01-01T12:00:00Z | dateTime 2000-01-01T13:00:00+01:00
dateTime 2000-01-01T12:00:00Z | dateTime 2000-01-01T12:00:00
duration P1M | duration P30D
date 2000-01-01 | dateTime 2000-01-01T00:00:00
"""
ILL_TYPED = """
integer 1.0
integer one
byte 128
positiveInteger 0
decimal 1e2
double one
boolean yes
token a  b
NCName a:b
language not a language
dateTime 2000-13-01T00:00:00
dateTime 2000-01-01
dateTime 2000-01-01T00:00:00+15:00
dateTimeStamp 2000-01-01T00:00:00
date 1900-02-29
time 25:00:00
gMonthDay --02-30
dayTimeDuration P1M
duration P
hexBinary a
base64Binary QR==
"""


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def _literal(text: str) -> Literal:
    name, _, lexical = text.strip().partition(" ")
    return Literal(lexical, XSD + name)


@pytest.mark.parametrize("pair", _lines(SAME))
def test_literals_of_one_value_are_one_object(pair: str) -> None:
    left, right = map(_literal, pair.split(" | "))
    assert value(left) == value(right)


@pytest.mark.parametrize("pair", _lines(APART))
def test_literals_of_different_values_stay_apart(pair: str) -> None:
    left, right = map(_literal, pair.split(" | "))
    assert value(left) != value(right)


@pytest.mark.parametrize("written", _lines(ILL_TYPED))
def test_ill_typed_literal_is_refused_and_named(written: str) -> None:
    found = _literal(written)
    with pytest.raises(ItemError) as refused:
        value(found)
    assert found.lexical in str(refused.value)
    assert str(found.datatype) in str(refused.value)
    assert f'such as "{EXAMPLES[str(found.datatype)]}"' in str(refused.value)


@pytest.mark.parametrize("datatype", EXAMPLES)
def test_what_is_expected_of_an_ill_typed_literal_is_well_typed(datatype: str) -> None:
    value(Literal(EXAMPLES[datatype], datatype))


@pytest.mark.parametrize("name", ["integer", "double", "boolean", "date", "dateTime", "duration"])
def test_text_with_white_space_around_it_is_ill_typed(name: str) -> None:
    lexical = {"boolean": "1", "date": "2000-01-01", "dateTime": "2000-01-01T00:00:00"}
    text = {**lexical, "duration": "P1D"}.get(name, "1")
    value(Literal(text, XSD + name))
    for spaced in (f" {text}", f"{text}\n"):
        with pytest.raises(ItemError):
            value(Literal(spaced, XSD + name))


def test_text_that_denotes_no_xml_is_refused_whatever_it_declares() -> None:
    for lexical in ("<br>", "</x><x>", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'):
        with pytest.raises(ItemError):
            value(Literal(lexical, RDF + "XMLLiteral"))


def test_xml_is_compared_in_canonical_form() -> None:
    left = value(Literal("""<a  y="2" x='1'/>""", RDF + "XMLLiteral"))
    assert left == value(Literal('<a x="1" y="2"></a>', RDF + "XMLLiteral"))


def test_plain_literals_are_strings_with_or_without_a_language() -> None:
    assert value(Literal("a@EN", RDF + "PlainLiteral")) == value(Literal("a", None, "en"))
    assert value(Literal("a@b@", RDF + "PlainLiteral")) == value(Literal("a@b", XSD + "string"))
    assert value(Literal("a@")) != value(Literal("a"))


def test_whole_numbers_are_integers_of_python() -> None:
    assert value(Literal("2.00", XSD + "decimal")) == 2
    assert value(Literal("123456789012345678901234567890", XSD + "integer")) == (
        123456789012345678901234567890
    )


def test_literals_of_unknown_datatypes_differ_as_their_texts_do() -> None:
    one, other = (Literal(text, "http://a.org/weight") for text in ("1", "01"))
    assert value(one) != value(other)
    assert term(value(one)) == one


def test_datatype_that_is_no_iri_is_refused() -> None:
    for datatype in ("http://a.org/a b", "weight"):
        with pytest.raises(ItemError, match=datatype):
            value(Literal("1", datatype))


def test_constants_of_the_rif_symbol_spaces_are_iris_and_local_names() -> None:
    assert value(Literal("http://a.org", RIF + "iri")) == value(Iri("http://a.org"))
    assert value(Literal("a", RIF + "local")) == value(Local("a"))


def test_names_of_different_kinds_stay_apart() -> None:
    terms: list[GroundTerm] = [
        Iri("a:b"),
        Blank("a:b"),
        Local("a:b"),
        Local(":a:b"),
        Literal("a:b"),
    ]
    terms += [Local("'"), Local("':a:b"), Local(""), (Literal("a:b"),), ()]
    values = [value(found) for found in terms]
    assert len(set(values)) == len(terms)
    for found, known in zip(terms, values, strict=True):
        assert type(term(known)) is type(found)
        assert term(known) == found


def test_text_is_of_strings_without_language_only() -> None:
    assert text(string('a "b"\n')) == 'a "b"\n'
    assert text(value(Literal("a", None, "en"))) is None
    assert text(1) is None
    assert literal(1) == Literal("1", XSD + "integer")
    assert literal("<http://a.org>") is None


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_LITERALS = st.one_of(
    _TEXTS.map(Literal),
    _TEXTS.map(lambda text: Literal(text, None, "da")),
    st.integers().map(lambda number: Literal(str(number), XSD + "integer")),
    st.decimals(allow_nan=False, allow_infinity=False, places=6).map(
        lambda number: Literal(f"{number:f}", XSD + "decimal")
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(
        lambda number: Literal(repr(number), XSD + "double")
    ),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(
        lambda number: Literal(repr(number), XSD + "float")
    ),
    st.datetimes().map(lambda moment: Literal(moment.isoformat(), XSD + "dateTime")),
    st.dates().map(lambda date: Literal(date.isoformat(), XSD + "date")),
    st.binary().map(lambda octets: Literal(octets.hex(), XSD + "hexBinary")),
)


@given(_LITERALS)
def test_canonical_form_denotes_the_same(literal: Literal) -> None:
    known = value(literal)
    assert value(term(known)) == known


@given(st.floats(), st.floats())
def test_doubles_are_one_object_if_and_only_if_they_are_identical(
    left: float, right: float
) -> None:
    one, two = (
        value(Literal(repr(number).replace("inf", "INF").replace("nan", "NaN"), XSD + "double"))
        for number in (left, right)
    )
    assert (one == two) == (repr(left) == repr(right))

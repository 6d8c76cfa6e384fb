"""A rule is safe if matching its condition gives all its variables values."""

from __future__ import annotations

import pytest

from citywise.reasoning.languages.rif import parsing

LESS = "External(pred:numeric-less-than({}))"
IRI_STRING = "External(pred:iri-string({}))"


def unsafe(rule: str) -> list[str]:
    """The variables of a rule that are unsafe, in the order of their places."""
    reading = parsing.read(f"Document(Prefix(ex <http://e/>) Forall ?x ?y ?z ({rule}))")
    assert {fault.code for fault in reading.faults} <= {"unsafe"}
    return [fault.message.split("`")[1] for fault in reading.faults]


@pytest.mark.parametrize(
    "rule",
    [
        "ex:p(?x) :- ex:q(?x)",
        "ex:p(?x ?y) :- ?x[?z -> ?y]",
        "ex:p(?x ?y) :- ?x # ?y",
        "ex:p(?x) :- ?x = 1",
        "ex:p(?z) :- And(?y = ?z ?x = ?y ex:q(?x))",
        "ex:p(?y) :- And(?y = External(func:numeric-add(?x 1)) ex:q(?x))",
        "ex:p(External(func:numeric-add(?x 1))) :- ex:q(?x)",
        f"ex:p(?x) :- And({LESS.format('?x 7')} ex:q(?x))",
        f"ex:p(?y) :- And({IRI_STRING.format('?x ?y')} ex:q(?x))",
        f"ex:p(?x) :- And({IRI_STRING.format('?x ?y')} ex:q(?y))",
        'ex:p(?x) :- External(pred:iri-string(?x "http://e/"))',
        "ex:p(?x) :- Or(ex:q(?x) ex:r(?x))",
        "ex:p(?x) :- Or(ex:q(?x) And(?x = ?y ex:r(?y)))",
        "ex:p() :- Or(ex:q(?x) ex:r(?y))",
        "ex:p(?x) :- And(Or(ex:q(?x) ?x = ?y) ex:r(?y))",
        "ex:p(?x) :- And(ex:q(?x) Or(ex:r(1) ex:r(?y)))",
        "ex:p(?x) :- Exists ?y (ex:q(?x ?y))",
        "ex:p(?x) :- And(ex:q(?x) Exists ?x (ex:q(?x)))",
        f"ex:p(?x) :- And(ex:q(?x) Exists ?y (And(ex:r(?y) {LESS.format('?x ?y')})))",
        "ex:p(1) :- ex:q(2)",
        "ex:p() :- And()",
    ],
)
def test_safe(rule: str) -> None:
    assert unsafe(rule) == []


@pytest.mark.parametrize(
    ("rule", "variables"),
    [
        ("ex:p(?x)", ["?x"]),
        ("ex:p(?x) :- And()", ["?x"]),
        ("ex:p(?x) :- ex:q(?y)", ["?x"]),
        ("ex:p(?x) :- ?x = ?x", ["?x"]),
        ("ex:p(?x) :- ?x[]", ["?x"]),
        ("ex:p(?x) :- ?x = ?y", ["?x", "?y"]),
        ("ex:p(?x) :- ?x = External(func:numeric-add(?x 1))", ["?x"]),
        ("ex:p(1) :- ex:q(External(func:numeric-add(?x 1)))", ["?x"]),
        ("ex:p(1) :- And(ex:q(?y) ?y = External(func:numeric-add(?x 1)))", ["?x"]),
        (f"ex:p(1) :- {LESS.format('?x 7')}", ["?x"]),
        (f"ex:p(1) :- {IRI_STRING.format('?x ?y')}", ["?x", "?y"]),
        ("ex:p(1) :- External(pred:list-contains(List(1 2) ?x))", ["?x"]),
        ("ex:p(?x) :- Or(ex:q(?x) ex:r(1))", ["?x"]),
        (f"ex:p(1) :- Or(ex:q(?x) {LESS.format('?x 7')})", ["?x"]),
        ("ex:p(?x) :- Exists ?x (ex:q(?x))", ["?x"]),
        (f"ex:p(1) :- And(ex:q(?x) Exists ?x ({LESS.format('?x 7')}))", ["?x"]),
        (f"ex:p(?z) :- Or({IRI_STRING.format('?x ?z')} And(ex:q(?x) ex:r(?z)))", ["?z", "?x"]),
    ],
)
def test_unsafe(rule: str, variables: list[str]) -> None:
    assert unsafe(rule) == variables


@pytest.mark.parametrize(
    ("rule", "place", "why"),
    [
        ("ex:p(?x)", 6, "without a condition"),
        ("ex:p(?x) :- ?x = External(func:count(?x))", 6, "built-ins compute"),
        ("ex:p(?x) :- Or(ex:q(?x) ex:r(1))", 6, "in some alternative of `Or`"),
        ("ex:p(1) :- ?x = ?x", 12, "in the condition"),
    ],
)
def test_the_message_says_why_at_the_first_place_of_the_variable(
    rule: str, place: int, why: str
) -> None:
    (fault,) = parsing.read(f"Document(Prefix(ex <http://e/>) Forall ?x (\n{rule}))").faults
    assert (fault.location.line, fault.location.column) == (2, place)
    assert why in fault.message
    assert fault.message.startswith("`?x`")

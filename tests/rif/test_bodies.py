"""Conditions become bodies of the engine's rules."""

from __future__ import annotations

import pytest

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif import document as rif
from citywise.reasoning.languages.rif.bodies import PART
from citywise.reasoning.languages.rif.compile import clauses
from citywise.reasoning.languages.rif.document import (
    And,
    Equal,
    Frame,
    Or,
    RifAtom,
    RifConstant,
    RifRule,
    RifVariable,
)
from citywise.reasoning.languages.rif.evaluation import WindowedEvaluation
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.rdf.mapping import Iri
from tests.rif.written import EX, at_once, theory_of


def _p(name: str, subject: str = "x", found: str = "x") -> Frame:
    slot = RifConstant(Iri(EX + name)), RifVariable(found)
    return Frame(RifVariable(subject), (slot,))


def _theory(body: rif.RifFormula, *, head: str = "x") -> Theory:
    rule = RifRule(
        (Frame(RifVariable(head), ((RifConstant(Iri(EX + "h")), RifVariable(head)),)),), body
    )
    return Theory(rif.Document("test.rifps", (rule,)), (rule,))


def _either(*names: str) -> Or:
    return Or(tuple(map(_p, names)))


def test_few_alternatives_are_spread_over_rules() -> None:
    found = clauses(_theory(And((_p("a"), _either("b", "c"), _either("d", "e")))))
    assert len(found.stated) == 4
    assert found.parts == ()


def test_many_alternatives_do_not_multiply() -> None:
    """Ten disjunctions of three make fewer rules than they have parts, not 3^10."""
    choices = tuple(_either(f"a{n}", f"b{n}", f"c{n}") for n in range(10))
    found = clauses(_theory(And((_p("a"), *choices))))
    assert len(found.stated) + len(found.parts) <= 30 + 8
    assert all(rule.head.startswith(PART) for rule in found.parts)


def test_a_disjunction_whose_values_come_from_elsewhere_gets_them() -> None:
    """`?n` has its value outside of the disjunctions that compare it."""
    tests = " ".join(
        f"Or({' '.join(f'External(pred:numeric-{how}(?n {n}))' for how in HOWS)})"
        for n in range(1, 9)
    )
    rule = f"Forall ?x ?n (ex:h(?x) :- And(?x[ex:n -> ?n] {tests}))"
    assert at_once(rule, "a n 8", "b n 9", "c n 0") == ["h(a)", "h(b)"]


HOWS = ("greater-than", "equal")


def test_alternatives_that_need_each_other_s_values_are_spread() -> None:
    """In each of nine combinations something else gives `?x` and `?y` their values."""
    pairs = " ".join(f"And(?x[ex:a{n} -> ?z] ?y[ex:b{n} -> ?z])" for n in range(3))
    rule = (
        f"Forall ?x ?y ?z (ex:h(?x ?y) :- And(Or({pairs}) Or({pairs}) "
        "Or(?x[ex:c -> ?y] ?y[ex:c -> ?x])))"
    )
    assert at_once(rule, "u a1 z", "v b1 z", "v c u") == ["h(u,v)"]


def test_alternatives_with_values_for_different_variables_are_spread() -> None:
    """One of a choice is about `?x`, another about `?y`: no relation has both."""
    choices = tuple(
        Or((_p(f"a{n}"), _p(f"b{n}", "y", "y"), And((_p(f"c{n}"), _p(f"d{n}", "y", "y")))))
        for n in range(3)
    )
    rule = RifRule((RifAtom(rif.Local("h"), ()),), And(choices))
    theory = Theory(rif.Document("test.rifps", (rule,)), (rule,))
    for names, expected in ((("a0", "b1", "a2"), 1), (("a0", "a2"), 0), (("c0", "a1", "a2"), 0)):
        evaluation = WindowedEvaluation(theory)
        row = f"<{EX}o>"
        evaluation.insert_facts([(f"<{EX}{name}>", (row, row)) for name in names], 1)
        evaluation.step(1)
        assert len(evaluation.shown()) == expected


def test_an_empty_disjunction_never_holds() -> None:
    assert clauses(_theory(And((_p("a"), Or(()))))).stated == ()


def test_an_empty_conjunction_always_holds() -> None:
    assert at_once("ex:h(ex:a) :- And()") == ["h(a)"]


def test_variables_of_exists_are_apart_from_others_of_that_name() -> None:
    rule = "Forall ?x (ex:h(?x) :- And(?x[ex:p -> ex:o] Exists ?x (?x[ex:q -> ex:o])))"
    assert at_once(rule, "a p o", "b q o") == ["h(a)"]


def test_exists_within_exists_hides_the_outer_variable() -> None:
    inner = "Exists ?y (And(?y[ex:q -> ex:o] Exists ?y (?x[ex:r -> ?y])))"
    rule = f"Forall ?x (ex:h(?x) :- And(?x[ex:p -> ex:o] {inner}))"
    assert at_once(rule, "a p o", "b q o", "a r c") == ["h(a)"]


@pytest.mark.parametrize("equality", ["?y = ?x", "?x = ?y"])
def test_an_equality_gives_either_side_its_value(equality: str) -> None:
    rule = f"Forall ?x ?y (ex:h(?y) :- And(?x[ex:p -> ex:o] {equality}))"
    assert at_once(rule, "a p o") == ["h(a)"]


def test_an_equality_of_known_values_compares_them() -> None:
    rule = "Forall ?x ?y (ex:h(?x) :- And(?x[ex:p -> ?y] ?x = ?y))"
    assert at_once(rule, "a p a", "b p c") == ["h(a)"]


def test_equal_values_are_equal_however_they_are_written() -> None:
    rule = 'Forall ?x ?y (ex:h(?x) :- And(?x[ex:p -> ?y] ?y = "07.0"^^xs:decimal))'
    assert at_once(rule, "a p 7", "b p 8") == ["h(a)"]


def test_what_cannot_be_equal_leaves_no_rule() -> None:
    one, two = (RifConstant(Iri(EX + name)) for name in "ab")
    assert clauses(_theory(And((_p("p"), Equal(one, two))))).stated == ()


def test_lists_are_equal_item_by_item() -> None:
    lists = Equal(rif.Sequence((RifVariable("x"),)), rif.Sequence((RifConstant(Iri(EX + "a")),)))
    theory = _theory(And((_p("p"), lists)))
    evaluation = WindowedEvaluation(theory)
    row = f"<{EX}a>"
    evaluation.insert_facts([(f"<{EX}p>", (row, row)), (f"<{EX}p>", ("<b>", "<b>"))], 1)
    evaluation.step(1)
    assert list(evaluation.shown()) == [(f"<{EX}h>", (row, row))]


def test_lists_of_different_length_are_not_equal() -> None:
    one = rif.Sequence((RifVariable("x"),))
    assert clauses(_theory(And((_p("p"), Equal(one, rif.Sequence(())))))).stated == ()


def test_functions_may_stand_in_functions_and_in_heads() -> None:
    rule = (
        "Forall ?x ?n (ex:h(?x External(func:numeric-add(?n External(func:numeric-multiply("
        "?n ?n))))) :- ?x[ex:n -> ?n])"
    )
    assert at_once(rule, "a n 3") == ["h(a,12)"]


def test_outside_the_domain_of_a_function_a_rule_has_no_instance() -> None:
    rule = "Forall ?x ?n (ex:h(?x External(func:numeric-add(?n 1))) :- ?x[ex:n -> ?n])"
    assert at_once(rule, "a n b", "c n 1") == ["h(c,2)"]


def test_a_predicate_solves_for_the_argument_that_nothing_else_gives() -> None:
    rule = "Forall ?x ?s (ex:h(?s) :- And(?x[ex:p -> ex:o] External(pred:iri-string(?x ?s))))"
    assert at_once(rule, "a p o") == [f'h("{EX}a")']


def test_an_unknown_built_in_is_refused_with_its_place() -> None:
    body = And((_p("p"), rif.Test(Iri("http://example.org/odd"), (RifVariable("x"),))))
    with pytest.raises(RequestError, match=r"<http://example.org/odd> is no built-in"):
        clauses(_theory(body))


def test_all_heads_of_a_rule_with_alternatives_share_them() -> None:
    found = clauses(
        theory_of("Forall ?x (And(ex:h(?x) ex:k(?x)) :- Or(?x[ex:a -> ?x] ?x[ex:b -> ?x]))")
    )
    assert len(found.parts) == 2
    assert [len(rule.body) for rule in found.stated] == [1, 1]

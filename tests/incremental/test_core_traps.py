"""Changes on which incremental engines are known to go wrong, one at a time."""

from __future__ import annotations

import pytest

from citywise.reasoning.asp.translation.program import translate
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.model import values
from citywise.reasoning.model.engine import AspProgram as Text
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import (
    CLOCK,
    Absent,
    Aggregate,
    Always,
    Lasting,
    Operator,
    Program,
    Rule,
    Scan,
    StratificationError,
)
from citywise.reasoning.model.values import Compound, Constant, Variable
from tests.incremental.changes import Change, Example, Inserted, Retracted, Step, rows_text
from tests.incremental.naive import Naive
from tests.incremental.test_core import compare

X, T = Variable("X"), Variable("T")
INPUTS = tuple(Signature(name, arity) for name in "abc" for arity in (0, 1, 2))


def rules(text: str, *operators: Operator) -> Program:
    """A program whose rules are written as clingo's; inputs are `a`, `b` and `c`."""
    found = translate(Text("traps", text), frozenset(INPUTS)).program
    heads = {rule.head for rule in found.rules} | {o.result for o in operators}
    names = frozenset(map(str, INPUTS)) | found.inputs
    return Program(found.rules, found.operators + operators, names, "traps", frozenset(heads))


def steps(text: str) -> tuple[Step, ...]:
    """`3: a(1) b(2)..5 -a(4)` a line: what is inserted, up to when, and what is retracted."""
    return tuple(_step(line.strip()) for line in text.strip().splitlines())


def _step(line: str) -> Step:
    time, _, words = line.partition(":")
    return Step(tuple(map(_change, words.split())), int(time))


def _change(word: str) -> Change:
    atom, _, end = word.removeprefix("-").partition("..")
    name, row = values.parsed(atom)
    relation = f"{name}/{len(row)}"
    if word.startswith("-"):
        return Retracted(relation, (row,))
    return Inserted(relation, (row,), int(end) if end else None)


def history(program: Program, changes: str, relation: str) -> list[str]:
    """The rows of a relation after each step, on which the engine and its reference agree in
    all relations."""
    example = Example(program, steps(changes))
    compare(example)
    reference, found = Naive(program), []
    for step in example.steps:
        step.apply(reference)
        found.append(rows_text(reference.rows(relation)))
    return found


def test_a_derived_row_ends_with_the_first_of_its_body() -> None:
    program = rules("p(X) :- a(X), b(X).")
    assert history(program, "1: a(1)..5 b(1)..3\n3:\n4:\n5:", "p/1") == ["(1)", "(1)", "", ""]


def test_a_derived_row_ends_with_the_last_of_its_derivations() -> None:
    program = rules("p(X) :- a(X). p(X) :- b(X). q(X) :- p(X), c(X).")
    changes = "1: a(1)..2 c(1)..9\n2: b(1)..4\n3:\n4:\n5:"
    assert history(program, changes, "q/1") == ["(1)", "(1)", "(1)", "(1)", ""]
    assert history(program, "1: b(1)..4 c(1)\n2: a(1)..2\n3:\n5:", "q/1") == ["(1)"] * 3 + [""]


def test_what_is_withdrawn_early_leaves_what_still_follows_and_its_horizon() -> None:
    program = rules("p(X) :- a(X). p(X) :- b(X). q(X) :- p(X).")
    assert history(program, "1: a(1) b(1)..3\n2: -a(1)\n3:\n4:", "q/1") == ["(1)"] * 3 + [""]
    assert history(program, "1: a(1)..9 b(1)..3\n2: -b(1)\n4:\n9:\n10:", "q/1")[2:] == [
        "(1)",
        "(1)",
        "",
    ]


def test_rows_do_not_hold_one_another_up() -> None:
    program = rules("p(X) :- a(X). p(X) :- q(X). q(X) :- p(X). r(X) :- not p(X), b(X).")
    assert history(program, "1: a(1) b(1)\n2:\n3: -a(1)\n4: a(1)..5\n6:", "p/1") == [
        "(1)",
        "(1)",
        "",
        "(1)",
        "",
    ]
    assert history(program, "0: a(1)..0\n1: a(1)..1\n2:", "q/1") == ["(1)", "(1)", ""]


def test_paths_live_as_long_as_their_best_way() -> None:
    program = rules("r(X,Y) :- a(X,Y). r(X,Z) :- r(X,Y), r(Y,Z).")
    changes = """
        1: a(1,2)..3 a(2,3)..9 a(3,1)..9
        2: a(1,3)..5
        4: a(1,2)..4
        5: -a(2,3)
        6:
    """
    found = history(program, changes, "r/2")
    assert found[0] == "(1,1) (1,2) (1,3) (2,1) (2,2) (2,3) (3,1) (3,2) (3,3)"
    assert found[3:] == ["(1,1) (1,3) (3,1) (3,3)", "(3,1)"]


def test_what_was_absent_withdraws_and_what_ends_gives_back() -> None:
    program = rules("p(X) :- a(X), not b(X). q(X) :- a(X), not p(X). s(X) :- a(X), not q(X).")
    changes = "1: a(1)\n2: b(1)..3\n3:\n4:\n5: b(1)..9\n6: -b(1)"
    assert history(program, changes, "s/1") == ["(1)", "", "", "(1)", "", "(1)"]
    assert history(program, changes, "q/1") == ["", "(1)", "(1)", "", "(1)", ""]


def test_a_row_that_ends_and_comes_in_one_step_neither_comes_nor_goes() -> None:
    program = rules("p(X) :- a(X). p(X) :- b(X).")
    engine = RuleEvaluation(program)
    for step in steps("1: a(1)..1\n2: b(1)..2\n3: a(1) a(2)\n4: -a(1) a(1)"):
        step.apply(engine)
        if step.now in (2, 4):
            assert not engine.came("p/1")
            assert not engine.gone("p/1")
    assert rows_text(engine.rows("p/1")) == "(1) (2)"


def test_an_earlier_end_does_not_shorten_a_later_one() -> None:
    program = rules("p(X) :- a(X).")
    assert history(program, "1: a(1)..4\n2: a(1)..2\n3:\n5:", "p/1") == ["(1)", "(1)", "(1)", ""]
    assert history(program, "1: a(1)..0\n2: a(2)..1 a(3)..9\n7: a(1)..6", "p/1") == [
        "",
        "(3)",
        "(3)",
    ]


def test_time_may_leap_over_horizons() -> None:
    program = rules("p(X) :- a(X), not b(X). q(N) :- N = #count { X : p(X) }.")
    changes = "1: a(1)..4 a(2)..6 b(2)..5\n3:\n6:\n20:"
    assert history(program, changes, "q/1") == ["(1)", "(1)", "(1)", "(0)"]
    assert history(program, changes, "p/1") == ["(1)", "(1)", "(2)", ""]


def test_the_clock_is_a_relation_whose_row_moves() -> None:
    tick = Rule("tick", (T,), (Scan(CLOCK, (T,)),))
    late = Rule("late", (X,), (Scan("a/1", (X,)), Absent("tick", (X,))))
    program = Program((tick, late), (), frozenset({"a/1"}), "", frozenset({"tick", "late"}))
    assert history(program, "1: a(2)\n2:\n3:", "late") == ["(2)", "", "(2)"]


def test_a_rule_may_end_its_rows_earlier() -> None:
    cut = Rule("p", (X,), (Scan("a/2", (X, T)),), until=(T, 2))
    program = Program((cut, Rule("q", (X,), (Scan("p", (X,)),))), (), frozenset({"a/2"}))
    changes = "3: a(1,3) a(1,2) a(2,0) a(3,x)\n5: a(1,2)\n6:"
    assert history(program, changes, "q") == ["(1)", "(1)", ""]


def test_always_needs_every_point_of_its_window_since_the_first() -> None:
    program = rules("", Always("all", "a/2", 2))
    changes = "1: a(1,1)..3\n2: a(1,2)..4\n4: a(1,4)..6\n5: a(1,5)\n6: a(1,6)\n7: a(1,7) -a(1,6)"
    assert history(program, changes, "all") == ["(1)", "(1)", "", "", "(1)", ""]


def test_always_may_end_before_now_and_has_nothing_until_its_window_begins() -> None:
    program = rules("", Always("all", "a/2", 2, 1))
    changes = "1: a(1,1)..3\n2: a(1,2)..4\n4: a(1,4)..6\n5: a(1,5)..7\n6: a(1,6)\n7:\n8:"
    assert history(program, changes, "all") == ["", "(1)", "", "", "(1)", "(1)", ""]


def test_what_lasts_has_begun_behind_the_last_gap() -> None:
    program = rules("", Lasting("since", "a/2", 9))
    changes = "1: a(x,1)\n2: a(x,2)\n3: a(x,3) -a(x,1)\n4: a(x,4) a(x,1)\n5:\n6: a(x,6)"
    found = history(program, changes, "since")
    assert found == ["(x,1)", "(x,1)", "(x,2)", "(x,1)", "", "(x,6)"]


def test_a_run_that_is_filled_in_later_begins_earlier() -> None:
    program = rules("", Always("all", "a/2", 9))
    changes = "0:\n1: a(x,1)\n2: a(x,2)\n3: a(x,3) a(x,0)\n4: a(x,4)"
    assert history(program, changes, "all") == ["", "", "", "(x)", "(x)"]


def test_a_row_that_is_retracted_and_inserted_at_once_is_still_found_later() -> None:
    program = rules("p(X,Y) :- a(X,Y), b(Y).")
    changes = "1: a(1,2) b(3)\n2: -a(1,2) a(1,2)\n3: b(2)\n4:"
    assert history(program, changes, "p/2") == ["", "", "(1,2)", "(1,2)"]


def test_a_row_that_is_inserted_again_for_less_time_takes_what_rests_on_it_along() -> None:
    program = rules("p(X) :- a(X), b(X). q(X) :- p(X), b(X).")
    changes = "1: a(1)..9 b(1)..9\n2: -a(1) a(1)..3\n3:\n4:"
    assert history(program, changes, "q/1") == ["(1)", "(1)", "(1)", ""]


def test_rows_with_one_partner_and_rows_with_several_are_joined_in_one_step() -> None:
    program = rules("q(X) :- X = 1..3, c. p(X,Z) :- q(X), b(X,Z).")
    changes = "1: b(1,1)..3 b(2,1)..2 b(2,2)..3 b(2,3)\n2: c -b(2,3)\n3:\n4:"
    both = "(1,1) (2,1) (2,2)"
    assert history(program, changes, "p/2") == ["", both, "(1,1) (2,2)", ""]


def test_the_least_number_has_no_greater_one_without_its_sign() -> None:
    program = rules("p(|X|) :- a(X).")
    changes = f"1: a({values.LEAST}) a(-3) a(4) a(x)"
    assert history(program, changes, "p/1") == [f"({values.LEAST}) (3) (4)"]


def test_aggregates_follow_their_groups_and_elements() -> None:
    groups = Rule("g", (X,), (Scan("a/1", (X,)),))
    elements = Rule("e", (X, Compound("", (T,))), (Scan("b/2", (X, T)),))
    largest, total = Aggregate("max", "g", "e", "max"), Aggregate("sum", "g", "e", "sum")
    inputs = frozenset({"a/1", "b/2"})
    program = Program((groups, elements), (largest, total), inputs, "", frozenset({"max", "sum"}))
    changes = "1: a(1) b(1,5)..2 b(1,3) b(2,9)\n2: a(2)..3\n3:\n4: -b(1,3)\n5: -a(1)"
    assert history(program, changes, "max") == [
        "(1,5)",
        "(1,5) (2,9)",
        "(1,3) (2,9)",
        "(1,#inf)",
        "",
    ]
    assert history(program, changes, "sum")[2:] == ["(1,3) (2,9)", "(1,0)", ""]


def test_a_loop_through_absence_is_refused_and_named() -> None:
    odd = Rule("p", (X,), (Scan("a/1", (X,)), Absent("p", (X,))))
    with pytest.raises(StratificationError, match="p"):
        RuleEvaluation(Program((odd,), (), frozenset({"a/1"})))


def test_rules_without_a_body_hold_from_the_first_step() -> None:
    fact = Rule("p", (Constant(1),))
    program = Program((fact, Rule("q", (), (Absent("p", (Constant(2),)),))))
    assert history(program, "5:\n6:", "q") == ["()", "()"]


@pytest.mark.parametrize("length", [14, 16, 40])
def test_a_body_may_be_longer_than_python_nests_loops(length: int) -> None:
    """And each of its literals may be the one that changes, or is withdrawn."""
    chain = [Variable(f"X{place}") for place in range(length + 1)]
    body = tuple(Scan("a/2", (chain[place], chain[place + 1])) for place in range(length))
    rule = Rule("p/2", (chain[0], chain[-1]), body)
    program = Program((rule,), (), frozenset({"a/2"}), "", frozenset({"p/2"}))
    came = " ".join(f"a({place},{place + 1})" for place in range(length) if place != 7)
    changes = f"1: {came}\n2: a(7,8)\n3: -a(11,12)\n4: a(11,12)..4\n5:"
    whole = f"(0,{length})"
    assert history(program, changes, "p/2") == ["", whole, "", whole, ""]

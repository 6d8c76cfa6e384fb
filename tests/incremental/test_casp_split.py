"""A program cut in two answers as the whole: what is stratified below, the rest above."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.asp.translation.program import Split, split
from citywise.reasoning.model.atoms import signature
from tests.incremental.programs import Example, examples
from tests.incremental.translations import check_split, program, signatures, windows

DOMAIN = ("0", "1", "2")
CASES = {
    "choice above": ("p(X) :- q(X), not r(X). { s(X) } :- p(X). :- s(0).", "q/1 r/1"),
    "disjunction above": ("p(X) :- q(X). a(X) ; b(X) :- p(X), not r(X). c(X) :- a(X).", "q/1 r/1"),
    "loop above": ("p(X) :- q(X). a(X) :- p(X), not b(X). b(X) :- p(X), not a(X).", "q/1"),
    "constraint below": (":- q(1), not r(1). p(X) :- q(X). { s(X) } :- p(X).", "q/1 r/1"),
    "constraint above": ("p(X) :- q(X). { s(X) } :- p(X). :- s(X), r(X).", "q/1 r/1"),
    "derived on both sides": ("p(X) :- q(X). { p(X) } :- r(X). s :- r(1).", "q/1 r/1"),
    "given and chosen": ("{ q(X) } :- r(X). s(X) :- q(X). t :- r(1).", "q/1 r/1"),
    "contradiction across": ("p(X) :- q(X). { -p(X) } :- r(X). m(X) :- -p(X).", "q/1 r/1"),
    "contradiction below": ("p(X) :- q(X). -p(X) :- r(X). { s(X) } :- q(X).", "q/1 r/1"),
    "given contradiction above": ("{ q(X) } :- r(X). t(X) :- r(X).", "q/1 r/1 -q/1"),
    "preference above": (
        "{ s(X) } :- p(X). p(X) :- q(X). :- q(_), { s(X) } 0. :~ s(X). [X@1]",
        "q/1",
    ),
    "preference about below": ("p(X) :- q(X). #minimize { 1@2,X : p(X) }. { s } :- p(0).", "q/1"),
    "shown below": ("p(X) :- q(X). { s(X) } :- p(X). #show p/1.", "q/1"),
    "shown above": ("p(X) :- q(X). { s(X) } :- p(X). #show s/1.", "q/1"),
    "nothing shown": ("p(X) :- q(X). { s(X) } :- p(X). #show.", "q/1"),
    "terms shown": ("p(X) :- q(X), not r(X). #show f(X) : p(X). #show p/1.", "q/1 r/1"),
    "only terms shown": ("p(X) :- q(X), not r(X). #show f(X) : p(X).", "q/1 r/1"),
    "constants": ("#const n = 1. #const m = n. p(n) :- q(m). { s(X,n) } :- p(X).", "q/1"),
    "undefined": ("#defined z/1. p(X) :- q(X), not z(X). { s(X) } :- p(X), not z(X).", "q/1"),
    "facts": ("q(7). t(1..2). p(X) :- q(X). { s(X) } :- p(X), q(X), t(X).", "q/1"),
    "facts of what is chosen": ("s(5). { s(X) } :- q(X). p(X) :- q(X). t(X) :- s(X).", "q/1"),
    "aggregates on both sides": (
        "n(N) :- N = #count { X : q(X) }. { s(X) } :- q(X). m(N) :- N = #sum { X : s(X) }.",
        "q/1",
    ),
    "nothing above": ("p(X) :- q(X), not r(X). :- p(2).", "q/1 r/1"),
    "unsupported rule above": ("p(X) :- q(X). s :- 1 { X = Y : p(Y), q(X) }. t :- s.", "q/1"),
}


@pytest.mark.parametrize("name", CASES)
def test_two_parts_answer_as_the_whole(name: str) -> None:
    rules, inputs = CASES[name]
    check_split(rules, inputs, windows(inputs, domain=DOMAIN))


def cut(rules: str, inputs: str = "q/1 r/1") -> Split:
    return split(program(rules), signatures(inputs))


def test_the_largest_part_that_reads_nothing_outside_is_below() -> None:
    parts = cut(
        "p(X) :- q(X).\n{ s(X) } :- p(X).\nt(X) :- s(X).\nu(X) :- q(X), not p(X).\n:- u(1)."
    )
    assert parts.bottom is not None
    assert {rule.head for rule in parts.bottom.program.rules} == {"p/1", "u/1", "#false"}
    assert "t(X)" in parts.top.rules
    assert "u(" not in parts.top.rules
    assert list(map(str, parts.interface)) == ["p/1"]


def test_reasons_name_the_statements_that_keep_others_above() -> None:
    assert cut("p(X) :- q(X).\n{ s(X) } :- p(X).\nt(X) :- s(X).").reasons == ("line 2 is a choice",)


def test_a_program_in_the_fragment_has_nothing_above() -> None:
    parts = cut("p(X) :- q(X).")
    assert parts.reasons == ()
    assert parts.interface == ()


@pytest.mark.parametrize(
    "rules",
    [
        "{ s(X) } :- q(X). t(X) :- s(X).",
        "p(X) :- q(X). { s(X) } :- p(X). #heuristic s(X). [1,true]",
    ],
)
def test_what_cannot_be_cut_is_left_as_it_is(rules: str) -> None:
    """Nothing is below, or a statement speaks of the whole program."""
    parts = cut(rules)
    assert parts.bottom is None
    assert parts.top.rules == rules


# -- random programs, with what cannot be below ------------------------------------------

ABOVE = (
    "{ w(X) } :- d(X).",
    "w(X) ; -p(X) :- d(X).",
    "{ q(X,X) } :- d(X).",
    "{ e(X,1) : d(X) } 1.",
    "w(1) :- not z, flag. z :- not w(1).",
    "{ w(1..2) }. :~ w(X), d(X). [X]",
    "{ t }. :- t, not p(_).",
    "#show f(X) : p(X).",
)


def agree(example: Example, above: Collection[str]) -> None:
    """Fail where the parts of a program differ from the whole."""
    rules = example.program + "".join(f"{rule}\n" for rule in above)
    facts = "".join(f"{fact}.\n" for fact in example.knowledge)
    inputs = {signature(fact) for window in example.windows for fact in window}
    parts = split(program(rules + facts), frozenset(inputs))
    if parts.bottom is not None:
        names = " ".join(map(str, inputs))
        check_split(rules + facts, names, map(frozenset, example.windows))


CUT = given(examples(), st.lists(st.sampled_from(ABOVE), min_size=1, max_size=2, unique=True))


@CUT
@settings(max_examples=8)
def test_random_programs_cut_in_two_answer_as_the_whole(example: Example, above: list[str]) -> None:
    agree(example, above)


@pytest.mark.slow
@CUT
@settings(max_examples=60)
def test_more_random_programs_cut_in_two_answer_as_the_whole(
    example: Example, above: list[str]
) -> None:
    agree(example, above)

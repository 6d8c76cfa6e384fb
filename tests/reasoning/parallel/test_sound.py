"""The sound plan: what is cut, what stays together and why."""

from __future__ import annotations

import pytest

from citywise.reasoning.model.engine import AspProgram
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.plan import Plan
from citywise.reasoning.partition.sound import plan


def planned(text: str, *present: tuple[str, int]) -> Plan:
    return plan(
        AspProgram("test", text, (1,)), present=[Signature(*p) for p in present], keys=False
    )


def lines(found: Plan) -> list[list[str]]:
    """The rules of each partition, by their lines."""
    return [[rule.name for rule in partition.rules] for partition in found.partitions]


_CUT = "is cut off: it and those before need nothing that the other derives"
CUTS = {
    "rules that share nothing": ("a(X) :- b(X), c(X).\nd(X) :- e(X), f(X).", [["1"], ["2"]]),
    "rules that only derive the same": ("a(X) :- b(X), c(X).\na(X) :- e(X), f(X).", [["1"], ["2"]]),
    "rules that read the same input": ("a(X) :- b(X), c(X).\nd(X) :- b(X), e(X).", [["1"], ["2"]]),
    "what reads what another derives": ("a(X) :- b(X), c(X).\nd(X) :- a(X), e(X).", [["1", "2"]]),
    "what reads that it is absent": ("a(X) :- b(X), c(X).\nd(X) :- e(X), not a(X).", [["1", "2"]]),
    "two that read what a third derives": (
        "a(X) :- b(X), c(X).\nd(X) :- a(X), e(X).\nf(X) :- a(X), g(X).",
        [["1", "2", "3"]],
    ),
    "two that read a copy of an input": (
        "a(X) :- b(X,Y), Y > 3.\nd(X) :- a(X), e(X).\nf(X) :- a(X), g(X).",
        [["1", "2"], ["1", "3"]],
    ),
    "a copy that nobody reads, where its input is": (
        "a(X) :- b(X), c(X).\nd(X) :- c(X).",
        [["1", "2"]],
    ),
    "choices that share nothing": ("{a(X)} :- b(X).\n{c(X)} :- d(X).", [["1"], ["2"]]),
    "a choice and what looks at it": ("{a(X)} :- b(X).\n:- a(X), c(X).", [["1", "2"]]),
    "two that guess the same": ("{a(X)} :- b(X).\n{a(X)} :- d(X).", [["1", "2"]]),
    "what derives a guessed atom too": ("1{a(X):b(X)}1.\na(X) :- d(X), e(X).", [["1", "2"]]),
    "a disjunction and its heads": ("a(X) | c(X) :- b(X).\nd :- c(X), e(X).", [["1", "2"]]),
    "recursion through negation": (
        "a :- b, not c.\nc :- b, not a.\nd(X) :- e(X), f(X).",
        [["1", "2"], ["3"]],
    ),
    "constraints on what is given": (":- a(X), b(X).\n:- c(X), d(X).", [["1"], ["2"]]),
    "preferences that count different tuples": (
        "{a}.\n{b}.\n:~ a. [1@1, x]\n:~ b. [1@1, y]",
        [["1", "3"], ["2", "4"]],
    ),
    "preferences on different priorities": (
        "{a}.\n{b}.\n:~ a. [1@1]\n:~ b. [1@2]",
        [["1", "3"], ["2", "4"]],
    ),
    "preferences that may count the same": (
        "{a}.\n{b}.\n:~ a. [1@1]\n:~ b. [1@1]",
        [["1", "3", "2", "4"]],
    ),
    "preferences whose constant may be another": (
        "#const x = y. {a}.\n{b}.\n:~ a. [1@1, x]\n:~ b. [1@1, y]",
        [["1", "3", "2", "4"]],
    ),
    "a priority that is a variable": (
        "{a(X)} :- e(X).\n{b}.\n:~ a(X). [1@X, x]\n:~ b. [1@1, y]",
        [["1", "3", "2", "4"]],
    ),
    "aggregates": (
        "a(N) :- N = #count{X : b(X), c(X)}.\nd :- 2 #sum{X : e(X)}.",
        [["1"], ["2"]],
    ),
    "terms that are shown": ("#show f(X) : a(X), b(X).\nc(X) :- d(X), e(X).", [["1"], ["2"]]),
    "an edge of an acyclic graph": ("#edge (X,Y) : a(X,Y).\nc(X) :- d(X).", [["1", "2"]]),
}


@pytest.mark.parametrize("case", CUTS)
def test_what_is_cut(case: str) -> None:
    text, expected = CUTS[case]
    found = planned(text)
    assert sorted(map(sorted, lines(found))) == sorted(map(sorted, expected)), found.reasons


@pytest.mark.parametrize("case", CUTS)
def test_every_rule_is_somewhere(case: str) -> None:
    text, _expected = CUTS[case]
    everywhere = {name for partition in lines(planned(text)) for name in partition}
    whole = {name for partition in CUTS[case][1] for name in partition}
    assert everywhere == whole


@pytest.mark.parametrize("case", CUTS)
def test_a_partition_has_all_that_its_bodies_reach(case: str) -> None:
    found = planned(CUTS[case][0])
    rules = {rule for partition in found.partitions for rule in partition.rules}
    for partition in found.partitions:
        for rule in partition.rules:
            assert rule.body <= partition.inputs
            assert {other for other in rules if other.head & rule.body} <= set(partition.rules)


def test_an_atom_and_its_opposite_are_looked_at_together() -> None:
    """Both may hold together nowhere: whoever sees one has to see the other."""
    text = "a(X) :- b(X), c(X).\n-a(X) :- d(X), e(X)."
    assert lines(planned(text)) == [["1", "2", "a/1 and -a/1"]]
    alone = "a(X) :- b(X), c(X).\nd(X) :- e(X), f(X)."
    assert lines(planned(alone, ("-d", 1))) == [["1"], ["2", "d/1 and -d/1"]]


def test_facts_of_the_program_are_data() -> None:
    found = planned('p(1,"a, b"). -q(f(x)). r(-3). s(1..2). t(1+1). a(X) :- p(X,_), b(X).')
    assert found.facts == 'p(1,"a, b").\n-q(f(x)).\nr(-3).\n'
    assert {rule.text.strip() for p in found.partitions for rule in p.rules} >= {"s((1..2))."}


def test_what_is_fed_back_is_with_what_it_comes_from() -> None:
    """So that a partition can go from window to window alone."""
    text = "was(X) :- prev_p(X).\nq(X) :- was(X), not r(X).\np(X) :- s(X), not t(X)."
    fed = {Signature("prev_p", 1): Signature("p", 1)}
    assert len(planned(text).partitions) == 2
    assert len(plan(AspProgram("test", text), feedback=fed, keys=False).partitions) == 1


def test_what_is_shown_is_shown_once_where_it_is_complete() -> None:
    found = planned("a(X) :- b(X), c(X).\nd(X) :- b(X), e(X).\n#show a/1. #show b/1. #show z/1.")
    shows = [sorted(map(str, p.shows)) for p in found.partitions]
    assert shows == [["a/1", "b/1", "z/1"], []]


def test_what_several_derive_all_of_them_show() -> None:
    found = planned("a(X) :- b(X), c(X).\na(X) :- e(X), f(X).\n#show a/1.")
    assert [sorted(map(str, p.shows)) for p in found.partitions] == [["a/1"], ["a/1"]]


def test_every_cut_and_every_refusal_has_a_reason() -> None:
    found = planned("a :- b, c.\nd :- a, e.\nf :- g, h.\n{i} :- j.\n:- i, k.")
    assert found.reasons == (
        "line 1 and line 2 stay together: line 2 needs all of a/0",
        "line 4 and line 5 stay together: line 5 needs all of i/0",
        f"partition 2 {_CUT}",
        f"partition 3 {_CUT}",
    )


def test_what_speaks_of_the_whole_program_forbids_any_cut() -> None:
    found = planned("#external z.\na :- b, c.\nd :- e, f.")
    assert len(found.partitions) == 1
    assert found.reasons == ("nothing is cut: `#external z. [false]` speaks of the whole program",)


def test_a_program_without_rules_has_one_partition() -> None:
    (partition,) = planned("#show p/1.", ("p", 1)).partitions
    assert partition.shows == partition.inputs == {Signature("p", 1)}

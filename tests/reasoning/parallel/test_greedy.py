"""The thesis' decomposition (Algorithm 4), flaws and all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.asp.dependencies import Edge
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.model.engine import WindowFacts
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition import greedy
from citywise.reasoning.partition.plan import Plan
from tests.reasoning.parallel.listings import FIRE, JAM, R7, Listing, listing, taken_apart, texts

COURSE = "uniben_takesCourse/2"
STAFF = ("uniben_advisor/2", "uniben_publicationAuthor/2", "uniben_teacherOf/2")
PLACE = ("rdf_type/2", "uniben_subOrganizationOf/2", "uniben_worksFor/2")
ASSISTANT = "uniben_teachingAssistantOf/2"
ORDER = """uniben_advisor uniben_publicationAuthor
uniben_takesCourse uniben_teachingAssistantOf
uniben_advisor uniben_takesCourse
uniben_advisor uniben_teacherOf
uniben_publicationAuthor uniben_takesCourse
uniben_publicationAuthor uniben_teacherOf
uniben_takesCourse uniben_teacherOf
rdf_type uniben_subOrganizationOf
rdf_type uniben_worksFor
uniben_subOrganizationOf uniben_worksFor"""
"""An order of Listing 6.1's edges that gives the partitions of section 6.3.1."""
NEGATED_ORDER = """uniben_advisor uniben_teacherOf
rdf_type uniben_subOrganizationOf
uniben_publicationAuthor uniben_worksFor
uniben_subOrganizationOf uniben_worksFor
uniben_publicationAuthor uniben_teacherOf
uniben_advisor uniben_publicationAuthor
uniben_advisor uniben_teachingAssistantOf
uniben_takesCourse uniben_teachingAssistantOf
uniben_advisor uniben_takesCourse
uniben_advisor uniben_worksFor
uniben_takesCourse uniben_teacherOf
rdf_type uniben_worksFor
uniben_publicationAuthor uniben_takesCourse"""
"""An order that gives those of section 6.3.2, where `uniben_headOf` is no input."""


def edges(text: str) -> list[Edge]:
    """Edges of binary predicates, one a line."""
    found = (line.split() for line in text.splitlines())
    return [(Signature(p, 2), Signature(q, 2)) for p, q in found]


def walk(text: str) -> list[Edge]:
    """Edges of predicates whose names are letters: `ab bc`."""
    return [(Signature(edge[0], 1), Signature(edge[1], 1)) for edge in text.split()]


def plan(found: Listing, order: Sequence[Edge] | None = None) -> Plan:
    return greedy.plan(found.program, found.inputs, found.request.labels, order=order)


def partitions(found: Listing, order: Sequence[Edge] | None = None) -> list[list[str]]:
    return [texts(p.inputs & found.inputs) for p in plan(found, order).partitions]


def answer(found: Listing, facts: Iterable[str], order: Sequence[Edge] | None = None) -> set[str]:
    """The atoms the thesis would answer: the union over the partitions."""
    given = list(facts)
    answered: set[str] = set()
    for partition in plan(found, order).partitions:
        names = {s.name for s in partition.inputs}
        text = "".join(f"{fact}.\n" for fact in given if fact.partition("(")[0] in names)
        engine = SolverEngine(found.request)
        for answer_set in engine.answer_sets(WindowFacts(text)):
            answered.update(answer_set.atoms)
    return answered


def whole(found: Listing, facts: Iterable[str]) -> set[str]:
    engine = SolverEngine(found.request)
    text = "".join(f"{fact}.\n" for fact in facts)
    (answer_set,) = engine.answer_sets(WindowFacts(text))
    return set(answer_set.atoms)


def test_an_unconnected_graph_falls_into_its_components() -> None:
    assert partitions(listing("5_4")) == [[*JAM], [*FIRE]]


def test_with_rule_r7_the_partitions_are_those_of_example_6_1() -> None:
    fire = sorted([*FIRE, "car_number/2"])
    assert partitions(listing("5_4", R7)) == [[*JAM], fire]


def test_an_order_of_the_edges_gives_the_partitions_of_section_6_3_1() -> None:
    found = listing("6_1")
    order = edges(ORDER)
    assert set(order) == {(p, q) for p, q in found.graph.edges if p != q}
    groups = {tuple(group) for group in partitions(found, order)}
    assert groups == {PLACE, tuple(sorted([*STAFF, COURSE])), (COURSE, ASSISTANT)}


def test_few_orders_of_the_edges_give_the_partitions_of_section_6_3_1() -> None:
    """96 of 5,040; the other component's edges make no difference."""
    order = [edge for edge in edges(ORDER) if str(edge[0]) not in PLACE]
    wanted = {tuple(sorted([*STAFF, COURSE])), (COURSE, ASSISTANT)}
    groups = ({tuple(texts(g)) for g in greedy.decompose(o)} for o in permutations(order))
    assert sum(found == wanted for found in groups) == 96


def test_an_order_gives_the_partitions_of_section_6_3_2_and_they_derive_a_wrong_atom() -> None:
    """In the thesis nobody heads a department, so that (r5') never fires."""
    read = listing("6_2_corrected")
    found = replace(read, inputs=read.inputs - {Signature("uniben_headOf", 2)})
    order = edges(NEGATED_ORDER)
    assert set(order) == {(p, q) for p, q in found.graph.edges if p != q}
    assert {tuple(group) for group in partitions(found, order)} == {
        PLACE,
        tuple(sorted([*STAFF, COURSE, ASSISTANT])),
        ("uniben_advisor/2", "uniben_publicationAuthor/2", "uniben_worksFor/2"),
    }
    facts = ["uniben_worksFor(x,d)", "uniben_headOf(z,d)"]
    facts += ["uniben_advisor(x,a)", "uniben_advisor(z,a)"]
    assert answer(found, facts, order) - whole(found, facts) == {"canBecomeHeadOf(x,d)"}
    (wrong,) = [reason for reason in plan(found, order).reasons if "wrong" in reason]
    assert wrong.startswith("rule r5' may derive wrong atoms in partition 2")


def test_in_name_order_listing_6_1_falls_into_its_components_only() -> None:
    assert partitions(listing("6_1")) == [
        [*PLACE],
        sorted([*STAFF, COURSE, ASSISTANT]),
    ]


def test_every_partition_runs_all_rules_on_what_is_no_input() -> None:
    found = listing("6_1")
    for partition in plan(found).partitions:
        assert [rule.name for rule in partition.rules] == [f"r{n}" for n in range(1, 16)]
        assert Signature("uniben_researchInterest", 2) in partition.inputs


WALKS = [
    ("both ends in one partition: there", "ab bc ac", ["abc"]),
    ("one end placed: where it is", "ab bc cd", ["abcd"]),
    ("no end placed: a new partition", "ab cd ef", ["ab", "cd", "ef"]),
    ("ends in two partitions: the smaller", "ab bc de ce", ["abc", "cde"]),
    ("ends in two partitions of a size: the older", "ab cd bc", ["abc", "cd"]),
    ("ends in two partitions: the one smaller by now", "ab ac bc xd ax bx cx", ["abcx", "adx"]),
    ("a loop places nothing", "aa bb bc", ["bc"]),
]


@pytest.mark.parametrize(("says", "order", "groups"), WALKS)
def test_an_edge_goes(says: str, order: str, groups: list[str]) -> None:
    found = greedy.decompose(walk(order))
    assert ["".join(sorted(s.name for s in group)) for group in found] == groups, says


def test_a_partition_is_highly_connected_if_every_degree_is_above_half_its_size() -> None:
    group = greedy.EdgeGroup()
    for edge in walk("ab ac bc ad bd"):
        group.add(edge)
    closing, dangling = walk("cd ce")
    assert group.is_highly_connected_with(closing)
    assert not group.is_highly_connected_with(dangling)
    square = greedy.EdgeGroup()
    for edge in walk("ab bc cd"):
        square.add(edge)
    assert not square.is_highly_connected_with(walk("ad")[0])


@given(
    order=st.permutations([(p, q) for p in "abcdef" for q in "abcdef" if p < q]),
    cut=st.floats(0, 1),
)
@settings(max_examples=200)
def test_high_connectivity_never_decides_where_an_input_goes(
    order: list[tuple[str, str]], cut: float
) -> None:
    """An edge that brings a new end leaves that end with one edge, so no candidate is highly
    connected; one whose ends are in all candidates moves nothing."""
    visited = walk(" ".join(p + q for p, q in order[: 1 + int(cut * len(order))]))
    assert list(greedy.decompose(visited)) == smallest_only(visited)


def smallest_only(order: Sequence[Edge]) -> list[set[Signature]]:
    """The greedy rules of PowerGraph, with as many partitions as it takes."""
    groups: list[set[Signature]] = []
    for edge in order:
        touched = [g for g in groups if g & set(edge)]
        candidates = [g for g in touched if g >= set(edge)] or touched
        if not candidates:
            groups.append(set())
            candidates = groups[-1:]
        min(candidates, key=len).update(edge)
    return groups


def test_an_input_without_edges_is_placed_nowhere_and_the_plan_says_so() -> None:
    found = taken_apart("h(X) :- a(X), b(X).\ng(X) :- lonely(X).\n")
    assert partitions(found) == [["a/1", "b/1"]]
    (reason,) = plan(found).reasons
    assert "lonely/1 is in no partition" in reason
    assert plan(taken_apart("g(X) :- lonely(X).\n")).partitions == ()


R8 = "(r8) quiet(X) :- many_cars(X), not traffic_light(X,red).\n"
NEGATION = """wrong(X) :- y(X), not b(X).
w(X) :- y(X), z(X).
v(X) :- a(X), z(X).
"""
SPLIT = """h(X) :- d(X), e(X), f(X), g(X).
i(X) :- c(X), f(X).
j(X) :- b(X), g(X).
"""


def test_negation_of_what_a_copy_lacks_derives_a_wrong_atom_and_the_plan_says_so() -> None:
    """`y` is copied beside `a` and `z`: there no `b` refutes anything."""
    found, facts = taken_apart(NEGATION), ["y(1)", "b(1)"]
    assert partitions(found) == [["a/1", "y/1", "z/1"], ["b/1", "y/1"]]
    assert (whole(found, facts), answer(found, facts)) == (set(), {"wrong(1)"})
    copied, wrong = plan(found).reasons
    assert copied == "y/1 is copied to partitions 1, 2"
    assert wrong == (
        "rule 1 may derive wrong atoms in partition 1: what it negates or counts depends on "
        "b/1, absent there"
    )


def test_the_thesis_running_example_is_one_rule_away_from_a_wrong_atom() -> None:
    """Example 6.1 copies `car_number` to where no traffic light is."""
    found, facts = listing("5_4", R7 + R8), ["car_number(a,55)", "traffic_light(a,red)"]
    assert partitions(found) == partitions(listing("5_4", R7))
    assert answer(found, facts) - whole(found, facts) == {"quiet(a)"}
    wrong = plan(found).reasons[-1]
    assert wrong.startswith("rule r8 may derive wrong atoms in partition 2")


def test_a_rule_whose_inputs_are_split_misses_its_atom_and_the_plan_says_so() -> None:
    found, facts = taken_apart(SPLIT), ["d(1)", "e(1)", "f(1)", "g(1)"]
    assert (whole(found, facts), answer(found, facts)) == ({"h(1)"}, set())
    (missing,) = [reason for reason in plan(found).reasons if "miss" in reason]
    assert missing == (
        "rule 1 may miss atoms: no partition has all inputs that its body depends on "
        "(d/1, e/1, f/1, g/1)"
    )


def test_what_holds_without_negation_and_within_a_partition_is_not_complained_of() -> None:
    found, facts = listing("5_4", R7), ["car_number(a,50)", "car_in_smoke(c,high)"]
    facts += ["car_speed(c,0)", "car_location(c,a)", "average_speed(b,1)", "car_number(b,99)"]
    assert answer(found, facts) == whole(found, facts)
    assert plan(found).reasons == ("car_number/2 is copied to partitions 1, 2",)


@pytest.mark.parametrize(
    ("rules", "fragment"),
    [("{h(X)} :- a(X), b(X).\n", "normal"), ("h(X); i(X) :- a(X), b(X).\n", "disjunctive")],
)
def test_programs_beyond_the_thesis_assumption_are_named(rules: str, fragment: str) -> None:
    (reason,) = plan(taken_apart(rules)).reasons
    assert reason == f"the thesis' plan is for stratified programs, and this one is {fragment}"

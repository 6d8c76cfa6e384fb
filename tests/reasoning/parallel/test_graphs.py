"""The extended and the input dependency graph (thesis, section 5.2)."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.asp.dependencies import ExtendedGraph, input_graph
from citywise.reasoning.model.request import Signature
from tests.reasoning.parallel.listings import FIRE, JAM, R7, listing, pairs, taken_apart, texts


def triangle(*corners: str) -> set[str]:
    return {f"{p} {q}" for p, q in combinations(sorted(corners), 2)}


def test_listing_5_4_has_the_extended_graph_of_figure_5_2() -> None:
    graph = listing("5_4").extended
    assert pairs(graph.undirected) == {
        "many_cars/1 very_slow_speed/1",
        "many_cars/1 traffic_light/2",
        "traffic_light/2 very_slow_speed/1",
        "traffic_light/2 traffic_light/2",
        *triangle(*FIRE),
    }
    assert pairs(graph.directed) == {
        "average_speed/2 very_slow_speed/1",
        "car_number/2 many_cars/1",
        "very_slow_speed/1 traffic_jam/1",
        "many_cars/1 traffic_jam/1",
        "traffic_light/2 traffic_jam/1",
        "car_in_smoke/2 car_fire/1",
        "car_speed/2 car_fire/1",
        "car_location/2 car_fire/1",
        "traffic_jam/1 give_notification/1",
        "car_fire/1 give_notification/1",
    }


def test_listing_5_4_has_the_input_graph_of_figure_5_3() -> None:
    found = listing("5_4")
    assert texts(found.inputs) == sorted(JAM + FIRE)
    loop = "traffic_light/2 traffic_light/2"
    assert pairs(found.graph.edges) == triangle(*JAM) | triangle(*FIRE) | {loop}


def test_the_components_of_figure_5_3_are_the_partitions_of_section_6_1_1() -> None:
    assert [texts(part) for part in listing("5_4").graph.components()] == [[*JAM], [*FIRE]]


def test_rule_r7_joins_car_number_to_the_second_triangle_as_in_figure_6_1() -> None:
    before, after = listing("5_4").graph, listing("5_4", R7).graph
    assert pairs(after.edges - before.edges) == {
        "car_in_smoke/2 car_number/2",
        "car_number/2 car_speed/2",
        "car_location/2 car_number/2",
    }
    assert before.edges < after.edges
    assert len(after.components()) == 1


def test_listing_6_1_falls_into_two_components_though_the_thesis_calls_its_graph_connected() -> (
    None
):
    found = listing("6_1").graph
    assert [texts(part) for part in found.components()] == [
        ["rdf_type/2", "uniben_subOrganizationOf/2", "uniben_worksFor/2"],
        [
            "uniben_advisor/2",
            "uniben_publicationAuthor/2",
            "uniben_takesCourse/2",
            "uniben_teacherOf/2",
            "uniben_teachingAssistantOf/2",
        ],
    ]


BODIES = [
    ("h :- a, b.", "a/0 b/0", "a/0 h/0, b/0 h/0"),
    ("h :- a, not b.", "a/0 b/0, b/0 b/0", "a/0 h/0, b/0 h/0"),
    ("h :- a, not not b.", "a/0 b/0, b/0 b/0", "a/0 h/0, b/0 h/0"),
    ("h(X) :- a(X,Y), a(Y,X).", "a/2 a/2", "a/2 h/1"),
    ("h :- a(1;2).", "", "a/1 h/0"),
    ("h :- a, -a.", "-a/0 a/0", "-a/0 h/0, a/0 h/0"),
    ("h(N) :- N = #count{X : a(X), b(X)}.", "a/1 b/1", "a/1 h/1, b/1 h/1"),
    ("h(N) :- N = #count{X : a(X)}.", "", "a/1 h/1"),
    ("h(N) :- N = #sum{X : a(X), not b(X)}.", "a/1 b/1, b/1 b/1", "a/1 h/1, b/1 h/1"),
    ("h :- not 1 {a; b}.", "a/0 b/0, a/0 a/0, b/0 b/0", "a/0 h/0, b/0 h/0"),
    ("h :- a(X) : b(X).", "a/1 b/1", "a/1 h/0, b/1 h/0"),
    ("{h(X) : a(X)} :- b.", "a/1 b/0", "a/1 h/1, b/0 h/1"),
    ("h; g :- a.", "", "a/0 g/0, a/0 h/0"),
    (":- a, b.", "a/0 b/0", ""),
    (":~ a(X), not b(X). [X]", "a/1 b/1, b/1 b/1", ""),
    ("not h :- a.", "a/0 h/0, h/0 h/0", ""),
    ("h :- 1 < 2.", "", ""),
]


@pytest.mark.parametrize(("rule", "undirected", "directed"), BODIES, ids=lambda value: str(value))
def test_what_is_read_counts_as_body_and_what_may_be_derived_as_head(
    rule: str, undirected: str, directed: str
) -> None:
    graph = taken_apart(rule + "\n").extended
    assert pairs(graph.undirected) == set(filter(None, undirected.split(", ")))
    assert pairs(graph.directed) == set(filter(None, directed.split(", ")))


INPUTS = [
    ("#input p/2.\nq(X) :- p(X,_), r(X).", "p/2"),
    ("q(X) :- p(X,_), not r(X).", "p/2 r/1"),
    ("r(1). q(X) :- p(X,_), not r(X).", "p/2"),
    ("#prefix e : <http://e.org/>.\ne_p(X,Y) :- e_p(Y,X), r(X).", "e_p/2 r/1"),
    ("#prefix e : <http://e.org/>.\n-e_p(X,Y) :- e_q(Y,X).", "-e_p/2 e_q/2"),
    ("#prefix e : <http://e.org/>.\nep(X) :- e_q(X,_).", "e_q/2"),
    ("#feedback q/1.\n#show q/1.\nq(X) :- p(X).\nq(X) :- prev_q(X).", "p/1 prev_q/1"),
]


@pytest.mark.parametrize(("text", "inputs"), INPUTS, ids=lambda value: str(value))
def test_inputs_are_those_declared_else_those_under_a_prefix_or_derived_by_no_rule(
    text: str, inputs: str
) -> None:
    assert " ".join(texts(taken_apart(text + "\n").inputs)) == inputs


def test_inputs_are_joined_where_one_undirected_edge_lies_between_what_they_reach() -> None:
    rules = "u(X) :- p(X).\nv(X) :- q(X).\nw(X) :- u(X).\nh(X) :- w(X), v(X).\n"
    assert pairs(taken_apart(rules).graph.edges) == {"p/1 q/1"}


def test_inputs_that_only_feed_the_same_predicate_are_not_joined() -> None:
    assert pairs(taken_apart("h(X) :- p(X).\nh(X) :- q(X).\n").graph.edges) == set()


def test_inputs_that_feed_a_predicate_joined_to_itself_are_joined_as_algorithm_3_has_it() -> None:
    rules = "h(X) :- p(X).\nh(X) :- q(X).\ng(X,Y) :- h(X), h(Y).\n"
    assert pairs(taken_apart(rules).graph.edges) == {"p/1 p/1", "p/1 q/1", "q/1 q/1"}


def test_an_input_two_steps_before_a_loop_has_none_itself() -> None:
    rules = "a(X) :- p(X).\nb(X) :- a(X).\nc(X) :- p(X), not b(X).\n"
    assert "p/1 p/1" not in pairs(taken_apart(rules).graph.edges)
    assert "p/1 p/1" in pairs(taken_apart("b(X) :- p(X).\nc :- p(1), not b(1).\n").graph.edges)


def test_recursive_rules_come_to_an_end() -> None:
    rules = "t(X,Y) :- e(X,Y).\nt(X,Z) :- t(X,Y), s(Y,Z).\ns(X,Y) :- t(Y,X), f(X).\n"
    assert pairs(taken_apart(rules).graph.edges) == {"e/2 f/1"}


def test_many_ways_between_predicates_cost_no_time() -> None:
    """A ladder of sixty steps has 2^60 paths: one after the other they would take for ever."""
    steps = [
        f"a{n}(X) :- {b}{n - 1}(X).\nb{n}(X) :- {b}{n - 1}(X).\n"
        for n in range(1, 61)
        for b in "ab"
    ]
    found = taken_apart("".join(steps) + "h(X) :- a60(X), b60(X).\n")
    assert pairs(found.graph.edges) == {"a0/1 b0/1"}


P = [Signature(name, 1) for name in "abcdefg"]
EDGES = st.sets(st.tuples(st.sampled_from(P), st.sampled_from(P)), max_size=9)


@given(undirected=EDGES, directed=EDGES, inputs=st.sets(st.sampled_from(P)))
@settings(max_examples=150)
def test_the_input_graph_is_what_definition_5_3_says(
    undirected: set[tuple[Signature, Signature]],
    directed: set[tuple[Signature, Signature]],
    inputs: set[Signature],
) -> None:
    ordered = frozenset((p, q) if p <= q else (q, p) for p, q in undirected)
    path = {(p, q): p == q or (p, q) in directed for p in P for q in P}
    for k in P:
        path |= {(p, q): path[p, q] or (path[p, k] and path[k, q]) for p in P for q in P}
    both = ordered | {(q, p) for p, q in ordered}
    wanted = {
        (p, q)
        for p, q in combinations(sorted(inputs), 2)
        if any(path[p, u] and path[q, v] for u, v in both)
    }
    loops = {u for u, v in ordered if u == v}
    wanted |= {(p, p) for p in inputs if p in loops or any((p, u) in directed for u in loops)}
    graph = ExtendedGraph(frozenset(P), ordered, frozenset(directed))
    assert input_graph(graph, inputs).edges == wanted


def test_components_are_the_finest_cut_that_no_edge_crosses() -> None:
    rules = "h :- a, b.\ng :- b, c.\nf :- d, e.\ni :- k.\n"
    parts = taken_apart(rules).graph.components()
    assert [texts(part) for part in parts] == [["a/0", "b/0", "c/0"], ["d/0", "e/0"], ["k/0"]]


def test_rules_are_named_by_their_labels_wherever_they_stand_on_a_line() -> None:
    text = (
        '(a) p("é") :- q. (b\') r("ü"). (c) s(X) :- p(X). % é\n'
        "%* é *% (d) {t(X)} :- s(X). (e) #minimize { 1@2,x : q }.\n"
        "(f) :~ q. [1@1]\n"
        "(g) :- q, s(2).\n"
        "u :- q.\n"
    )
    assert [rule.name for rule in taken_apart(text).rules] == ["a", "c", "d", "e", "f", "g", "5"]
    assert "b'" in taken_apart(text).request.labels.values()

"""What several rules join is joined once."""

from __future__ import annotations

from citywise.reasoning.languages.rif.compile import compiled
from citywise.reasoning.languages.rif.network import NODE
from citywise.reasoning.model.rules import Rule
from tests.rif.written import at_once, theory_of


def _nodes(*rules: str) -> list[Rule]:
    found = compiled(theory_of(" ".join(rules))).program.rules
    return [rule for rule in found if rule.head.startswith(NODE)]


def _rule(head: str, *body: str) -> str:
    return f"Forall ?x ?y ?z ?u ?v (ex:{head} :- And({' '.join(body)}))"


def test_variants_of_one_pattern_are_one_node() -> None:
    """Names of variables and the order of conditions do not matter."""
    one = _rule("h(?x)", "?x[ex:p -> ?y]", "?y[ex:q -> ?z]", "?z[ex:r -> ?u]")
    two = _rule("k(?v)", "?u[ex:q -> ?v]", "?z[ex:p -> ?u]", "?v[ex:s -> ?y]")
    (node,) = _nodes(one, two)
    assert len(node.body) == 2


def test_a_node_has_all_that_two_rules_share() -> None:
    star = [f"?x[ex:p{n} -> ?y]" for n in range(8)]
    one = _rule("h(?x)", *star, "?x[ex:q -> ?z]")
    two = _rule("k(?x)", *reversed(star), "?x[ex:r -> ?z]")
    (node,) = _nodes(one, two)
    assert len(node.body) == 8


def test_a_smaller_node_is_made_for_a_third_rule() -> None:
    star = [f"?x[ex:p{n} -> ?y]" for n in range(4)]
    rules = [_rule("h(?x)", *star), _rule("k(?y)", *star), _rule("l(?x)", *star[:2])]
    small, large = _nodes(*rules)
    assert (len(small.body), len(large.body)) == (2, 3)


def test_a_node_keeps_only_what_its_rules_need() -> None:
    one = _rule("h(?x)", "?x[ex:p -> ?y]", "?x[ex:q -> ?z]", "?x[ex:r -> ?u]")
    two = _rule("k(?x)", "?x[ex:p -> ?y]", "?x[ex:q -> ?z]", "?x[ex:s -> ?u]")
    (node,) = _nodes(one, two)
    assert len(node.terms) == 1


def test_tests_that_all_rules_make_of_a_node_are_made_in_it() -> None:
    shared = ["?x[ex:p -> ?y]", "?x[ex:q -> ?z]", "External(pred:numeric-less-than(?y ?z))"]
    one = _rule("h(?x)", *shared, "External(pred:numeric-less-than(?y 9))")
    (node,) = _nodes(one, _rule("k(?x)", *shared))
    assert len(node.body) == 3
    triples = ("a p 1", "a q 2", "b p 3", "b q 2", "c p 10", "c q 20")
    assert at_once(one + _rule("k(?x)", *shared), *triples) == ["h(a)", "k(a)", "k(c)"]


def test_different_constants_are_different_patterns() -> None:
    one = _rule("h(?x)", "?x[ex:p -> ex:a]", "?x[ex:q -> ?z]")
    assert _nodes(one, _rule("k(?x)", "?x[ex:p -> ex:b]", "?x[ex:q -> ?z]")) == []


def test_what_shares_objects_only_is_joined_where_it_stands() -> None:
    """`?x` and `?z` with one `?y`: there may be many more pairs than each rule needs."""
    pair = ["?x[ex:p -> ?y]", "?z[ex:q -> ?y]"]
    rules = _rule("h(?x)", *pair, "?x[ex:r -> ?u]"), _rule("k(?x)", *pair, "?z[ex:s -> ?u]")
    assert _nodes(*rules) == []


def test_a_rule_that_has_a_pattern_twice_uses_its_node_twice() -> None:
    one = _rule("h(?x ?u)", "?x[ex:p -> ?y]", "?x[ex:q -> ?y]", "?u[ex:p -> ?v]", "?u[ex:q -> ?v]")
    two = _rule("k(?x)", "?x[ex:p -> ?y]", "?x[ex:q -> ?y]")
    (node,) = _nodes(one, two)
    assert len(node.body) == 2
    triples = ("a p b", "a q b", "c p b", "c q d")
    assert at_once(one + two, *triples) == ["h(a,a)", "k(a)"]


def test_heads_of_one_rule_share_its_body() -> None:
    both = "Forall ?x ?y (And(ex:h(?x) ex:k(?y)) :- And(?x[ex:p -> ?y] ?y[ex:q -> ?x]))"
    (node,) = _nodes(both)
    assert len(node.body) == 2
    assert at_once(both, "a p b", "b q a") == ["h(a)", "k(b)"]


def test_recursive_rules_share_as_others_do() -> None:
    step = _rule("r(?x ?z)", "?x[ex:p -> ?y]", "?x[ex:q -> ?z]", "ex:r(?z ?y)")
    base = _rule("r(?y ?x)", "?x[ex:p -> ?y]", "?x[ex:q -> ?z]")
    assert len(_nodes(step, base)) == 1
    triples = ("a p b", "a q b", "c p a", "c q b")
    assert at_once(step + base, *triples) == ["r(a,c)", "r(b,a)", "r(c,b)"]

"""`citywise plan` tells by which network a document of RIF is evaluated."""

from __future__ import annotations

import json
import re
from pathlib import Path

from citywise.reasoning.languages.rif import parsing
from citywise.reasoning.languages.rif.description import describe, to_dot, to_json, to_text
from citywise.reasoning.languages.rif.theory import theory
from tests.rif.written import theory_of

REPOSITORY = Path(__file__).parents[2]

RULES = """
(* ex:offer[] *) Forall ?o ?p ?v (?p[ex:cost -> ?v] :- And(
  ?o # ex:Offer ?o[ex:product -> ?p] ?o[ex:price -> ?v] External(pred:numeric-less-than(?v 9))))
(* ex:seller[] *) Forall ?a ?b ?c (ex:sells(?c ?b) :- And(
  ?a # ex:Offer ?a[ex:product -> ?b] ?a[ex:vendor -> ?c]))
"""
FOUND = describe(theory_of(RULES))


def test_nodes_are_told_with_the_rules_that_share_them() -> None:
    nodes = {node.pattern: node for node in FOUND.nodes}
    assert nodes["?x[rdf:type -> ex:Offer]"].rules == ("offer", "seller")
    assert nodes["?x[ex:price -> ?y]"].rules == ("offer",)
    (beta,) = (node for node in FOUND.nodes if node.kind == "beta")
    assert beta.pattern == "And(?x[ex:product -> ?y] ?x[rdf:type -> ex:Offer])"
    assert beta.rules == ("offer", "seller")
    assert {nodes["?x[rdf:type -> ex:Offer]"].name} < {*beta.reads}


def test_rules_are_told_with_what_they_join_and_test() -> None:
    offer, seller = FOUND.rules
    assert (offer.name, offer.derives) == ("offer", "?p[ex:cost -> ?v]")
    assert "b1" in offer.reads
    assert offer.tests == ("External(pred:numeric-less-than(?v 9))",)
    assert (seller.derives, seller.tests) == ("ex:sells(?c ?b)", ())


def test_strata_come_in_the_order_in_which_they_are_completed() -> None:
    recursive = describe(
        theory_of("Forall ?x (ex:k(?x) :- ex:h(?x)) Forall ?x (ex:h(?x) :- ?x[ex:p -> ?x])")
    )
    assert recursive.strata == (("ex:h",), ("ex:k",))


def test_alternatives_of_several_heads_are_told() -> None:
    both = "Forall ?x (And(ex:h(?x) ex:k(?x)) :- Or(?x[ex:a -> ?x] ?x[ex:b -> ?x]))"
    (part,) = (node for node in describe(theory_of(both)).nodes if node.kind == "part")
    assert part.pattern == "Or(?x[ex:a -> ?x] ?x[ex:b -> ?x])"


def test_the_text_names_all_there_is() -> None:
    text = to_text(FOUND)
    assert text.startswith("test.rifps: rif, positive, engine incremental\nwindow none")
    for part in ("Alpha nodes", "Beta nodes", "shared by offer, seller", "joins b1"):
        assert part in text


def test_the_documentation_shows_what_is_printed_and_names_every_key() -> None:
    page = (REPOSITORY / "docs" / "plan.md").read_text(encoding="utf-8")
    shown = r"```\n(Document\(.*?)```\s*```\n\$ citywise plan (\S+)\n(.*?)```"
    ((document, name, text),) = re.findall(shown, page, re.DOTALL)
    found = describe(theory(parsing.parse(document, name=name)))
    assert text == to_text(found)
    printed = to_json(found)
    for key in {*printed, *printed["nodes"][0], *printed["rules"][0]}:
        assert f"`{key}`" in page, key


def test_json_has_what_the_text_has() -> None:
    found = json.loads(json.dumps(to_json(FOUND)))
    assert found["language"] == "rif"
    read = ["ex_price/2", "ex_product/2", "ex_vendor/2", "rdf_type/2"]
    assert found["input_predicates"] == read
    (part,) = found["partitions"]
    assert part["predicates"] == read
    assert part["key"] is None
    assert len(found["nodes"]) == len(FOUND.nodes)


def test_dot_draws_shared_nodes_with_a_double_line() -> None:
    text = to_dot(FOUND)
    assert '"b1" -> "rule 1";' in text
    assert '"b1" -> "rule 2";' in text
    assert text.count("peripheries=2") == 3


def test_json_has_the_graphs_of_the_rules_by_the_predicates_of_answers() -> None:
    document = """Document( Prefix(e <http://e/>) Group(
      (* e:r1 [] *) Forall ?x ?y (e:a(?x) :- And(e:b(?x) e:c(?x ?y) e:c(?y ?x)))
      (* e:r2 [] *) Forall ?x ?y (?x[e:q -> ?y] :- And(e:a(?x) ?x[<http://else/p> -> ?y]))
    ))"""
    found = to_json(describe(theory(parsing.parse(document, name="a.rifps"))))
    assert found["input_predicates"] == ["e_a/1", "e_b/1", "e_c/2", "triple/3"]
    assert found["extended_graph"] == {
        "undirected": [["e_a/1", "triple/3"], ["e_b/1", "e_c/2"], ["e_c/2", "e_c/2"]],
        "directed": [
            ["e_a/1", "e_q/2"],
            ["e_b/1", "e_a/1"],
            ["e_c/2", "e_a/1"],
            ["triple/3", "e_q/2"],
        ],
    }
    assert found["input_graph"]["edges"] == [
        ["e_a/1", "triple/3"],
        ["e_b/1", "e_c/2"],
        ["e_b/1", "triple/3"],
        ["e_c/2", "e_c/2"],
        ["e_c/2", "triple/3"],
    ]
    assert [part["rules"] for part in found["partitions"]] == [["r1", "r2"]]

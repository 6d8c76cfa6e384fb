"""Why and why not in documents of RIF: the justifications of the definitions, as trees."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.engines.incremental.relation import BEGINNING
from citywise.reasoning.errors import ItemError
from citywise.reasoning.explain.justifications import GivenFact, Justifications
from citywise.reasoning.explain.tree import Explanation
from citywise.reasoning.languages.rif.explaining import FactExplainer
from citywise.reasoning.languages.rif.parsing import parse
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.run.recorded import Recorded
from tests.command import Folder
from tests.rif.agreement import theory_of, with_facts_as_rules
from tests.rif.programs import programs
from tests.rif.reference import Appearance, Instance, WindowedProgram, justifications

Found = set[tuple[int, frozenset[Instance]]]
"""Sets of instances, with the instants from which they justify something."""


def explainer(program: WindowedProgram, now: int) -> FactExplainer:
    """What explains the facts of a program at an instant."""
    lasts: dict[Instance, int | None] = {}
    for fact, begun, until in program.stream:
        one = Instance(fact, begun)
        if one in program.window(now):
            last = None if program.range is None else (until or begun) + program.range - 1
            known = lasts.get(one, last)
            lasts[one] = None if last is None or known is None else max(last, known)
    found: dict[Fact, list[GivenFact]] = {}
    for (fact, begun), last in lasts.items():
        found.setdefault(fact, []).append(GivenFact(fact, begun, last))
    return FactExplainer(theory_of(with_facts_as_rules(program)), found, now)


def told(program: WindowedProgram, now: int, fact: Fact) -> Found:
    """The justifications that are found."""
    found = explainer(program, now).justifications(fact)
    assert not found.is_cut
    return read(found)


def read(found: Justifications) -> Found:
    """Justifications as the reference has them."""
    return {
        (_instant(found.span(each)[0]), frozenset(_instance(one) for one in found.of(each)))
        for each in found.found
    }


def defined(program: WindowedProgram, now: int, fact: Fact) -> Found:
    """The justifications of the definitions."""
    return {
        (one.instant, found)
        for one in program.entailment(now)
        if one.fact == fact
        for found in justifications(program.rules, program.state(now), one)
    }


def _instance(one: GivenFact) -> Instance:
    return Instance(one.fact, _instant(one.since))


def _instant(since: int) -> int:
    return 0 if since == BEGINNING else since


def small(program: WindowedProgram) -> list[tuple[int, Fact]]:
    """The instants with few instances, and the facts that are entailed there."""
    instants = range(1, 2 + max(each.instant for each in program.stream))
    return [
        (now, fact)
        for now in instants
        if len(program.state(now)) <= 6
        for fact in sorted({each.fact for each in program.entailment(now)}, key=repr)
    ]


FILTERING = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.slow
@settings(FILTERING, max_examples=30)
@given(programs())
def test_every_justification_of_the_definitions_is_found_and_no_other(
    program: WindowedProgram,
) -> None:
    asked = small(program)
    assume(asked)
    for now, fact in asked:
        assert told(program, now, fact) == defined(program, now, fact), (now, fact)


@pytest.mark.slow
@settings(FILTERING, max_examples=20)
@given(programs())
def test_where_not_all_are_looked_for_those_that_are_found_are_minimal(
    program: WindowedProgram,
) -> None:
    asked = small(program)
    assume(asked)
    for now, fact in asked:
        about = explainer(program, now)
        found = read(about.justifications(fact, most=1))
        assert found
        assert found <= defined(program, now, fact), (now, fact)


def windowed(rules: str, stream: Iterable[tuple[int, str]], range_: int) -> WindowedProgram:
    """A program over atoms without arguments."""
    parsed = parse(f"Document(Group({rules}))").rules
    appearances = tuple(Appearance((f"_{name}/0", ()), t) for t, name in stream)
    return WindowedProgram(parsed, frozenset(), appearances, range_)


def sets(found: Found) -> set[tuple[int, str]]:
    """Justifications in short: `a1 b2`."""
    return {
        (since, " ".join(sorted(f"{fact[0][1]}{instant}" for fact, instant in one)))
        for since, one in found
    }


def test_the_example_of_the_definition_has_its_three_justifications() -> None:
    program = windowed("_c() :- And(_a() _b())", [(1, "a"), (1, "b"), (2, "a"), (2, "b")], 5)
    found = told(program, 2, ("_c/0", ()))
    assert sets(found) == {(1, "a1 b1"), (2, "a1 b2"), (2, "a2 b1"), (2, "a2 b2")}
    assert found == defined(program, 2, ("_c/0", ()))


def test_more_facts_justify_a_later_instance_and_not_the_same() -> None:
    rules = "_c() :- _a() _c() :- And(_a() _b())"
    later = windowed(rules, [(1, "a"), (2, "b")], 5)
    assert sets(told(later, 2, ("_c/0", ()))) == {(1, "a1"), (2, "a1 b2")}
    same = windowed(rules, [(2, "a"), (2, "b")], 5)
    assert sets(told(same, 2, ("_c/0", ()))) == {(2, "a2")}


def test_what_is_found_too_large_where_not_all_are_looked_for_is_made_minimal() -> None:
    rules = "_x() :- _a() _x() :- _s() _g() :- And(_x() _s())"
    program = windowed(rules, [(1, "s")], 5)
    longer = Appearance(("_a/0", ()), 1, 3)
    program = replace(program, stream=(longer, *program.stream))
    found = explainer(program, 1).justifications(("_g/0", ()), most=1)
    assert found.is_cut
    assert sets(read(found)) == {(1, "s1")}


# -- as trees ----------------------------------------------------------------------------------

ALARM = """
Document(
  Prefix(e <http://e/>)
  Import(<more.rifps>)
  Import(<known.ttl> <http://www.w3.org/ns/entailment/OWL-RDF-Based>)
  5 s
  Group(
    e:limit(7)
    (* e:alarm[] *)
    Forall ?s ?v ?l (e:alarm(?s External(func:numeric-add(?v 1))) :- And(
      ?s # e:Sensor
      Or(And(?s[e:v -> ?v] e:limit(?l) External(pred:numeric-greater-than(?v ?l)))
         And(?s[e:bad -> ?v] Exists ?x (?x[e:watches -> ?s])))))
  )
)
"""
MORE = """
Document(Prefix(e <http://e/>) Group(
  (* e:worse[] *) Forall ?s ?v (?s[e:bad -> ?v] :- ?s[e:worse -> ?v])))
"""
KNOWN = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix e: <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
e:Loop rdfs:subClassOf e:Sensor . e:watchedBy owl:inverseOf e:watches .
e:Loop owl:disjointWith e:Person .
"""
STREAM = [
    (1, "e:a a e:Loop ; e:v 9.5 ."),
    (2, "e:b a e:Sensor ; e:v 3 ; e:watchedBy e:c ."),
    (3, "e:b e:worse 4 ."),
    (8, "e:c e:v 1 ."),
    (20, "e:p a e:Loop, e:Person ."),
]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.write("alarm.rifps", ALARM)
    found.write("more.rifps", MORE)
    found.write("known.ttl", KNOWN)
    lines = [{"t": t, "graph": f"@prefix e: <http://e/> . {graph}"} for t, graph in STREAM]
    found.write("s.jsonl", lines)
    return found


def asked(folder: Folder, at: int, atom: str) -> Explanation:
    """Why an atom holds at a time, or why it does not."""
    run = Recorded(folder.path / "alarm.rifps", [folder.path / "s.jsonl"], limits=None)
    return run.explainer(at).explainer.explain(atom)


def said(folder: Folder, at: int, atom: str) -> str:
    """What is said, without the folder's name."""
    return str(asked(folder, at, atom)).replace(f"{folder.path}/", "")


def test_a_tree_has_the_rules_of_document_import_and_regime_down_to_items_and_files(
    folder: Folder,
) -> None:
    body = (
        "e:alarm(?s External(func:numeric-add(?v 1))) :- And(?s # e:Sensor Or(And(?s[e:v -> ?v] "
        "e:limit(?l) External(pred:numeric-greater-than(?v ?l))) And(?s[e:bad -> ?v] "
        "Exists ?x (?x[e:watches -> ?s]))))"
    )
    text = said(folder, 1, 'e_alarm("e_a","10.5")')
    assert text.startswith(
        f'e_alarm("e_a","10.5") at 1  holds from 1 until 5, by rule alarm: {body}'
    )
    assert 'rdf_type("e_a","e_Sensor")  by rule cax-sco: ' in text
    assert 'rdfs_subClassOf("e_Loop","e_Sensor")  knowledge known.ttl: <http://e/Loop>' in text
    assert 'rdf_type("e_a","e_Loop")  stream at 1 until 5 (s.jsonl:1)' in text
    assert "e_limit(7)  fact, line 8" in text
    assert "External(pred:numeric-greater-than(9.5 7))" in text
    text = said(folder, 3, 'e_alarm("e_b",5)')
    assert text.startswith('e_alarm("e_b",5) at 3  holds from 3 until 6, by rule alarm')
    assert 'e_bad("e_b",4)  by rule worse of more.rifps: ?s[e:bad -> ?v]' in text
    assert 'e_watches("e_c","e_b")  by rule prp-inv1: ' in text


def test_an_atom_can_be_asked_for_as_a_triple(folder: Folder) -> None:
    triple = "<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/Sensor>"
    assert asked(folder, 1, triple) == asked(folder, 1, 'rdf_type("e_a","e_Sensor")')
    assert asked(folder, 1, f"{triple} .").holds
    with pytest.raises(ItemError, match="is no statement"):
        asked(folder, 1, "<http://e/a> type")


def test_what_has_left_the_window_is_told_with_when_and_why_it_held(folder: Folder) -> None:
    found = asked(folder, 8, 'e_alarm("e_a","10.5")')
    assert found.question == "why not"
    past = found.tree.children[0]
    assert (past.kind, past.valid) == ("past", (None, 5))
    assert past.text == 'e_alarm("e_a","10.5")  was entailed until 5'
    assert past.children[0].text.startswith('e_alarm("e_a","10.5")  holds from 1 until 5, by rule')
    item = next(node for node in found.tree.walk() if node.kind == "outside")
    assert item.value == "too old"
    assert "stream at 1 until 5" in item.text
    assert item.text.endswith("is before the window [4, 8]")


def test_what_is_not_entailed_has_for_each_rule_the_first_condition_that_fails(
    folder: Folder,
) -> None:
    text = said(folder, 2, 'e_alarm("e_b",4)')
    assert text.startswith('e_alarm("e_b",4) at 2  is not in the answer\n├─ rule alarm: ')
    assert "fails: External(pred:numeric-greater-than(3 7)) is not so" in text
    assert "fails: there is no e:b[e:bad -> ?v]" in text
    assert 'rdf_type("e_c","e_Sensor")  is not in the answer' in said(folder, 2, 'e_alarm("e_c",2)')
    text = said(folder, 2, 'e_v("e_c",1)')
    assert 'e_v("e_c",1)  stream at 8 until 12 (s.jsonl:4) is after the window [-2, 2]' in text
    assert "no rule derives its predicate" in said(folder, 2, 'e_bat("e_b")')
    assert "e_limit(7)  is there: it differs" in said(folder, 2, 'e_limit("7")')
    assert "nearest to it: e_limit(7)" in said(folder, 2, "e_limit(17)")


def test_an_instant_that_contradicts_itself_is_explained_by_what_does(folder: Folder) -> None:
    found = asked(folder, 20, "e_limit(7)")
    assert found.question == "conflict"
    (contradiction,) = found.tree.children
    assert contradiction.text.startswith("something is in two disjoint classes (rule cax-dw)")
    assert [node.kind for node in contradiction.children] == ["knowledge", "stream", "stream"]


def test_of_many_justifications_those_that_count_longest_are_told(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("p.rifps", "Document(20 s Group(Forall ?x ?y (_q() :- And(_p(?x) _p(?y)))))")
    folder.write("s.jsonl", [{"t": t, "atom": f"p({t})"} for t in range(1, 13)])
    run = Recorded(tmp_path / "p.rifps", [tmp_path / "s.jsonl"], limits=None)
    tree = run.explainer(12).explainer.explain("q").tree
    assert (tree.kind, tree.count, tree.valid) == ("justified", 12, (1, 31))
    told = [node.valid for node in tree.children if node.kind == "derived"]
    assert told == [(t, t + 19) for t in range(12, 2, -1)]
    assert tree.children[-1].text == "… there are 2 more, which count no longer"


def test_what_is_alike_has_an_order_that_hash_seeds_do_not_change(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    rules = "Forall ?x (_q() :- And(_p(?x) _r(?x))) Forall ?x (_r(?x) :- _p(?x))"
    folder.write("p.rifps", f"Document(20 s Group({rules}))")
    folder.write("s.jsonl", [{"t": t, "atom": f"p({n})"} for t in (1, 30) for n in range(6)])
    for at in ("1", "21"):
        asked = ("explain", "p.rifps", "--stream", "s.jsonl", "--at", at, "--atom", "q")
        told = [folder.run(*asked, "--format", "json", seed=seed) for seed in (1, 2)]
        assert told[0].stdout
        assert told[0] == told[1]


def test_the_json_has_the_names_that_are_documented(folder: Folder) -> None:
    text = (REPOSITORY / "docs" / "explain.md").read_text(encoding="utf-8")
    done = folder.run(
        "explain", "alarm.rifps", "--stream", "s.jsonl", "--at", "8", "--format", "json",
        "--atom", 'e_alarm("e_a","10.5")',
    )  # fmt: skip
    assert done.stderr == 'citywise: `e_alarm("e_a","10.5")` is not in the answer\n'
    found = json.loads(done.stdout)
    past = found["tree"]["children"][0]
    assert (past["kind"], past["until"]) == ("past", 5)
    assert {kind for kind in ("past", "justified") if f"`{kind}`" not in text} == set()
    leaf = past["children"][0]["origins"][0]
    assert leaf["from"] in ("stream", "knowledge")


@pytest.mark.parametrize("arguments", [("20",), ("40", "--not")], ids=["why", "why not"])
def test_the_explanations_in_the_guide_are_what_is_printed(arguments: tuple[str, ...]) -> None:
    folder = Folder(REPOSITORY / "examples" / "rif")
    atom = 'st_reaches("st_north","st_harbour")'
    done = folder.run(
        "explain", "routes.rifps", "--stream", "routes.jsonl", "--atom", atom, "--at", *arguments
    )
    guide = (REPOSITORY / "docs" / "explain.md").read_text(encoding="utf-8")
    assert done.stdout
    assert done.stdout in guide

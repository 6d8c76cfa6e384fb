"""Explanations: why an atom is in an answer, why not, and what cannot hold together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import clingo
import pytest

from citywise.reasoning.errors import ItemError, SolvingError
from citywise.reasoning.explain import (
    Explainer,
    Explanation,
    FedBack,
    ItemOrigin,
    KnowledgeOrigin,
    Origin,
    Outside,
    conflict,
    conflicts,
    explain,
)
from citywise.reasoning.explain.instances import record
from citywise.reasoning.explain.rules import read
from citywise.reasoning.explain.tree import NodeKind, render
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.request import Request
from citywise.reasoning.rdf.mapping import Iri, Literal, Triple
from citywise.reasoning.streams.items import Item

BOOKING = "http://travel.org/booking"
HOTELS = f"""#prefix tl : <http://travel.org/>.
#prefix ht : <http://hotel.org/>.
#from stream <{BOOKING}> [time 1h step 30m].

(booked) bookedHotel(Hotel) :- tl_booked(User,Hotel,Time).
noH(N) :- N = #count{{Hotel : bookedHotel(Hotel)}}.
cheap(H) :- bookedHotel(H), ht_cost(H,C), C < 100, not noisy(H).
noisy(H) :- ht_located(H,S), main(S).
"""


def booked(user: str, hotel: str, time: int, line: int) -> ItemOrigin:
    atom = f'tl_booked("tl_{user}","tl_{hotel}",{time})'
    return ItemOrigin(Item(time, atom, line, stream=BOOKING), f"bookings.jsonl:{line}")


def facts_of(*origins: ItemOrigin) -> dict[str, tuple[Origin, ...]]:
    return {str(origin.item.content): (origin,) for origin in origins}


def hotels() -> dict[str, tuple[Origin, ...]]:
    cost = Triple(Iri("http://hotel.org/hotelA"), Iri("http://hotel.org/cost"), Literal("80"))
    known: dict[str, tuple[Origin, ...]] = {
        'ht_cost("tl_hotelA",80)': (KnowledgeOrigin("hotels.ttl", cost),),
        'ht_cost("tl_hotelB",150)': (KnowledgeOrigin("hotels.ttl"),),
        'ht_located("tl_hotelC","s1")': (KnowledgeOrigin("hotels.lp", "line 3"),),
        'ht_cost("tl_hotelC",60)': (),
        'main("s1")': (FedBack(1800),),
    }
    bookings = [("user1", "hotelA", 1200, 1), ("user2", "hotelB", 1300, 2),
                ("user1", "hotelC", 1400, 3)]  # fmt: skip
    return known | facts_of(*(booked(*b) for b in bookings))


def ask(
    text: str, atom: str, facts: Mapping[str, tuple[Origin, ...]] | None = None, **more: object
) -> Explanation:
    return explain(parse(text), facts or {}, atom, source=text, **more)  # type: ignore[arg-type]


def test_an_atom_is_traced_to_the_items_with_their_time_stream_and_line() -> None:
    text = HOTELS.split("cheap(H)")[0]
    items = facts_of(booked("user1", "hotelA", 1200, 1), booked("user2", "hotelB", 1300, 2))
    assert str(ask(text, "noH(2)", items, time=3600)) == (
        "noH(2) at 3600  by rule line 6: noH(N) :- N = #count{Hotel : bookedHotel(Hotel)}.\n"
        '└─ #count = 2: bookedHotel("tl_hotelA"), bookedHotel("tl_hotelB")\n'
        '   ├─ bookedHotel("tl_hotelA")  by rule booked: '
        "bookedHotel(Hotel) :- tl_booked(User,Hotel,Time).\n"
        '   │  └─ tl_booked("tl_user1","tl_hotelA",1200)  '
        "stream <http://travel.org/booking> at 1200 (bookings.jsonl:1)\n"
        '   └─ bookedHotel("tl_hotelB")  by rule booked\n'
        '      └─ tl_booked("tl_user2","tl_hotelB",1300)  '
        "stream <http://travel.org/booking> at 1300 (bookings.jsonl:2)\n"
    )


def test_knowledge_previous_answers_comparisons_and_absences_are_leaves() -> None:
    said = str(ask(HOTELS, 'cheap("tl_hotelA")', hotels()))
    assert (
        'ht_cost("tl_hotelA",80)  knowledge hotels.ttl: '
        '<http://hotel.org/hotelA> <http://hotel.org/cost> "80" .\n' in said
    )
    assert "├─ 80 < 100\n" in said
    assert '└─ not noisy("tl_hotelA")  not in the answer\n' in said
    noisy = str(ask(HOTELS, 'noisy("tl_hotelC")', hotels()))
    assert 'ht_located("tl_hotelC","s1")  knowledge hotels.lp: line 3\n' in noisy
    assert 'main("s1")  from the previous answer, at 1800\n' in noisy


WHY = {
    "a choice names what it chose among": (
        "1 { pick(X) : p(X), not q(X) } 1. p(1..3). q(4) :- p(4). :- not pick(2).", "pick(2)",
        ["pick(2)  chosen by rule line 1", "among pick(1), pick(2), pick(3)",
         "└─ not q(2)  not in the answer"],
    ),
    "a disjunction names its alternatives": (
        "a | b :- c. c. :- b.", "a", ["a  one of the alternatives of", "among a, b"],
    ),
    "a shared part is taken apart once": (
        "a :- b, c. b :- d. c :- d. d :- e. e.", "a", ["d  by rule", "└─ d  (see above)"],
    ),
    "a choice takes the shortest derivation": (
        "a :- b. b :- c. a :- c. c.", "a", ["a  by rule line 1: a :- c."],
    ),
    "a recursive rule is explained without circles": (
        "r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z). e(1,2). e(2,1).", "r(1,1)",
        ["├─ r(1,2)  by rule line 1: r(X,Y) :- e(X,Y).", "e(2,1)  fact, line 1"],
    ),
    "pools and intervals give the instance that was used": (
        "p(1;2). p(5..6). q(X+1) :- p(X;X,1), p(4..5).", "q(7)", ["p(6)  fact", "p(5)  fact"],
    ),
    "a recursive aggregate names what came before": (
        "w(X) :- #count { Y : w(Y), s(X,Y); Y : b(Y) } >= 1, c(X). b(0). c(1..2). s(1,2). s(2,1).",
        "w(1)", ["#count = 2: ", "(1 <= #count)", "1 of them rest on this in turn", "b(0)  fact"],
    ),
    "a sum tells its value and what counted": (
        "t(S) :- S = #sum { V,X : p(X,V) }. p(a,3). p(b,3).", "t(6)",
        ["#sum = 6: p(a,3), p(b,3)"],
    ),
    "equal tuples count once": (
        "n(N) :- N = #count { U : b(U,_) }. b(u,1). b(u,2).", "n(1)", ["#count = 1: b(u,1)\n"],
    ),
    "a negated aggregate is not followed": (
        "a :- not #count { X : p(X) } > 3. p(1).", "a", ["└─ #count = 1: p(1)  (not 3 < #count)\n"],
    ),
    "a conditional literal tells its cases": (
        "a :- p(X) : q(X). p(1..2). q(1..2).", "a",
        ["p(X): q(X)  holds for q(1) and p(1), q(2) and p(2)"],
    ),
    "classical negation is an atom like others": ("-a :- not b.", "-a", ["-a  by rule line 1"]),
    "double negation is a leaf": ("{ a }. b :- not not a. :- not b.", "b", ["not not a  it is in"]),
    "blanks in a string are kept": (
        'p(X) :- q(X,"a  b",  Y).  q("c  d","a  b",1).', 'p("c  d")',
        ['p("c  d")  by rule line 1: p(X) :- q(X,"a  b", Y).'],
    ),
    "blanks after a quote in a string are kept": (
        r'p(X) :- q(X,"a\"  b",  Y).  q(1,"a\"  b",1).', "p(1)",
        [r'p(1)  by rule line 1: p(X) :- q(X,"a\"  b", Y).'],
    ),
    "constants have their values": ("#const n = 3. a(n) :- 2 < n.", "a(3)", ["└─ 2 < 3\n"]),
    "variables of a head and of an aggregate are kept apart": (
        "{ r(Z) : e(X,Z) } :- d(X), #sum { Z : e(X,Z) } >= 3. d(1). e(1,1..2). :- not r(2).",
        "r(2)", ["#sum = 3: e(1,1), e(1,2)  (3 <= #sum)", "└─ e(1,2)  fact"],
    ),
    "a term that is shown is explained by the statement": (
        "#show t(X) : p(X). p(1).", "t(1)", ["t(1)  shown by rule line 1", "p(1)  fact"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WHY))
def test_why(name: str) -> None:
    text, atom, expected = WHY[name]
    explanation = ask(text, atom)
    said = str(explanation)
    assert explanation.holds
    assert [line for line in expected if line not in said] == [], said


WHY_NOT = {
    "the first literal that fails is named with the values tried": (
        "j(S) :- v(S,V), V < 20, on(S). v(a,35). v(a,40). on(a).", "j(a)",
        ["on(a); v(a,V)  holds 2 times", "V < 20  fails: 35 < 20 is false; 40 < 20 is false"],
    ),
    "a missing positive atom is followed": (
        "a :- b. b :- c.", "a",
        ["b  fails: there is no b", "c  fails: there is no c", "no rule derives `c/0`"],
    ),
    "a negative literal that fails is explained by what holds": (
        "a :- not b(_). b(X) :- c(X). c(1).", "a",
        ["not b(_)  fails: b(_) is in the answer", "b(1)  by rule line 1"],
    ),
    "an aggregate tells its value instead": (
        "a(N) :- N = #count { X : p(X) }. p(1..3).", "a(2)",
        ["fails: #count = 3: p(1), p(2), p(3), not 2 = #count"],
    ),
    "a conditional literal names the cases that fail": (
        "a :- p(X) : q(X). p(1). q(1..3).", "a", ["it does not hold for p(2), p(3)"],
    ),
    "what a head computes is compared": (
        "a(X+Y) :- p(X,Y). p(1,2).", "a(4)", ["(X+Y) = 4  fails: (1+2) = 4 is false"],
    ),
    "a rule whose head never is the atom is named": (
        "a(1) :- p. a(2) :- q. p. q.", "a(3)", ["derives a(1), which is never a(3)"],
    ),
    "a predicate that does not exist has a proposal": (
        "bookedHotel(1).", "bokedHotel(1)", ["did you mean `bookedHotel/1`?"],
    ),
    "quotes and numbers that differ are noticed": (
        'a(X) :- b(X,"5"). b(x,5).', "a(x)", ["b(x,5)  is there: it differs in how"],
    ),
    "a choice not taken names what was": (
        "1 { p(1..2) } 1. :- p(1).", "p(1)",
        ["the choice did not take it; it took p(2)", "no answer set has p(1)", "forbids p(1)"],
    ),
    "another answer set may have it": (
        "{ p }. :- q, p. q :- not r. r :- not q. :~ p. [1]", "p",
        ["an answer set with p costs [1], this one [0]"],
    ),
    "another alternative of a disjunction holds": (
        "a | b. :- not b.", "a", ["another alternative of the disjunction holds; it took b"],
    ),
    "variables of a head and of an aggregate are kept apart": (
        "{ r(Z) : e(X,Z) } :- d(X), #sum { Z : e(X,Z) } >= 4. d(1). e(1,1..2).", "r(2)",
        ["fails: #sum = 3: e(1,1), e(1,2), not 4 <= #sum"],
    ),
    "an alternative that is never needed stands in no ground rule": (
        "h. p | h :- e. e.", "p", ["another alternative of the disjunction holds; it took h"],
    ),
    "an optimal answer set elsewhere is named": (
        "1 { p(1..2) } 1. #minimize { 1,X : p(X) }.", "p(2)",
        ["another optimal answer set has p(2)"],
    ),
    "the facts of a program are told as one": (
        "a :- e(1,9). e(1,1). e(1,2). e(1,3). e(1,4).", "a",
        ["none of the program's 4 facts of `e/2` is e(1,9)"],
    ),
    "a negated aggregate that fails tells what it comes to": (
        "a :- not #count { X : p(X) } > 3. p(1..5).", "a", ["p(4), p(5), so 3 < #count\n"],
    ),
    "a doubly negated aggregate that fails tells what it does not come to": (
        "a :- not not #count { X : p(X) } > 3. p(1).", "a", ["#count = 1: p(1), not 3 < #count\n"],
    ),
    "what was not fed back was not in the answer before": (
        "#feedback p/1. #show p/1. p(X) :- q(X). r :- prev_p(1).", "r",
        ["prev_p(1)  is not in the answer\n", "the answer before, if there is one, has no p(1)"],
    ),
    "a word that decimals use for no number is a word": (
        "a :- b(snan). b(1).", "a", ["derives b(1), which is never b(snan)"],
    ),
    "what weak constraints mention has no rule or fact": (
        "a :- b. :~ zz(1). [1]", "zz(1)", ["no rule derives `zz/1`, and no fact of it"],
    ),
    "literals that share nothing are not multiplied": (
        "a :- c(X), d(Y), X + Y > 9999. c(1..2000). d(1..2000).", "a",
        ["would meet 2000 assignments, too many to try"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WHY_NOT))
def test_why_not(name: str) -> None:
    text, atom, expected = WHY_NOT[name]
    explanation = ask(text, atom)
    said = str(explanation)
    assert explanation.question == "why not"
    assert not explanation.holds
    assert [line for line in expected if line not in said] == [], said


@pytest.mark.parametrize(
    ("reason", "window", "said"),
    [
        ("too old", (600, 4200), "is before the window [600, 4200]"),
        ("not yet", (600, 4200), "is after the window [600, 4200]"),
        ("too late", None, "came too late"),
        ("pushed out", None, "has been pushed out of the count window"),
        ("not yet", None, "(bookings.jsonl:9) had not arrived yet"),
        ("waiting", None, "its window was not evaluated since it came"),
        ("before the start", None, "is before the start of the run"),
    ],
)
def test_an_item_outside_the_window_is_found_behind_the_rule_that_misses_it(
    reason: str, window: tuple[int, int] | None, said: str
) -> None:
    item = booked("user9", "hotelD", 60, 9)
    outside = {str(item.item.content): (Outside(item, reason, window),)}  # type: ignore[arg-type]
    found = ask(HOTELS, 'cheap("tl_hotelD")', hotels(), outside=outside)
    [node] = [node for node in found.tree.walk() if node.kind == "outside"]
    assert said in node.text
    assert "(bookings.jsonl:9)" in node.text
    assert node.value == reason


def test_times_are_told_as_the_recording_writes_them() -> None:
    origin = ItemOrigin(Item(60, "p(1)", until=120), "a.jsonl:1", ("10:01", "10:02"))
    explanation = ask("q(X) :- p(X).", "q(1)", {"p(1)": (origin,)}, time="10:05")
    assert str(explanation).startswith("q(1) at 10:05  by")
    assert "stream at 10:01 until 10:02 (a.jsonl:1)" in str(explanation)
    told = explanation.to_json()
    assert told["t"] == "10:05"
    assert told["tree"]["children"][0]["origins"][0] == {
        "from": "stream", "t": "10:01", "until": "10:02", "stream": "", "source": "a.jsonl:1",
    }  # fmt: skip


def test_blanks_in_an_atom_do_not_mislead_the_time() -> None:
    said = str(ask('r(X) :- s(X). s("a  b").', 'r("a  b")', time=20))
    assert said.startswith('r("a  b") at 20  by rule line 1')


def test_the_answer_set_asked_about_is_the_one_explained() -> None:
    text = "1 { p(1..3) } 1. hidden(X) :- p(X). q :- hidden(2). #show p/1."
    for number in (1, 2, 3):
        answer = AnswerSet((f"p({number})",))
        explainer = Explainer(parse(text), {}, answer=answer)
        assert explainer.explain(f"hidden({number})").holds
        assert explainer.explain("q").holds == (number == 2)


def test_long_lists_are_cut_and_say_how_long_they_are() -> None:
    text = "n(N) :- N = #count { X : p(X) }. p(X) :- e(X). e(1..500)."
    explanation = ask(text, "n(500)")
    [counted] = [node for node in explanation.tree.walk() if node.kind == "aggregate"]
    assert counted.count == 500
    assert len(counted.children) == 11
    assert "(500 in all)" in counted.text
    assert counted.children[-1].text == "… and 490 more"


def test_deep_trees_are_cut() -> None:
    explanation = ask("p(X+1) :- p(X), X < 300. p(0).", "p(300)")
    assert [node.kind for node in explanation.tree.walk()].count("cut") == 1
    assert render(explanation, 2).count("\n") == 6


def test_the_json_has_the_names_that_are_documented() -> None:
    found = ask(HOTELS, 'cheap("tl_hotelA")', hotels(), time=3600).to_json()
    assert json.loads(json.dumps(found)) == found
    assert {key: found[key] for key in found if key != "tree"} == {
        "question": "why", "atom": 'cheap("tl_hotelA")', "t": 3600, "holds": True, "cost": [],
    }  # fmt: skip
    tree = found["tree"]
    assert tree["kind"] == "derived"
    assert tree["rule"]["line"] == 7
    assert [child["kind"] for child in tree["children"]] == [
        "derived", "knowledge", "comparison", "absent",
    ]  # fmt: skip
    assert tree["children"][0]["children"][0]["origins"] == [
        {"from": "stream", "t": 1200, "stream": BOOKING, "source": "bookings.jsonl:1"}
    ]


def test_every_kind_of_node_is_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
    assert [kind for kind in get_args(NodeKind) if f"`{kind}`" not in documented] == []


def test_what_cannot_be_taken_apart_is_said_and_what_rests_on_it_is_explained() -> None:
    theory = "#theory t { x { - : 0, unary }; &a/0 : x, any }. q :- &a{}. r :- q. :- not q."
    said = str(explain(Request("made", theory), {}, "r"))
    assert said == (
        "r  by rule line 1: r :- q.\n└─ q  derived by a rule that could not be taken apart\n"
    )


@pytest.mark.parametrize("atom", ["p(X)", "p(1", "", "p(99999999999)", "p(\0)", 'p("\ud800")'])
def test_a_question_that_is_no_ground_atom_is_refused(atom: str) -> None:
    with pytest.raises(ItemError):
        ask("p(1).", atom)


def test_a_request_that_cannot_be_evaluated_is_refused_in_the_solvers_words() -> None:
    with pytest.raises(SolvingError, match="unsafe"):
        explain(Request("made", "a(X) :- not b(X)."), {}, "p")


# -- conflicts ------------------------------------------------------------------------------

GARAGES = "1 { pick(G) : garage(G) } 1. :- pick(G), full(G)."
NEAR = ":- pick(G), walk(G,W), W > 100."
CHEAP = ":- pick(G), cost(G,C), C > 20."


def garages(number: int = 40) -> list[str]:
    found = [f"garage({g})" for g in range(number)] + [f"cost({g},{3 * g})" for g in range(number)]
    return found + [f"walk({g},{20 * (number - g)})" for g in range(number)]


def test_wishes_that_cannot_hold_together_are_named_and_no_others() -> None:
    wishes = {"near": NEAR, "cheap": CHEAP, "even": ":- pick(G), G \\ 2 = 1."}
    found = conflict(GARAGES, garages(), wishes)
    assert found is not None
    assert found.wishes == ("near", "cheap")
    assert [violated.rule.text for violated in found.constraints] == [
        "1 { pick(G) : garage(G) } 1."
    ]
    assert conflict(GARAGES, garages(), {"even": wishes["even"], "near": NEAR}) is None


def test_a_conflict_with_constraints_tells_the_ground_instances_that_forbid() -> None:
    facts = [*garages(3), "full(0)", "full(2)"]
    found = conflict(GARAGES, facts, {"not the middle": ":- pick(1)."})
    assert found is not None
    assert [violated.instances for violated in found.constraints] == [
        ("1 <= { pick(G): garage(G) } <= 1",),
        ("pick(0); full(0)", "pick(2); full(2)"),
    ]


def test_all_minimal_conflicts_are_found() -> None:
    wishes = {"a": ":- not a.", "b": ":- not b.", "c": ":- not c."}
    found = conflicts("{ a; b; c }. :- a, b. :- b, c.", (), wishes)
    assert [conflict.wishes for conflict in found] == [("a", "b"), ("b", "c")]
    assert conflicts("{ a; b; c }. :- a, b.", (), {"a": wishes["a"]}) == ()


@pytest.mark.parametrize(
    ("text", "facts", "kind"),
    [
        ("-p(X) :- q(X). p(1).", ["q(1)"], "contradiction"),
        ("p(1).", ["-p(1)"], "contradiction"),
        ("not p(1) :- q. p(1). q.", [], "constraint"),
        ("X < 1 :- p(X). p(1).", [], "constraint"),
        ("#sum { X : s(X) : p(X) } >= 2. p(1).", [], "bound"),
        ("a :- not a.", [], "inconsistent"),
    ],
)
def test_whatever_takes_answers_away_can_be_in_a_conflict(
    text: str, facts: list[str], kind: str
) -> None:
    found = conflict(text, facts)
    assert found is not None
    said = (found.tree,) if found.tree.kind == "inconsistent" else found.tree.children
    assert [node.kind for node in said] == [kind]


def test_rules_that_contradict_themselves_are_named() -> None:
    found = conflict("a :- not b.\nb :- not c.\nc :- not a.\nd :- not e.\n:- d, e.")
    assert found is not None
    assert (found.wishes, found.constraints) == ((), ())
    assert [node.rule and node.rule.line for node in found.tree.children] == [1, 2, 3]
    several = conflict("a :- not a. b :- not b.")
    assert several is not None
    assert several.tree.children == ()


def test_what_is_forbidden_is_told_with_its_sign() -> None:
    found = conflict("p(1). -r(X) :- p(X). q. :- -r(X), q.")
    assert found is not None
    told = {instance for each in found.constraints for instance in each.instances}
    assert told == {"-r(1); q"}
    bound = conflict("{ -s(X) : p(X) } 1. p(1..2). :- not -s(1). :- not -s(2).")
    assert bound is not None
    told = {instance for each in bound.constraints for instance in each.instances}
    assert told == {"1 >= { -s(X): p(X) }", "not -s(1)", "not -s(2)"}


def test_a_request_without_answer_is_explained_by_its_conflict() -> None:
    explanation = ask("{ a }.\n(need) :- not a.\n(ban) :- a.", "a", time=7)
    assert explanation.question == "conflict"
    assert str(explanation) == (
        "there is no answer set at 7: these cannot hold together\n"
        "├─ rule need: :- not a.\n"
        "│  └─ forbids not a\n"
        "└─ rule ban: :- a.\n"
        "   └─ forbids a\n"
    )


CHAIN = "r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z). far(X) :- e(X,_), #count { Y : r(X,Y) } > 3."


def test_of_a_large_answer_only_what_an_atom_rests_on_is_looked_at() -> None:
    facts = [f"e({n},{n + 1})" for n in range(6)]
    explainer = Explainer(Request("test", CHAIN), dict.fromkeys(facts, ()))
    assert explainer.answer is not None
    rules, model = read(CHAIN), explainer.answer.atoms
    everything, some = record(rules, model), record(rules, model, clingo.parse_term("r(0,2)"))
    assert len(everything.instances) == 6 + 15 + 3
    assert sorted(str(each.head) for each in some.instances) == ["r(0,1)", "r(0,2)"]
    assert {*map(str, some.reached or ())} == {"r(0,2)", "r(0,1)", "e(0,1)", "e(1,2)"}


def test_the_reasons_are_the_same_whatever_was_asked_before() -> None:
    facts: dict[str, tuple[Origin, ...]] = {f"e({n},{n + 1})": () for n in range(6)}
    explainer = Explainer(Request("test", CHAIN), facts)
    atoms = [f"r({n},5)" for n in range(5)] + ["far(0)", "far(1)"]
    told = {atom: str(explainer.explain(atom)) for atom in atoms}
    for atom in atoms:
        assert str(explain(Request("test", CHAIN), facts, atom)) == told[atom]

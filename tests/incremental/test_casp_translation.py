"""A translated program answers over changing facts as clingo does."""

from __future__ import annotations

import pytest

from citywise.reasoning.asp.translation.program import UnsupportedError, translate
from citywise.reasoning.model.rules import Scan
from tests.incremental.translations import check, program, signatures, windows

CASES = {
    "join": ("p(X,Z) :- e(X,Y), e(Y,Z).", "e/2"),
    "negation": ("p(X) :- q(X), not r(X). s(X) :- q(X), not p(X).", "q/1 r/1"),
    "double negation": ("p(X) :- q(X), not not r(X).", "q/1 r/1"),
    "recursion": ("t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), e(Y,Z).", "e/2"),
    "negation of recursion": (
        "t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), e(Y,Z). n :- not t(1,2).",
        "e/2",
    ),
    "projected negation": (
        "p(X) :- q(X), not e(X,_). n :- not e(_,_). m :- not q(f(_)).",
        "q/1 e/2",
    ),
    "constraint": (":- q(1), not r(1). p(X) :- q(X).", "q/1 r/1"),
    "constraint head": ("#false :- q(2). #true :- q(3). p(X) :- q(X).", "q/1"),
    "comparison as head": ("X < 3 :- q(X). p(X) :- q(X).", "q/1"),
    "chain as head": ("1 <= X < 3 :- q(X), r(X). p(X) :- q(X).", "q/1 r/1"),
    "negated head": ("not r(X) :- q(X). p(X) :- q(X).", "q/1 r/1"),
    "twice negated head": ("not not r(X) :- q(X), X != a. p(X) :- q(X).", "q/1 r/1"),
    "classical negation": (
        "-p(X) :- q(X), not r(X). p(X) :- r(X), s(X). m(X) :- -p(X).",
        "q/1 r/1 s/1",
    ),
    "given negation": ("p(X) :- q(X), not -q(X).", "q/1 -q/1"),
    "classical contradiction": ("p(X) :- q(X). -p(X) :- r(X).", "q/1 r/1"),
    "arithmetic": (
        "p(X+1,X*Y,X-Y,-X) :- e(X,Y). d(X/Y,X\\Y) :- e(X,Y). w(X**Y,|X-Y|) :- e(X,Y).",
        "e/2",
    ),
    "bits": ("p(X&Y,X?Y,X^Y,~X) :- e(X,Y).", "e/2"),
    "undefined": (
        "p(X) :- q(X), not e(1/X,1). s(X) :- q(X), not 1/X = 1. t :- q(1/X), r(X).",
        "q/1 r/1 e/2",
    ),
    "linear": (
        "p(X) :- q(X+1). r(X) :- q(2*X+1). s(X) :- q(3-X). t(X) :- q(-X). u(X) :- q(-X*2).",
        "q/1",
    ),
    "linear join": ("p(X,Y) :- e(X,Y), e(X+1,Y-1). n(X) :- e(X,X+1).", "e/2"),
    "linear in functions": (
        "p(X) :- q(f(X)). r(X) :- q(f(X+1)). s(X,Y) :- f(X+1,Y) = f(2,Z), q(Z), Y = Z.",
        "q/1",
    ),
    "negated terms": ("p(-X) :- q(X). r(X) :- p(-X). s(X) :- q(-(-X)).", "q/1"),
    "not linear": ("p(X,Y) :- r(X), r(Y), q(X*Y).", "q/1 r/1"),
    "comparisons": ("p(X,Y) :- e(X,Y), X < Y. r(X) :- q(X), X >= 2, X != a.", "q/1 e/2"),
    "chained": ("p(X) :- q(X), 1 <= X < 3. r(X,Y) :- e(X,Y), X < 2 <= Y != 3.", "q/1 e/2"),
    "negated chain": ("p(X) :- q(X), not 1 <= X < 3. r(X) :- q(X), not not 0 < X < 3.", "q/1"),
    "assignment": ("p(Z) :- q(X), Z = X+1. r(Z) :- q(X), Z+1 = X. s(Y) :- q(X), X-1 = Y+1.", "q/1"),
    "assignment in tuples": ("p(X,Y) :- q(Z), (X,Y) = (Z,1). r(X) :- q(Y), f(X) = Y.", "q/1"),
    "negated inequality": ("p(X,Y) :- q(X), not Y != X.", "q/1"),
    "order of terms": (
        "p(X) :- q(X), X > 3. r(X) :- q(X), X < #sup, X >= f(0). s(X) :- q(X), X > #inf.",
        "q/1",
    ),
    "intervals": ("p(X) :- X = 1..2, q(X). r(1..X) :- q(X). s(X,Y) :- q(X), Y = X..2.", "q/1"),
    "intervals in literals": ("p :- q(1..2). r :- not q(1..2). s(X) :- q(X), X < 1..2.", "q/1"),
    "intervals compared": (
        "p(X) :- q(X), X != 1..2. s(X) :- q(X), not X = 1..2. r :- 1 < 1..3 < 3.",
        "q/1",
    ),
    "pools": ("p(X;X,1) :- q(X). r :- q(1;2). s(X) :- q(X), X = (1;a). t :- not q(0;3).", "q/1"),
    "tuples": ("p((X,Y),(X,)) :- e(X,Y). r(X) :- p((X,_),_). s :- p((1,1),()).", "e/2"),
    "strings": ('p("a b",X) :- q(X). r(X) :- p(Y,X), Y = "a b". s :- p("A\\"",_).', "q/1"),
    "constants": (
        "#const n = 2. #const m = f(n-1). p(n) :- q(n). r(X) :- q(X), X < n. s(m) :- q(m).",
        "q/1",
    ),
    "overriding constant": ("#const n = 2. #const n = 3. [override] p(n) :- q(n).", "q/1"),
    "repeated variable": ("p(X) :- e(X,X). r(X) :- e(X,f(X)).", "e/2"),
    "no variables": (
        "p :- q(1), not q(2). r :- p. #defined nothing/1. s :- not nothing(1).",
        "q/1",
    ),
    "truth": ("p(X) :- q(X), #true. r(X) :- q(X), #false. s(X) :- q(X), not #false.", "q/1"),
    "facts": ("q(1). q(7). e(1,(2,3)). p(X) :- q(X), not e(X,_).", "q/1 e/2"),
    "facts with intervals": ("n(1..3). n(2..5). p(X) :- n(X), not q(X).", "q/1"),
    "shown": ("p(X) :- q(X). r(X) :- p(X). #show r/1. #show -p/1. -p(3) :- q(1), not q(3).", "q/1"),
    "nothing shown": ("p(X) :- q(X). #show.", "q/1"),
    "counted": (
        "p(N) :- N = #count { X : q(X) }. r(X,N) :- r(X), N = #count { Y : e(X,Y) }.",
        "q/1 r/1 e/2",
    ),
    "summed": ("p(X,N) :- r(X), N = #sum { Y,Z : e(X,Y), q(Z) ; 5 : q(X) }.", "q/1 r/1 e/2"),
    "summed positively": (
        "p(N) :- N = #sum+ { Y-2,Y : q(Y) }. r :- #sum { Y-2 : q(Y) } >= 0.",
        "q/1",
    ),
    "least and greatest": ("p(N,M) :- N = #min { X : q(X) }, M = #max { X : q(X) }.", "q/1"),
    "guards": (
        "p :- 1 < #count { X : q(X) } < 4. r(X) :- q(X), X <= #count { Y : e(X,Y) }.",
        "q/1 e/2",
    ),
    "negated aggregate": (
        "p(X) :- q(X), not #count { Y : e(X,Y) } > 1. r :- not 1 < #count { X : q(X) } < 4.",
        "q/1 e/2",
    ),
    "twice negated aggregate": ("p(X) :- q(X), not not #count { Y : e(X,Y) } = X.", "q/1 e/2"),
    "guards that compute": (
        "p(X) :- q(X), #count { Y : e(X,Y) } = X+1. r(N) :- N-1 = #count { X : q(X) }.",
        "q/1 e/2",
    ),
    "guards that range": (
        "p :- #count { X : q(X) } = 2..3. s(X) :- q(X), #sum { Y : e(X,Y) } != 0..1.",
        "q/1 e/2",
    ),
    "no guards": ("p :- #count { X : q(X) }. r :- not #count { X : q(X) }.", "q/1"),
    "negation in aggregates": (
        "p(N) :- N = #count { X : q(X), not r(X) ; X,1 : q(X), not e(X,_) }.",
        "q/1 r/1 e/2",
    ),
    "ranges in aggregates": (
        "p(N) :- N = #sum { 1..X : q(X), X < 3 }. r(N) :- N = #count { Y : Y = 1..2, not q(Y) }.",
        "q/1",
    ),
    "aggregate after aggregate": (
        "p(M) :- N = #count { X : q(X) }, M = #sum { Y : e(N,Y) }.",
        "q/1 e/2",
    ),
    "aggregate in recursion": (
        "t(X) :- r(X). t(Y) :- t(X), e(X,Y), #count { Z : e(Y,Z), q(Z) } > 1.",
        "q/1 r/1 e/2",
    ),
    "empty tuples": ("p :- #sum { : q(1) } = 0. r :- #count { : q(X) } = 1.", "q/1"),
    "empty and other tuples": ("s(N) :- N = #min { : q(1) ; 1 : q(2) }.", "q/1"),
    "sets": (
        "p :- 1 { q(X) : r(X) } 2. s(N) :- N = { q(X) ; not r(X) : X = 1..3 ; q(1) }.",
        "q/1 r/1",
    ),
    "sets with signs": ("p(N) :- N = { q(1) ; not not q(1) ; not q(2) ; q(X) : r(X) }.", "q/1 r/1"),
    "groups in conditions": ("p(X,N) :- r(X), N = #count { Y : q(Y), Y < X }.", "q/1 r/1"),
    "sets with anonymous": (
        "p(N) :- N = { e(X,_) : q(X) }. s(N) :- N = { not e(X,_) : q(X) }.",
        "q/1 e/2",
    ),
    "negated sets": ("p(X) :- r(X), not 1 { e(X,Y) : q(Y) } 1.", "q/1 r/1 e/2"),
    "conditions": ("p :- q(X) : r(X). s(X) :- r(X), e(X,Y) : q(Y).", "q/1 r/1 e/2"),
    "negated conditions": (
        "p(X) :- r(X), not e(X,Y) : q(Y), Y != a. s :- not not q(X) : r(X).",
        "q/1 r/1 e/2",
    ),
    "compared conditions": (
        "p(X) :- r(X), X < Y : q(Y). s(X) :- r(X), #false : q(Y), Y > X. u :- #true : q(1).",
        "q/1 r/1",
    ),
    "chained conditions": ("p(X) :- r(X), 0 < X < Y : q(Y).", "q/1 r/1"),
    "computing conditions": (
        "p :- e(1/X,X) : q(X), X < 2. s :- q(X+1) : r(X). u :- q(1..2) : r(1).",
        "q/1 r/1 e/2",
    ),
    "conditions on given": (
        "p(X,Y) :- e(X,Y), q(Z) : Z = X..Y. s(X) :- r(X), q(Y) : e(Y,X), not e(X,Y).",
        "q/1 r/1 e/2",
    ),
    "anonymous conditions": ("p :- e(X,_) : q(X). s :- not e(_,X) : q(X).", "q/1 e/2"),
    "conditions that search": ("p :- e(Z,X) : q(X). s(X) :- r(X), Z = X : q(X).", "q/1 r/1 e/2"),
    "undefined beside a chain": ("p(X) :- q(X), not 1/X > 0 > X.", "q/1"),
    "undefined after a chain": ("s(X) :- q(X), not X < 1 < 1/X.", "q/1"),
    "range in a negated chain": ("p(X) :- q(X), not 2..X > 2 != 2.", "q/1"),
    "undefined beside an aggregate": (
        "p(X) :- q(X), not 1/X < #count { Y : r(Y) } < 3.",
        "q/1 r/1",
    ),
    "undefined for all": ("p(X) :- r(X). s(Y) :- q(Y), Y = 1+1, not r(Y/Y).", "q/1 r/1"),
    "compared sums of 64 bits": ("p :- #sum { 2147483647,X : q(X) } > 2147483646.", "q/1"),
    "assigned sums of 64 bits": ("s(N) :- N = #sum { 2147483647,X : q(X) }.", "q/1"),
    "groups by several literals": (
        "p(X,Z,N) :- e(X,Y), e(Y,Z), q(Y), N = #count { V : e(X,V), e(V,Z) }.",
        "q/1 e/2",
    ),
    "groups that are hidden": ("s(X) :- e(X,Y), 1 < #count { Z : e(Y,Z) }.", "e/2"),
    "groups of parts": ("t(X,N) :- e(X,_), N = #sum { Z : e(X,Z) }.", "e/2"),
    "groups used elsewhere": ("p(Y,N) :- e(X,Y), N = #count { Z : e(X,Z) }.", "e/2"),
    "groups read elsewhere": ("s(N) :- e(X,Y), q(Y), N = #max { Z : e(X,Z) }.", "q/1 e/2"),
    "same rule twice": ("p(X) :- q(X). p(X) :- q(X). p(X) :- r(X), r(X).", "q/1 r/1"),
    "derived and given": ("q(X) :- r(X). p(X) :- q(X), not r(X).", "q/1 r/1"),
    "mutual recursion": (
        "a(X) :- q(X). b(Y) :- a(X), e(X,Y). a(Y) :- b(X), e(X,Y), not r(Y).",
        "q/1 r/1 e/2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_answers_as_clingo_does(name: str) -> None:
    rules, inputs = CASES[name]
    check(rules, inputs, windows(inputs))


OUTSIDE = {
    "p ; q :- r.": "(r1) is a disjunction, or has a condition in its head",
    "p : q.": "(r1) is a disjunction, or has a condition in its head",
    "{ p }.": "(r1) is a choice",
    "1 #count { X : p(X) : q(X) } 2.": "(r1) is a choice",
    ":~ p(X). [X]": "(r1) is a preference among answers",
    "#minimize { X : p(X) }.": "is a preference among answers",
    "#show X : p(X).": "(r1) shows terms",
    "#external p : q.": "(r1) speaks of the whole program",
    "#edge (X,Y) : p(X,Y).": "(r1) speaks of the whole program",
    "#heuristic p. [1,true]": "(r1) speaks of the whole program",
    "#project p/1.": "(r1) speaks of the whole program",
    "p :- not p.": "(r1) derives `p/0` from its own absence or aggregate",
    "p(X) :- q(X), #count { Y : p(Y) } > 1.": "(r1) derives `p/1` from its own absence",
    "p(X) :- q(X), p(Y) : q(Y).": "(r1) derives `p/1` from its own absence or aggregate",
    "p :- not q. q :- p.": "(r1) derives `p/0` from an absence or aggregate of `q/0`, which",
    "p :- not not p.": "(r1) derives `p/0` from its own absence or aggregate",
    "p :- 1 < { X = 1 : q(X) }.": "(r1) counts `X = 1`, which is no atom",
    "p(Y) :- p(X), Y = X+1, X < 9, #count { Z : r(Z,Y) } = 0.": "(r1) aggregates for values",
    "#const n = 1/0. p(n).": "`#const n` has no value",
    "p :- #count { Y : q(Y), not 1 < Y < 3 } > 0.": "(r1) negates several comparisons at once",
    "p(X/0) :- q(X).": "(r1) computes what has no value: `(X/0)`",
    "p(X) :- q(X), X+a < 3.": "(r1) computes what has no value: `(X+a)`",
    "p(X) :- q(X), not r(f(_)+1).": "(r1) computes with `_`",
}


@pytest.mark.parametrize("rules", OUTSIDE)
def test_what_is_not_in_the_fragment_is_named_with_its_reason(rules: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        translate(program(rules), signatures("q/1"), {(1, 1): "r1"})
    assert OUTSIDE[rules] in str(caught.value)


def test_a_statement_whose_pools_stand_for_too_many_rules_is_left_to_the_solver() -> None:
    pool = ";".join(map(str, range(15)))
    with pytest.raises(UnsupportedError, match="more than 200 rules by its pools"):
        translate(program(f"p(({pool}),({pool}))."), frozenset())


def test_a_rule_whose_variables_get_no_value_is_named() -> None:
    with pytest.raises(UnsupportedError, match="line 1 leaves X without a value"):
        translate(program("p(X) :- q, not r(X)."), frozenset())


def test_what_only_gives_an_aggregate_its_groups_is_not_joined_with_its_values() -> None:
    """Else each change of a count would meet all that is counted again."""
    translated = translate(program("p(X,N) :- e(X,_), N = #count { Y : e(X,Y) }."), frozenset())
    (rule,) = (rule for rule in translated.program.rules if rule.head == "p/2")
    (read,) = rule.body
    assert isinstance(read, Scan)
    assert read.relation == translated.program.operators[0].result


def test_names_that_a_constant_defines_are_replaced_in_facts_too() -> None:
    translated = translate(program("#const n = 3. p(X) :- q(X,n). q(n,f(n))."), signatures("q/2"))
    assert translated.facts == {"q/2": ((3, ("f", 3)),)}
    assert translated.rows(["q(n,1)", "q(-n,f(n))", 'q("n",nn)']) == {
        "q/2": [(3, 1), (-3, ("f", 3)), ('"n"', "nn")]
    }


def test_plain_facts_keep_what_their_strings_hold() -> None:
    translated = translate(program('q("a.\u2028b.").\nq("(").'), frozenset())
    assert translated.facts == {"q/1": (('"a.\u2028b."',), ('"("',))}


def test_inputs_are_what_is_given_and_what_nothing_derives() -> None:
    translated = translate(program("p(X) :- q(X), not r(X). s(1)."), signatures("q/1 t/2"))
    assert translated.program.inputs == {"q/1", "r/1", "s/1", "t/2"}
    assert [str(signature) for signature in translated.shows] == ["p/1", "q/1", "s/1", "t/2"]
    assert translated.program.outputs == {"p/1", "q/1", "s/1", "t/2"}


def test_a_rule_without_label_is_called_by_its_line() -> None:
    with pytest.raises(UnsupportedError, match=r"^line 2 is a choice$"):
        translate(program("p.\n{ q }."), frozenset())

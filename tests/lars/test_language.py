"""Plain LARS: what its texts mean, what is wrong with them, and where."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.errors import ItemError, RequestError
from citywise.reasoning.languages.lars.parsing import parse, parse_file, read
from citywise.reasoning.languages.lars.program import (
    At,
    Atom,
    BodyElement,
    Box,
    Counted,
    Diamond,
    Formula,
    LarsRule,
    LastTuples,
    Now,
    Since,
    TimeSpan,
    unparse,
)
from citywise.reasoning.model.request import KnowledgeSource, Signature
from citywise.reasoning.model.rules import Compare
from citywise.reasoning.model.values import Compound, Computed, Constant, Variable
from citywise.reasoning.rdf.knowledge import background
from citywise.reasoning.rdf.mapping import Iri, Literal, Triple
from citywise.reasoning.streams.items import Encoder, Item
from citywise.reasoning.streams.recordings import Recording

X, Y, T = Variable("X"), Variable("Y"), Variable("T")
A = Atom("a", (X,))
ONE = Constant(1)


def rule(text: str) -> LarsRule:
    """The only rule of a text, wherever it stands in it."""
    (found,) = parse(text).rules
    return replace(found, line=0)


def body(element: str) -> BodyElement:
    """One element of a body, beside an atom that binds its variables."""
    found = rule(f"h :- d(X,Y,T,N), {element}.")
    (_binding, read) = found.body
    return read


FORMULAS: list[tuple[str, Formula]] = [
    ("a(X)", Now(A)),
    ("-a(X)", Now(Atom("-a", (X,)))),
    ("a", Now(Atom("a"))),
    ("<> a(X) [3]", Diamond(A, TimeSpan(3))),
    ("<>a(X)[0]", Diamond(A, TimeSpan(0))),
    ("[] a(X) [#5]", Box(A, LastTuples(5))),
    ("[ ] -a [ # 5 ]", Box(Atom("-a"), LastTuples(5))),
    ("@T a(X) [3 s]", At(T, A, TimeSpan(3))),
    ("@5 a(X) [2sec]", At(Constant(5), A, TimeSpan(2))),
    ("@ (T+1) a(X)", At(Computed("+", (T, ONE)), A, None)),
    ("@T-1 a(X)", At(Computed("-", (T, ONE)), A, None)),
    ("@T -a(X)", At(T, Atom("-a", (X,)), None)),
    ("@(-3) a(X)", At(Constant(-3), A, None)),
    ("<> a(X) [1..3]", Diamond(A, TimeSpan(3, 1))),
    ("[] a(X) [0..3]", Box(A, TimeSpan(3))),
    ("<> a(X) [ 1 .. w m ]", Diamond(A, TimeSpan(180, 60))),
    ("a(X) at least 3 [30 s..w min]", Counted(A, ">=", Constant(3), TimeSpan(180, 30))),
    ("@T a(X) [w..w]", At(T, A, TimeSpan(3, 3))),
    ("@n a(X) [w]", At(Constant(4), A, TimeSpan(3))),
    ("@at at(X) [1 d]", At(Constant(7), Atom("at", (X,)), TimeSpan(86_400))),
    ("a(X) at least 3 [20 m]", Counted(A, ">=", Constant(3), TimeSpan(1200))),
    ("a at  most w [1 min]", Counted(Atom("a"), "<=", Constant(3), TimeSpan(60))),
    ("a(X) count N+1 [#w]", Counted(A, "=", Computed("+", (Variable("N"), ONE)), LastTuples(3))),
    ("count(X) count 2 [w h]", Counted(Atom("count", (X,)), "=", Constant(2), TimeSpan(10_800))),
    ("a(X) always [3]", Box(A, TimeSpan(3))),
    ("a(X) since b(X,Y) [w]", Since(A, Atom("b", (X, Y)), TimeSpan(3))),
    ("a(X)since -b ( X , Y ) [1..3 m]", Since(A, Atom("-b", (X, Y)), TimeSpan(180, 60))),
    ("-a(X) since\n-b(X,Y)[3 s]", Since(Atom("-a", (X,)), Atom("-b", (X, Y)), TimeSpan(3))),
    ("since since since [3]", Since(Atom("since"), Atom("since"), TimeSpan(3))),
    ("since(X) at least 3 [20 m]", Counted(Atom("since", (X,)), ">=", Constant(3), TimeSpan(1200))),
    ("since", Now(Atom("since"))),
    ("X < since+Y", Compare("<", X, Computed("+", (Constant("since"), Y)))),
    ("always(X)", Now(Atom("always", (X,)))),
    ("X < Y+1", Compare("<", X, Computed("+", (Y, ONE)))),
    ("X <> Y", Compare("!=", X, Y)),
    ("X = (Y,f(1,w))", Compare("=", X, Compound("", (Y, Constant(("f", 1, 3)))))),
    ("|X-Y| <= 2**3", Compare("<=", Computed("|", (Computed("-", (X, Y)),)), Constant(8))),
    ('a("x at least 3 [4], <> b")', Now(Atom("a", (Constant('"x at least 3 [4], <> b"'),)))),
]  # fmt: skip
CONSTANTS = "#const w = 3. #const n = w+1. #const at = 7.\n"


@pytest.mark.parametrize(("text", "formula"), FORMULAS, ids=[text for text, _ in FORMULAS])
@pytest.mark.parametrize("negated", [False, True])
def test_an_element_means_its_formula(text: str, formula: Formula, negated: bool) -> None:
    prefix = "not " if negated else ""
    (_binding, found) = rule(f"{CONSTANTS}h :- d(X,Y,T,N), {prefix}{text}.").body
    assert found == BodyElement(formula, negated)


@pytest.mark.parametrize(
    ("text", "time", "head", "label"),
    [
        ("a(X) :- d(X,T).", None, A, ""),
        ("@T a(X) :- d(X,T).", T, A, ""),
        ("(r1) @(T+1) a(X) :- d(X,T).", Computed("+", (T, ONE)), A, "r1"),
        ("@5 -a(X) :- d(X,T).", Constant(5), Atom("-a", (X,)), ""),
        (":- d(X,T).", None, None, ""),
        ("( r2 ) :- d(X,T).", None, None, "r2"),
    ],
)
def test_a_head_holds_now_or_at_a_time_or_is_none(
    text: str, time: object, head: Atom | None, label: str
) -> None:
    found = rule(text)
    assert (found.time, found.head, found.label) == (time, head, label)


def test_facts_are_rules_without_bodies_with_their_constants_resolved() -> None:
    found = parse('#const w = 3.\np(1, w ,"w").\n  q. @2 r(-1). -s(f(w)).').rules
    assert [(r.head, r.time, r.body, r.line) for r in found] == [
        (Atom("p", (ONE, Constant(3), Constant('"w"'))), None, (), 2),
        (Atom("q"), None, (), 3),
        (Atom("r", (Constant(-1),)), Constant(2), (), 3),
        (Atom("-s", (Constant(("f", 3)),)), None, (), 3),
    ]


def test_a_body_may_be_empty() -> None:
    assert (rule("a :- .").body, rule(":- .").body, rule(":- .").head) == ((), (), None)


def test_a_constant_that_overrides_another_wins_wherever_it_stands() -> None:
    for first, second in (("[default]", "[override]"), ("[override]", "[default]")):
        text = f"#const n = 1. {first}\n#const n = 2. {second}\nb :- <> a [n]."
        assert rule(text).body[0].formula == Diamond(
            Atom("a"), TimeSpan(2 if second == "[override]" else 1)
        )


def test_a_chain_of_comparisons_is_one_of_each() -> None:
    (_binding, low, high) = rule("h :- a(X), 1 <= X < 5.").body
    assert low == BodyElement(Compare("<=", ONE, X))
    assert high == BodyElement(Compare("<", X, Constant(5)))


def test_each_underscore_is_a_variable_of_its_own() -> None:
    (first, second) = rule("h :- <> a(_,_) [1], @_ b [2].").body
    assert first.formula == Diamond(Atom("a", (Variable("_1"), Variable("_2"))), TimeSpan(1))
    assert second.formula == At(Variable("_3"), Atom("b"), TimeSpan(2))


def test_separators_comments_and_line_ends_are_those_of_c_asp() -> None:
    found = parse("a :- b;\n  <> c [3], % not\n  d;\ne :- %* [ *% f.").rules
    assert [(r.line, len(r.body)) for r in found] == [(1, 3), (4, 1)]


def test_directives_say_what_is_shown_fed_back_and_named() -> None:
    found = parse(
        "#prefix tl : <http://travel.org/>. #from stream <http://s>. #input tl_x/2.\n"
        "#show p/1. #stream p/1. #scale tl_x 10.\np(X) :- tl_x(X,_)."
    )
    request = found.request
    assert found.shows == found.streamed == frozenset({Signature("p", 1)})
    assert [stream.iri for stream in request.streams] == ["http://s"]
    assert request.unit == "s"
    assert request.inputs == request.used == frozenset({Signature("tl_x", 2)})
    assert request.scales == {"tl_x": 10}
    assert parse("p(1).").shows is None
    assert parse("p(1). #show.").shows == frozenset()


# --- Faults --------------------------------------------------------------------------------

FAULTS = [
    ("b :- <> a(X).", "1:6 window: `<> a(X)` has no window: write e.g. `[3]`"),
    ("b :- c, not [] a(X).", "1:9 window: `not [] a(X)` has no window"),
    ("b :- a(1) at least 3.", "1:6 window: `a(1) at least 3` has no window"),
    ("b :- <> a [-1].", "1:12 window: a window of -1 points of time is too small"),
    ("b :- <> a [#0].", "1:12 window: a window of 0 input atoms is too small"),
    ("b :- <> a [99999999 d].", "1:12 window: a window of 8,639,999,913,600 points of time is too"),
    ("b :- <> a [3 ms].", "1:12 window: `ms` is no unit of time"),
    ("b :- <> a [#3 s].", "1:12 window: `#3` counts input atoms, which have no unit"),
    ("b :- <> a [n].", "1:12 window: `n` is no number; define it, e.g. `#const n = 10`"),
    ("b :- <> a [3..1].", "1:12 window: a window from 3 to 1 points of time ago is none"),
    ("b :- <> a [-1..1].", "1:12 window: a window from -1 to 1 points of time ago is none"),
    ("b :- <> a [#1..3].", "1:12 window: `[#1..3]` is no window"),
    ("b :- <> a [1 ms..3 s].", "1:12 window: `ms` is no unit of time"),
    ("b :- <> a [].", "1:12 window: `[]` is no window"),
    ("b :- <> a [1+2].", "1:12 window: `[1+2]` is no window"),
    ("b :- a [3].", "1:6 operator: `a [3]` has a window but no operator: write `<> a [..]`"),
    ("b :- <> [3].", "1:9 operator: `<> [3]`: expected one atom behind its operator"),
    ("b :- <> X < 3 [3].", "1:9 operator: `<> X < 3 [3]`: expected one atom behind its operator"),
    ("b :- <> a at least 3 [4].", "1:9 operator: `<> a at least 3 [4]`: expected one atom"),
    ("b :- a at least [3].", "1:16 operator: `a at least [3]`: `at least` takes a number"),
    ("b :- a always 3 [3].", "1:15 operator: `a always 3 [3]`: `always` takes no number"),
    ("b :- not not a.", "1:10 operator: `not not` is no plain LARS"),
    ("b :- a(X), not 1 < X < 3.", "1:12 operator: `not 1 < X < 3`: `not` stands before one"),
    ("b :- a since c.", "1:6 window: `a since c` has no window: write e.g. `[3]`"),
    ("b :- a since c [#3].", "1:6 window: `a since c [#3]`: `since` takes a window of time"),
    ("b :- a since not c [3].", "1:6 operator: `a since not c [3]`: `since` stands between two"),
    ("b :- a since X < 3 [3].", "1:6 operator: `a since X < 3 [3]`: `since` stands between two"),
    ("b :- a since <> c [3] [4].", "1:6 nested: `a since <> c [3]`: plain LARS nests no windows"),
    ("b :- a [3] since c [4].", "1:6 operator: `a [3] since c [4]`: `since` stands between two"),
    ("b :- a since c since d [3].", "1:6 operator: `a since c since d [3]`: `since` stands"),
    ("b :- a since c at least 3 [3].", "1:6 operator: `a since c at least 3 [3]`: `since` stands"),
    ("b :- <> a since c [3].", "1:9 nested: `a since c`: plain LARS nests no windows"),
    ("b :- @T a since c [3].", "1:7 nested: `T a since c`: plain LARS nests no windows"),
    ("a since c [3] :- b.", "1:1 head: a head is `a(X)` or `@T a(X)`, without a window"),
    ("a since c :- b.", "1:1 head: a head is `a(X)` or `@T a(X)`, without a window"),
    ("b :- a(X) since c [3].", "1:8 unsafe: `X` is unsafe in the rule of line 1: `since` binds"),
    ("b :- a(_) since c [3].", "1:8 unsafe: `_` is unsafe in the rule of line 1: `since` binds"),
    ("b :- not a since c(X) [3].", "1:20 unsafe: `X` is unsafe in the rule of line 1: `not` binds"),
    ("b :- c(X), not a(_) since c(X) [3].", "1:18 unsafe: `_` is unsafe in the rule of line 1"),
    ("b :- a since c(X*X) [3].", "1:16 unsafe: `X` is unsafe in the rule of line 1: only linear"),
    ("b :- <> [] a [3] [4].", "1:9 nested: `[] a [3]`: plain LARS nests no windows"),
    ("b :- <> a [3] [4].", "1:9 nested: `a [3]`: plain LARS nests no windows"),
    ("b :- @T <> a [3].", "1:9 nested: `<> a`: plain LARS nests no windows"),
    ("b :- [] not a [3].", "1:9 operator: `[] not a [3]`: write `not` before"),
    ("b :- <> (<> a [3]) [4].", "1:9 nested: `(<> a [3])`: plain LARS nests no windows"),
    ("b :- ⊞³◇ a.", "1:6 character: `⊞` is written as a window behind the atom, `<> a(X) [3]`,"),
    ("b :- ◇ a [3].", "1:6 character: `◇` is written `<>` in a text"),
    ("b :- é.", "1:6 character: the character `é` (U+00E9) stands outside strings"),
    ("b :- @a.", "1:6 time: `@a`: expected a time and an atom behind `@`"),
    ("b :- @T.", "1:6 time: `@T`: expected a time and an atom behind `@`"),
    ("b :- @Ta.", "1:6 time: `@Ta`: expected a time and an atom behind `@`"),
    ("#const n = 1. #const n = 2. a.", "1:15 program: redefinition of constant"),
    ("#const n = m. #const m = n. a.", "1:1 program: cyclic constant definition"),
    ("b :- @noon a.", "1:7 time: `noon` is no number; points of time are integers"),
    ("b :- @(1 a.", "1:7 bracket: `(` is not closed in its statement"),
    ("b :- @1** a.", "1:7 time: `1**` is no term; expected a time"),
    ("b :- a at least x [3].", "1:17 number: `x` is no number"),
    ("b :- a at least 1..2 [3].", "1:17 plain: `1..2` is an interval"),
    ("<> a [3] :- b.", "1:1 head: a head is `a(X)` or `@T a(X)`, without a window"),
    ("@T a [3] :- @T b.", "1:1 head: a head is `a(X)` or `@T a(X)`, without a window"),
    ("not a :- b.", "1:1 head: a head does not begin with `not`; write a constraint"),
    ("X = 1 :- b(X).", "1:1 head: `X = 1`: a head is an atom"),
    ("a ; b :- c.", "1:1 plain: `a ; b` is a disjunction, which plain LARS has not"),
    ("a | b :- c.", "1:1 plain: `a | b` is a disjunction, which plain LARS has not"),
    ("{ a } :- c.", "1:1 plain: `{ a }` is a choice or an aggregate"),
    ("a :- #count { X : b(X) } > 3.", "1:6 plain: `#count { X : b(X) } > 3` is an aggregate"),
    ("a :- c, b(X) : d(X).", "1:9 plain: `b(X) : d(X)` is a condition"),
    ("a :- c(N), b(1..N).", "1:14 plain: `(1..N)` is an interval, which plain LARS has not"),
    ("a :- b(1..501).", "1:1 pools: the pools and intervals of this statement make more than 500"),
    ("@(1;2) a.", "1:2 plain: `(1;2)` is a pool, which plain LARS has not"),
    ("b(X) :- a(1..3).", "1:3 unsafe: `X` is unsafe in the rule of line 1: nothing in the body"),
    ("a :- b(@f(1)).", "1:8 forbidden: `@f(1)`: a request calls no external functions"),
    ("a :- b(X), |X;-X| < 3.", "1:1 plain: a `;` or `,` between `|` separates no elements"),
    ("#const n = @f. a.", "1:12 forbidden: `@f`: a request calls no external functions"),
    ("é. b :- <> a [3 ms].", "1:1 character: the character `é` (U+00E9) stands outside strings"),
    ("a :- #true.", "1:6 plain: `#true`: expected an atom or a comparison"),
    (":~ a. [1]", "1:1 plain: a weak constraint prefers answers"),
    ("#minimize { 1 : a }.", "1:1 plain: `#minimize`: plain LARS prefers no answer"),
    ("#external a.", "1:1 plain: `#external`: plain LARS has it not"),
    ("#feedback a/1.", "1:1 plain: `#feedback`: a `.lars` program feeds atoms back with `#stream"),
    ("#lateness 5s.", "1:1 plain: `#lateness`: a `.lars` program is evaluated at every point"),
    ("#stream p/1. q(1).", "1:1 stream: `#stream p/1` feeds back what no rule derives"),
    ("#stream p.", "1:1 signature: expected a predicate and its arity"),
    ("#show X : p(X).", "1:1 signature: plain LARS shows predicates"),
    ("#from stream <s> [time 3s step 1s].", "1:1 stream: the windows of plain LARS stand in its"),
    ("#from stream <s>.\n#from stream <r>.", "2:1 stream: line 1 names the stream already"),
    ("#shwo a/1.", "1:1 directive: there is no directive `#shwo`; did you mean `#show`?"),
    ("a :- b c.", "1:8 syntax: unexpected `c`; a `,` is missing before it"),
    ("a :- <> b(1 2) [3].", "1:13 syntax: unexpected `2`"),
    ("a :- b,.", "1:8 syntax: unexpected `.`; a literal or term is missing before it"),
    ("a(2147483648).", "1:3 number: `2147483648` does not fit the 32-bit integers"),
    ("b(X) :- a(Y), not X+1 = Y.", "1:3 unsafe: `X` is unsafe in the rule of line 1: `not` binds"),
    ("a(2147483648) :- b.", "1:3 number: `2147483648` does not fit the 32-bit integers"),
    ("b(X) :- not a(X).", "1:3 unsafe: `X` is unsafe in the rule of line 1: `not` binds nothing"),
    ("(r1) b(X) :- a.", "1:8 unsafe: `X` is unsafe in rule r1 (line 1): nothing in the body"),
    ("b :- a, X < 3.", "1:9 unsafe: `X` is unsafe in the rule of line 1: a comparison binds"),
    ("b :- a, X = Y.", "1:9 unsafe: `X` is unsafe in the rule of line 1: an equation binds"),
    ("b :- a(X) at most 3 [4].", "1:8 unsafe: `X` is unsafe in the rule of line 1: `at most` and"),
    ("b :- a(X) at least 0 [4].", "1:8 unsafe: `X` is unsafe in the rule of line 1: `at most`"),
    ("b :- a(X) count 0 [4].", "1:8 unsafe: `X` is unsafe in the rule of line 1: `count 0`"),
    ("b(X) :- a(X*X).", "1:3 unsafe: `X` is unsafe in the rule of line 1: only linear arithmetic"),
    ("b(X) :- not a(X+1).", "1:3 unsafe: `X` is unsafe in the rule of line 1: `not` binds nothing"),
    ("b :- a at least N [4].", "1:17 unsafe: `N` is unsafe in the rule of line 1: `at least` b"),
    ("b :- a count N+1 [4].", "1:14 unsafe: `N` is unsafe in the rule of line 1: `count` binds a"),
    ("b :- not @T a [4].", "1:11 unsafe: `T` is unsafe in the rule of line 1: `not` binds"),
    ("@T b :- a.", "1:2 unsafe: `T` is unsafe in the rule of line 1: nothing in the body"),
    ('b :- c("X"), not a(_+1,"X").', "1:20 unsafe: `_` is unsafe in the rule of line 1: `not` b"),
    ("#strem p/1.", "1:1 directive: there is no directive `#strem`; did you mean `#stream`?"),
    ("#window 3.", "1:1 directive: there is no directive `#window`; there are #const, #defined"),
    ("#stream p/1. q(1).", "1:1 stream: `#stream p/1` feeds back what no rule derives; remov"),
    ("b :- [3] <> a.", "1:6 window: `[3] <> a`: a window stands at the end: `<> a(X) [3]`"),
    ("b :- <>[3 m] a.", "1:6 window: `<>[3 m] a`: a window stands at the end: `<> a(X) [3]`"),
    ("b :- <> not a [3].", "1:9 operator: `<> not a [3]`: write `not` before the operator: `n"),
    ("b :- a(1) atleast 3 [3].", "1:6 operator: `a(1) atleast 3 [3]`: expected an operator of pla"),
    ("b :- box a(1) [3].", "1:6 operator: `box a(1) [3]`: expected an operator of plain LARS: `<>"),
    ("b :- c, not a(_) at least 2 [3].", "1:15 unsafe: `_` is unsafe in the rule of line 1: `n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FAULTS, ids=[text for text, _ in FAULTS])
def test_a_fault_names_its_place_its_kind_and_what_to_do(text: str, expected: str) -> None:
    first = read(text).faults[0]
    found = f"{first.location.line}:{first.location.column} {first.code}: {first.message}"
    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("#const n = 2. p(1..n,a).", ["p(1,a).", "p(2,a)."]),
        ("p(1;3,4) :- <> a [3].", ["p(1) :- <> a [3].", "p(3,4) :- <> a [3]."]),
        ("h :- not @5 a(1..2) [3].", ["h :- not @5 a(1) [3].", "h :- not @5 a(2) [3]."]),
        ("h(X) :- a(_), X = (1;2).", ["h(X) :- a(_), X = 1.", "h(X) :- a(_), X = 2."]),
        ("h :- a(2..1).", []),
        ("h :- a(_,(1;2)).", ["h :- a(_,1).", "h :- a(_,2)."]),
    ],
)  # fmt: skip
def test_pools_and_intervals_stand_for_several_rules(text: str, rules: list[str]) -> None:
    found = parse(text).rules
    assert list(map(unparse, found)) == rules
    assert [replace(r, line=0) for r in found] == list(map(rule, rules))


def test_what_binds_binds() -> None:
    body = "@T a(X) [3], [] b(f(Y),T) [#2], c(Y) count N [4], Z = X+1, (U,V) = (Z,1), U < V"
    assert read(f"h(X,Y,N,Z) :- {body}.").faults == ()


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("<> p(X+1) [3]", ""),
        ("@(2*X-1) p [3]", ""),
        ("p(f(-X,Y),Y)", ""),
        ("p(3-X) count N [3]", ""),
        ("p(Y), X+1 = Y", ", X = Y-1"),
        ("p(Y), Y = 2*X", ", X = (Y-0)/2"),
        ("p(X,X+1)", ""),
    ],
)
def test_linear_arithmetic_binds_as_in_clingo(body: str, more: str) -> None:
    found = rule(f"h(X) :- {body}.")
    assert unparse(found) == f"h(X) :- {body}{more}."
    assert rule(unparse(found)) == found


def test_all_faults_of_a_text_are_told_whatever_keeps_one_rule_from_being_read() -> None:
    text = "a :- b c.\nd :- <> e.\nf(X) :- g.\n#show h.\ni :- @x j [k].\nok(X) :- <> l(X) [3]."
    reading = read(text)
    assert [(fault.location.line, fault.code) for fault in reading.faults] == [
        (1, "syntax"), (2, "window"), (3, "unsafe"), (4, "signature"), (5, "time"),
    ]  # fmt: skip
    assert [r.line for r in reading.program.rules] == [3, 6]
    with pytest.raises(RequestError, match="1:8: error syntax"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [("#stream d/1.\nd(X) :- <> e(X).", "window"), ("b(X) :- a(1..3).", "unsafe")],
)
def test_what_follows_from_a_fault_is_no_other_fault(text: str, code: str) -> None:
    assert [fault.code for fault in read(text).faults] == [code]


def test_a_character_that_is_none_of_ours_leaves_the_rules_behind_it_readable() -> None:
    reading = read("a :- é. b :- <> c [3]. d :- e, f.")
    assert list(map(unparse, reading.program.rules)) == ["b :- <> c [3].", "d :- e, f."]


_PIECES = st.sampled_from(
    [
        *("<>", "[]", "[3]", "[#w]", "[", "]", "@", "(", ")", ",", ";", ".", ":-", "not ", "a(X)"),
        *(
            "X",
            "3",
            " at least ",
            " count ",
            " always ",
            " since ",
            "{",
            '"',
            "%",
            "\n",
            "-",
            "..",
            "|",
            "=",
        ),
        *("#const w = 3.", "#stream ", "#show ", "\\", "é", "◇", "1;2", "1..3", "#true", "(r1) "),
        *(f"{text}, " for text, _formula in FORMULAS),
        *(f"{text} " for text, _expected in FAULTS),
    ]
)


@given(st.lists(_PIECES, max_size=8).map("".join))
@settings(max_examples=80)
def test_whatever_the_text_it_is_read_or_refused_in_words(text: str) -> None:
    reading = read(text)
    assert all(str(fault).startswith("<text>:") for fault in reading.faults)
    if not reading.faults:
        assert parse(text) == reading.program


def test_a_file_is_named_in_its_faults(tmp_path: Path) -> None:
    path = tmp_path / "program.lars"
    path.write_text("\n  a :- <> b.\n", encoding="utf-8")
    with pytest.raises(RequestError, match=re.escape(f"{path}:2:8: error window: ")):
        parse_file(path)


# --- What reading data asks of a program ----------------------------------------------------


def test_knowledge_that_a_windowed_atom_reads_is_kept(tmp_path: Path) -> None:
    (tmp_path / "kb.lp").write_text("near(a,b). near(c,d). far(a).")
    program = parse("h(X) :- <> near(a,X) [3].", folder=tmp_path)
    found = background(program.request, [KnowledgeSource(str(tmp_path / "kb.lp"))])
    assert found.facts == ("near(a,b)",)


def test_triples_are_atoms_and_decimals_meet_no_arithmetic() -> None:
    text = "#prefix e : <http://e/>.\nh(X) :- <> e_v(X,V) [3], e_w(X,W), @W h2 [5].\nh2."
    encoder = Encoder(parse(text).request)

    def facts(name: str, value: str, kind: str) -> tuple[str, ...]:
        literal = Literal(value, f"http://www.w3.org/2001/XMLSchema#{kind}")
        return encoder.facts(
            Item(5, (Triple(Iri("http://e/x"), Iri(f"http://e/{name}"), literal),))
        )

    assert facts("v", "7", "integer") == ('e_v("e_x",7)',)
    assert facts("v", "1.5", "decimal") == ('e_v("e_x","1.5")',)
    with pytest.raises(ItemError, match="line 2"):
        facts("w", "1.5", "decimal")


def test_a_stream_without_a_name_takes_items_of_any_and_a_named_one_only_its_own(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"t": 1, "atom": "a"}\n{"t": 2, "atom": "a", "stream": "http://s"}\n')
    unnamed, named = parse("b :- a."), parse("#from stream <http://r>. b :- a.")
    assert [item.time for item in Recording([path], unnamed.request)] == [1, 2]
    with pytest.raises(ItemError, match="reads no stream 'http://s'; it reads <http://r>"):
        list(Recording([path], named.request))

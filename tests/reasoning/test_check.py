"""`check`: what it finds, where, and that it is silent about what is sound."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from citywise.reasoning.asp.dependencies import Dependencies
from citywise.reasoning.engines.choosing import engine_for
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse, read
from citywise.reasoning.model.engine import WindowFacts
from citywise.reasoning.model.request import Signature
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.language import check

REPOSITORY = Path(__file__).parent.parent.parent
HEAD = "#prefix tl : <http://travel.org/>.\n#from stream <http://s> [count 1 step 1].\n"


def findings(folder: Path, text: str, *, partitioned: bool = False) -> list[str]:
    """Findings of a program as `LINE:COL severity code: message`."""
    path = folder / "request.casp"
    path.write_text(text, encoding="utf-8")
    found = check(path, partitioned=partitioned)
    assert all(str(f).startswith(f"{path}:") for f in found)
    return [
        f"{f.location.line}:{f.location.column} {f.severity} {f.code}: {f.message}" for f in found
    ]


ERRORS = [
    ("a :- b c.", "1:8 error syntax: unexpected `c`; a `,` is missing before it"),
    ("p(X) q(X) :- r(X), s.", "1:6 error syntax: unexpected `q`; a `:-` or `,` is missing"),
    ("a :- b\nc :- d.", "2:1 error syntax: unexpected `c`; the statement before it is not ended"),
    ("(r1) a :- b\n(r2) c :- d.", "2:1 error syntax: unexpected `c`; `(r2)` begins a statement"),
    ("a :- b", "1:1 error unfinished: this statement is not ended by `.`"),
    ("a. .", "1:4 error syntax: there is no statement before this `.`; remove it"),
    ("a :- b,.", "1:8 error syntax: unexpected `.`; a literal or term is missing before it"),
    ("a :- b(3.5).", "1:8 error decimal: `3.5`: rules compute with whole numbers only"),
    ("a :- b(X), X > 10.25.", "1:16 error decimal: `10.25`: rules compute with whole numbers"),
    ("a :- ! b.", "1:6 error syntax: unexpected `!`; write `not`"),
    ("a(X) :- b(X), X =< 3.", "1:18 error syntax: unexpected `<`; write `<=`"),
    ("a(X) <- b(X).", "1:3 error unsafe: `X` is unsafe in the rule of line 1"),
    ("Foo(X) :- b(X).", "1:4 error syntax: unexpected `(`; a predicate begins with a lower-case"),
    ("a :- b(X,-).", "1:11 error syntax: unexpected `)`; `-` is no term; write `_`"),
    ("(r4) a(X,Y) :- not b(X).", "1:8 error unsafe: `X`, `Y` are unsafe in rule r4 (line 1)"),
    (":- #sum { V,X : p(X) } > 3.", "1:11 error unsafe: `V` is unsafe in the rule of line 1"),
    ("% é\np(\"é\"). a(X).", "2:11 error unsafe: `X` is unsafe"),
    ("a(é).", "1:3 error character: the character `é` (U+00E9) stands outside strings"),
    ('a("x\\ty").', "1:3 error escape: strings know the escapes"),
    ('a("x).', "1:3 error unclosed: this string is never closed"),
    ("%* a %* b *% c.", "1:1 error unclosed: this block comment is never closed"),
    ("a :- b(c.", "1:7 error bracket: `(` is not closed in its statement"),
    ("a(2147483648).", "1:3 error number: `2147483648` does not fit the 32-bit integers of ASP"),
    ("#const n = 0x80000000.", "1:12 error number: `0x80000000` does not fit"),
    ("a(2147483647+1).", "1:3 error number: the value of `2147483647+1` does not fit the 32-bit"),
    ("a(-2147483648-1).", "1:3 error number: the value of `-2147483648-1` does not fit"),
    ("a(X) :- b(X), X > 1-2**31*1.", "1:21 error number: the value of `2**31` does not fit"),
    ("a(2**99999999).", "1:3 error number: the value of `2**99999999` does not fit"),
    ("#const n = 65536. #const m = n*n.", "1:30 error number: the value of `n*n` does not fit"),
    ("#const n = m+1. #const m = 2147483647.", "1:12 error number: the value of `m+1` does"),
    ("#const n = m. #const m = n.", "1:"),
    (":~ a. [-(-2147483647-1)]", "1:8 error number: the value of `-(-2147483647-1)` does not fit"),
    ("#script (python) x.y('\"'). #end.", "1:1 error forbidden: `#script`: scripts are not"),
    ("#include <incmode>.", "1:1 error forbidden: `#include`: a request includes no files"),
    ("(r1) #program p(t).", "1:6 error forbidden: `#program`: a request has no program parts"),
    ("#theory t { }.", "1:1 error forbidden: `#theory`: a request has no theory atoms"),
    ("&sum { x } > 1.", "1:2 error forbidden: a request has no theory atoms"),
    ("a :- X = @f(1), b(X).", "1:10 error forbidden: `@f(1)`: a request calls no external"),
    ("a :- b, #include \"x\".", "1:9 error forbidden: `#include` has no place inside a rule"),
    ("#shwo a/1.", "1:1 error directive: there is no directive `#shwo`; did you mean `#show`?"),
    ("#const a = 1. #const a = 2.", "1:15 error program: redefinition of constant"),
    ("a((1;2),(1;2),(1;2),(1;2),(1;2),(1;2),(1;2),(1;2),(1;2),(1;2),(1;2),(1;2),(1;2),(1;2)).",
     "1:1 error pools: the pools of this statement make more than 10,000 rules"),
    ("#from stream <s>.", "1:1 error window: stream <s> has no window; write e.g."),
    ("#from stream <s> [count W step W].", "1:18 error window: `[count W step W]` is no window"),
    ("#from stream <s> [time 99999999999h step 1s].", "1:18 error window:"),
    ("#from stream <s> [time 1.5s step 1s].",
     "1:18 error window: `1.5s`: directives take whole numbers only; write `1500ms`"),
    ("#from stream <s> [time 2h step 1.5h].",
     "1:18 error window: `1.5h`: directives take whole numbers only; write `90m`"),
    ("#from stream <s> [count 1.5 step 1].",
     "1:18 error window: `1.5`: directives take whole numbers only"),
    ("#from stream <s> [count 1000000000000 step 1].",
     "1:18 error window: `1000000000000` is too large; at most 999,999,999 can stand here"),
    ("#from <.>.", "1:1 error knowledge: there is no file"),
    ("#from <no/such.ttl>.", "1:1 error knowledge: there is no file"),
    ("#from <no/such.ttl> [rdf].", "1:1 error entailment: `[rdf]` is no entailment regime"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), ERRORS)
def test_an_error_is_found_where_it_stands_and_says_what_to_do(
    tmp_path: Path, text: str, wanted: str
) -> None:
    found = [finding for finding in findings(tmp_path, text) if " error " in finding]
    assert len(found) == 1, found
    assert found[0].startswith(wanted)


WARNINGS = [
    ("a(X) :- tl_booked(X,_). #show a/1. #show b/1.",
     "3:36 warning show-nothing: `#show b/1` shows nothing"),
    ("hotel(X) :- tl_booked(X,_). a :- hotl(1). #show a/0. #show hotel/1.",
     "3:34 warning unknown-predicate: nothing derives `hotl/1`; did you mean `hotel/1`?"),
    ("hotel(X) :- tl_booked(X,_). a :- hotel(1,2). #show a/0. #show hotel/1.",
     "3:34 warning unknown-predicate: nothing derives `hotel/2`; did you mean `hotel/1`?"),
    ("a :- tl_booked(1,2,3,4).",
     "3:6 warning unknown-predicate: nothing derives `tl_booked/4`, and a triple gives 2"),
    ("a :- ht_star(1,2).",
     "3:6 warning unknown-predicate: nothing derives `ht_star/2`; if a stream or knowledge"),
    ("#input tl_booked/2. a :- tl_booked(1,2), tl_left(1,2).",
     "3:42 warning unknown-predicate: nothing derives `tl_left/2`, and it is not among the"),
    ("#input tl_booked/2. #input tl_left/2. a :- tl_booked(1,2).",
     "3:21 warning unused-input: `#input tl_left/2`: no rule uses it"),
    ("#scale tl_price 100. a :- tl_booked(1,2).",
     "3:1 warning unused-scale: `#scale tl_price`: no rule uses `tl_price`"),
    ("a :- tl_booked(1,2). b :- a. #show a/0.",
     "3:22 warning unused-predicate: `b/0` is derived but neither used nor shown"),
    ('a :- tl_booked(_,"ct_Main").',
     '3:18 warning undeclared-prefix: "ct_Main" reads like a resource'),
    ("a(X,Y) :- tl_booked(X,_), tl_left(Y,_).",
     "3:1 warning product: no variable joins `tl_booked(X,_)`, `tl_left(Y,_)`"),
    ("a(1..5000,1..5000).",
     "3:1 warning huge-interval: `(1..5000)` × `(1..5000)` gives 25,000,000 instances"),
    ("#const n = 9000000. { a(X) : X = 1..n }.", "3:21 warning huge-interval: `(1..n)` gives"),
    ("n(X+1) :- n(X).", "3:1 warning unbounded: `n((X+1))` builds a new term from `X` of `n(X)`"),
    ("n(f(X)) :- m(X). m(X) :- n(X).", "3:1 warning unbounded: `n(f(X))` builds a new term"),
    ("n(X\\10+X) :- n(X).", "3:1 warning unbounded: `n(((X\\10)+X))` builds a new term"),
    ("(r1) a :- tl_booked(1,2).\n(r1) b :- a. ",
     "4:1 warning repeated-label: line 3 has a rule r1 too"),
    ('a(X) :- tl_level(X,V), V > "50".',
     '3:28 warning text-order: `V > "50"` compares with a text, and every number is less than'),
    ('a(X) :- tl_level(X,V), "-5" <= V.', '3:24 warning text-order: `"-5" <= V` compares with'),
    ('#scale tl_level 10. a(X) :- tl_level(X,V), V < "high".', '3:48 warning text-order: `V < "hi'),
    ('a(X) :- tl_level(X,V), V > "high". b(X) :- tl_level(X,V), 2*V < 9.',
     ('3:28 warning text-order: `V > "high"` compares with a text, and every number is less than '
     "every text, whatever its digits, so this is never true; write a number")),
    ('a :- N = #count{X : tl_level(X,_)}, "few" > N.',
     ('3:37 warning text-order: `"few" > N` compares with a text, and every number is less than '
     "every text, whatever its digits, so this is always true; write a number")),
    ("n(Y) :- n(X), Y = 2*X.", "3:1 warning unbounded: `n(Y)` builds a new term from `X`"),
    ("a(X*65536*65536) :- tl_level(_,X).",
     "3:3 warning overflow: `X*65536*65536` fits 32 bits only while `X` is at most 0; beyond"),
    ("-a(f(X*3000000)) :- tl_level(_,X).",
     ("3:6 warning overflow: `X*3000000` fits 32 bits only while `X` is at most 715; beyond that "
      "it wraps to another number: use a larger unit, divide before you multiply, or compare "
      "before, `X <= 715`")),
    ("#const day = 86400000. a(X) :- tl_level(X,V), V*day > 5.",
     "3:47 warning overflow: `V*day` fits 32 bits only while `V` is at most 24; beyond"),
    ("#scale tl_level 100. a(X*30000) :- tl_level(_,X).",
     "3:24 warning overflow: `X*30000` fits 32 bits only while `X` is at most 71582; beyond"),
    ("a(Y*65536) :- tl_level(_,X), Y = X*65536.", "3:3 warning overflow: `Y*65536` fits"),
    ("b(Y*65536) :- a(Y). a(X*65536) :- tl_level(_,X).", "3:3 warning overflow: `Y*65536` fits"),
    ("a(X**4) :- tl_level(_,X).", "3:3 warning overflow: `X**4` fits 32 bits only while `X` is at"),
    ("a((X+Y)*9000000) :- tl_level(X,Y).",
     "3:3 warning overflow: `(X+Y)*9000000` fits 32 bits only while `X`, `Y` are at most 119"),
    ("a(S) :- S = #sum { V*100000000,X : tl_level(X,V) }.", "3:20 warning overflow: `V*1000000"),
    (":~ tl_level(X,V). [V*9999999,X]", "3:20 warning overflow: `V*9999999` fits"),
    ("a(V*10000000) :- tl_level(X,V), V < 300.",
     "3:3 warning overflow: `V*10000000` fits 32 bits only while `V` is at most 214; beyond"),
    ("a(X*3000000) :- X = 1..900.",
     ("3:3 warning overflow: `X*3000000` fits 32 bits only while `X` is at most 715 (`X` goes from "
      "1 to 900); beyond")),
]  # fmt: skip


def test_a_slip_that_reads_as_a_comparison_is_guessed(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "a(X) <- b(X).")
    assert found.endswith("`<-` compares with a negative number; write `:-` for an implication")


@pytest.mark.parametrize(("text", "wanted"), WARNINGS)
def test_a_warning_says_what_is_suspicious_and_why(tmp_path: Path, text: str, wanted: str) -> None:
    found = findings(tmp_path, HEAD + text)
    assert len(found) == 1, found
    assert found[0].startswith(wanted)


SOUND = [
    "a(X+86400000*days) :- tl_level(_,X).",
    f"a({'+'.join(['X'] * 200)}) :- tl_level(_,X).",
    "a(X) :- tl_booked(X,_). #show a/1.",
    'a(X) :- tl_name(X,N), N >= "M".',
    'a(X) :- tl_name(X,N), N >= "M". b(X) :- tl_level(X,N), N+1 > 7.',
    'a(N) :- N = #min{M : tl_name(_,M)}, N >= "M".',
    'a(X) :- tl_name(X,N), N = "50", N != "7".',
    "a(X) :- tl_level(X,V), V > 50.",
    "a :- tl_booked(X,_), at(X,Y), left(Y). #input tl_booked/2. #input left/1. #defined at/2.",
    "#feedback a/1. a(X) :- prev_a(X). a(X) :- tl_booked(X,_). #show a/1.",
    "#defined out/1. a(X) :- tl_booked(X,_), not out(X).",
    "#external out(1). a :- not out(1).",
    "n(0). n(X+1) :- n(X), X < 10.",
    "n(0). n(Y) :- n(X), Y = X+1, Y <= 10.",
    "n(0). n(X+1) :- n(X), tl_next(X,_).",
    "n(0). n((X+1)\\10) :- n(X).",
    "n(0). n(Y) :- n(X), Y = (X+1)\\10.",
    "n(0). n(Y\\10) :- n(X), Y = X+1.",
    "path(X,Y) :- tl_booked(X,Y). path(X,Z) :- path(X,Y), tl_booked(Y,Z).",
    "1 { pick(X) : tl_booked(X,_) } 1. best(X,Y) :- pick(X), tl_left(Y,_).",
    "few(1..3). a(X,Y) :- few(X), tl_booked(Y,_).",
    "{ give(X,Y) : tl_left(Y,_) } 1 :- tl_booked(X,_).",
    "sum(C) :- C = #sum { V,X : tl_booked(X,V) }. a(X,C) :- tl_left(X,_), sum(C).",
    "a(-2147483648). b(2147483647). c(\"99999999999\").",
    "-a(X) :- tl_booked(X,_). :- -a(1).",
    "1{a}1.1{b}1.",
    "a(V*10000000) :- tl_level(X,V), V <= 214.",
    "a(V*10000000) :- tl_level(X,V), most(M), V <= M. most(M) :- M = 200.",
    "a(V*10000000) :- V = 1..200.",
    "a(V*10000000) :- b(V). b(X\\200) :- tl_level(_,X).",
    "a(N-T) :- tl_level(X,N,T), N-T > 86400. b(X*Y*X*Y) :- tl_level(X,Y).",
    "a(X/1000000*1000000) :- tl_level(_,X). b(2**X) :- tl_level(_,X).",
    "n(0). n(X+1) :- n(X), X < 2000000. a(X*1000) :- n(X).",
]  # fmt: skip


@pytest.mark.parametrize("text", SOUND)
def test_what_is_sound_gives_no_finding(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path, HEAD + text) == []


@pytest.mark.parametrize(
    ("term", "most"),
    [
        ("X*65536*65536", 0), ("X*3000000", 715), ("X**4", 215),
        ("(X+1)*9000000", 237), ("|X|*99999999", 21), ("-X*3-2147483000", 216),
    ],
)  # fmt: skip
def test_the_largest_value_that_is_named_is_the_last_that_clingo_computes_rightly(
    tmp_path: Path, term: str, most: int
) -> None:
    """Python computes what is meant: with one more both engines give another number."""
    found = findings(tmp_path, f"{HEAD}a({term}) :- tl_level(_,X).")
    assert len(found) == 1
    assert f"`X` is at most {most};" in found[0]
    request = parse(f"#from stream <s> [time 1s step 1s]. a({term}) :- p(X).")
    for number in (most, most + 1):
        facts = WindowFacts(f"p({number}).", frozenset({Signature("p", 1)}))
        meant = eval(term.replace("X", str(number)).replace("|", ""))
        for engine in (SolverEngine(request, Background()), engine_for(request, Background())):
            with closing(engine):
                (answer,) = engine.answer_sets(facts)
            assert (f"a({meant})" in answer.atoms) == (number == most)


def test_powers_of_powers_are_estimated_soon(tmp_path: Path) -> None:
    rules = "".join(f"a{n + 1}(((X**64)**64)**64) :- a{n}(X)." for n in range(30))
    started = time.process_time()
    assert findings(tmp_path, f"{HEAD}a0(X) :- tl_level(_,X).{rules}")
    assert time.process_time() - started < 20  # on a loaded machine; some 0.1 s measured alone


def test_facts_of_knowledge_bases_are_counted(tmp_path: Path) -> None:
    """A product with few of them is none, one with many is."""
    knowledge = tmp_path / "days.lp"
    text = f"#from <days.lp>. {HEAD}a(X,D) :- tl_booked(X,_), day(D). #show a/2."
    for many, codes in ((1, []), (7, []), (1_000, ["product"])):
        knowledge.write_text("".join(f"day({n}).\n" for n in range(many)))
        assert [finding.split()[2] for finding in findings(tmp_path, text)] == [
            f"{code}:" for code in codes
        ]


@pytest.mark.slow
def test_estimates_beyond_measure_are_not_written_out(tmp_path: Path) -> None:
    body = ",".join(f"tl_x(X{n},_)" for n in range(3_000))
    (found,) = findings(tmp_path, f"{HEAD}a :- {body}. #show a/0.")
    assert "`tl_x(X4,_)`, …: every" in found
    assert "(some more than 10^15 if data" in found
    (found,) = findings(tmp_path, HEAD + f"a({','.join(['1..9999'] * 2_000)}).")
    assert "`(1..9999)` × … gives more than 10^15 instances" in found


@pytest.mark.thorough
@pytest.mark.parametrize("literal", ["tl_x({0},1)", "tl_x(X{0},X{1})", "tl_x(_,{0})"])
def test_a_long_body_is_checked_soon(tmp_path: Path, literal: str) -> None:
    body = ",".join(literal.format(n, n + 1) for n in range(8_000))
    started = time.process_time()
    findings(tmp_path, f"{HEAD}a :- {body}. #show a/0.")
    assert time.process_time() - started < 30  # on a loaded machine; some 2 s measured alone


def test_a_stream_without_prefix_or_input_may_deliver_any_atom(tmp_path: Path) -> None:
    text = "#from stream <s> [count 1 step 1]. jam(X) :- speed(X,Y), Y < 20, not light(X,red)."
    assert findings(tmp_path, text) == []


@pytest.mark.parametrize("folder", ["backend/city/requests", "examples"])
def test_the_requests_that_come_with_citywise_have_no_errors(folder: str) -> None:
    assert [f for f in check(REPOSITORY / folder) if f.severity == "error"] == []


def test_the_requests_of_the_city_give_no_warnings_either() -> None:
    assert check(REPOSITORY / "backend/city/requests") == []


def test_negation_in_a_cycle_is_an_error_where_a_partition_is_demanded(tmp_path: Path) -> None:
    text = "b.\np :- b, not q.\nr :- b, not p.\nq :- r.\n"
    assert findings(tmp_path, text) == []
    found = findings(tmp_path, text, partitioned=True)
    assert len(found) == 1
    assert found[0].startswith(
        "2:1 error unstratified: p/0 -> not q/0 -> r/0 -> not p/0 (lines 2, 4, 3): a predicate"
    )


def test_a_decimal_that_rules_compare_without_a_scale_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "prices.ttl").write_text("<http://h/a> <http://travel.org/price> 9.5 .")
    text = HEAD + "#from <prices.ttl>.\ndear(X) :- tl_price(X,P), P > 9.\n"
    (found,) = findings_anywhere(tmp_path, text)
    assert "`tl_price`: the decimal" in found
    assert "rule of line 4; declare `#scale tl_price 100.`" in found
    assert findings(tmp_path, text + "#scale tl_price 10.\n") == []


def findings_anywhere(folder: Path, text: str) -> list[str]:
    """Findings as text, those in other files included."""
    (folder / "request.casp").write_text(text, encoding="utf-8")
    return [str(finding) for finding in check(folder / "request.casp")]


def test_facts_of_a_knowledge_base_supply_their_predicates(tmp_path: Path) -> None:
    (tmp_path / "path.lp").write_text("segment(a,1).")
    text = HEAD + "on(X) :- tl_booked(_,X), segment(X,_).\n"
    assert [f.split(":")[1] for f in findings(tmp_path, text)] == ["26 warning unknown-predicate"]
    assert findings(tmp_path, text + "#from <path.lp>.") == []


def test_without_a_stream_a_property_comes_from_knowledge_or_from_nowhere(tmp_path: Path) -> None:
    (tmp_path / "roads.ttl").write_text("<http://t.org/a> <http://t.org/length> 5 .")
    program = "#prefix t : <http://t.org/>.\n{}\nlong(X) :- t_length(X,L), t_width(X,_), L > 3."
    (found,) = findings(tmp_path, program.format("#from <roads.ttl>."))
    assert found.startswith("3:27 warning unknown-predicate: nothing derives `t_width/2`; there is")
    assert found.endswith("there is no stream, and no knowledge base has a fact that fits")
    both = findings(tmp_path, program.format(""))
    assert [f.partition("; ")[2] for f in both] == ["there is no stream", "there is no stream"]
    assert findings(tmp_path, program.format("#from stream <http://s> [count 1 step 1].")) == []
    (unread,) = findings(tmp_path, program.format("#from <lost.ttl>."))
    assert "error knowledge" in unread


def test_a_folder_is_checked_file_by_file_and_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.casp").write_text("a(X).")
    (tmp_path / "a.lp").write_text("(r1) a.")
    (tmp_path / "notes.txt").write_text("a(X).")
    found = [(Path(f.location.file).name, f.code) for f in check(tmp_path)]
    assert found == [("a.lp", "syntax"), ("b.casp", "unsafe")]


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"a(\xff).", "encoding"), (None, "file"), (b"\xef\xbb\xbfa(X).", "unsafe")],
)
def test_a_file_that_is_no_text_is_a_finding_and_a_byte_order_mark_is_none(
    tmp_path: Path, content: bytes | None, code: str
) -> None:
    path = tmp_path / "request.casp"
    if content is not None:
        path.write_bytes(content)
    assert [f.code for f in check(path)] == [code]


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("a :- b. c(X) :- a, d(X).", "positive"),
        ("a :- not b.", "stratified"),
        ("a :- #count { X : b(X) } > 1.", "stratified"),
        ("a :- not b. b :- not a.", "normal"),
        ("{ a }.", "normal"),
        ("a | b :- c.", "disjunctive"),
        ("a | b :- c. :~ a. [1]", "optimisation"),
    ],
)
def test_a_program_belongs_to_the_smallest_fragment_that_holds_it(text: str, fragment: str) -> None:
    assert Dependencies(read(text).rules).fragment() == fragment


def test_a_predicate_stands_above_what_it_negates() -> None:
    strata = Dependencies(read("a :- b. c :- not a, b. d :- c, not b. e :- d, e.").rules).strata()
    assert strata is not None
    assert {str(s): level for s, level in strata.items()} == {
        "a/0": 0, "b/0": 0, "c/0": 1, "d/0": 1, "e/0": 1,
    }  # fmt: skip


# --- The reference -------------------------------------------------------------------------

REFERENCE = (REPOSITORY / "docs" / "casp.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| .+ \|$", REFERENCE, re.M)


def _modules(*folders: str) -> Iterator[Path]:
    """What reads and checks; not what says why rules fail once they are evaluated."""
    others = {"compile.py", "entails.py", "entailment.py"}
    for folder in folders:
        found = (REPOSITORY / "reasoning" / folder).glob("*.py")
        yield from (path for path in found if path.name not in others)


def _codes(modules: Iterable[Path]) -> set[str]:
    sources = [path.read_text(encoding="utf-8") for path in modules]
    raised = re.compile(r'(?:fault|error|Error|_warning|_declaration)\([^"]*?"([a-z-]+)"')
    return {code for text in sources for code in raised.findall(text)} - {"warning"}


def test_the_reference_lists_every_code_that_can_be_found() -> None:
    knowledge = REPOSITORY / "reasoning" / "rdf" / "knowledge.py"
    found = _codes((*_modules("asp", "languages", "languages/casp"), knowledge))
    assert len(found) > 25
    assert found <= {code for code, _example in ROWS}


def test_the_reference_of_rif_lists_every_code_that_can_be_found() -> None:
    text = (REPOSITORY / "docs" / "rif.md").read_text(encoding="utf-8")
    listed = {code for row in re.findall(r"^\| (`[a-z-]+`.*?) \| ", text, re.M)
              for code in re.findall(r"`([a-z-]+)`", row)}  # fmt: skip
    found = _codes(_modules("languages/rif"))
    assert len(found) > 10
    assert found <= listed


@pytest.mark.parametrize(
    ("code", "example"), [row for row in ROWS if re.fullmatch("`[^`…]+`", row[1])]
)
def test_an_example_of_the_reference_gives_the_code_it_stands_for(
    tmp_path: Path, code: str, example: str
) -> None:
    found = findings(tmp_path, example.strip("`"), partitioned=code == "unstratified")
    assert code in {finding.split()[2].rstrip(":") for finding in found}, found


def test_the_requests_of_the_reference_are_sound(tmp_path: Path) -> None:
    for name in ("hotelkb.ttl", "sensors.ttl"):
        (tmp_path / name).write_text("<http://hotel.org/a> <http://hotel.org/cost> 80 .")
    texts = re.findall(r"```casp\n(.*?)```", REFERENCE, re.DOTALL)
    assert len(texts) == 3
    assert not any(findings(tmp_path, text) for text in texts)

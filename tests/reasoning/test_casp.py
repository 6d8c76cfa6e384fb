"""The C-ASP front end: what it reads, and what it says about texts that are wrong."""

from __future__ import annotations

import clingo
import pytest

from citywise.reasoning.asp.syntax import Constants
from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.casp.parsing import parse, read
from citywise.reasoning.model.request import CountWindow, Signature, TimeWindow
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation

RR1 = """#prefix tl : <http://travel.org/>;

#from stream <http://travel.org/booking> [time 1h step 30m];

bookedHotel(Hotel) :- tl_booked(User,Hotel,Time);
noH(N) :- N = #count{Hotel:bookedHotel(Hotel)};

#show noH/1;
"""


def test_listing_4_1_reads_as_printed() -> None:
    request = parse(RR1)
    assert request.prefixes == {"tl": "http://travel.org/"}
    assert [s.window for s in request.streams] == [TimeWindow(3600, 1800)]
    assert request.shows == {Signature("noH", 1)}
    assert request.derived == {Signature("bookedHotel", 1), Signature("noH", 1)}
    assert Signature("tl_booked", 3) in request.used


def test_listing_4_1_counts_booked_hotels() -> None:
    reasoner = Reasoner(parse(RR1))
    stream = "http://travel.org/booking"
    bookings = [(0, "u1", "a"), (60, "u2", "a"), (120, "u1", "b")]
    found: list[Evaluation] = []
    for i, (t, user, hotel) in enumerate(bookings):
        found += reasoner.push(Item(t, f"tl_booked({user},{hotel},{t})", i, stream=stream))
    found += reasoner.finish(3600)
    assert [(e.time, e.answer_sets[0].atoms) for e in found] == [(3600, ("noH(2)",))]


def test_a_semicolon_inside_a_body_separates_and_at_the_end_of_a_line_ends() -> None:
    request = parse("a(X) :- b(X);\n    c(X);\nd :- a(1); not e;\n")
    assert request.derived == {Signature("a", 1), Signature("d", 0)}
    assert request.used == {
        Signature("b", 1), Signature("c", 1), Signature("a", 1), Signature("e", 0),
    }  # fmt: skip


def test_labels_strings_comments_intervals_and_weak_constraints_are_understood() -> None:
    request = parse(
        '(r1) a("x.y;%", 1..3). % a comment; with. ends\n'
        "%* a block. comment; *%\n"
        "{ b(X) } :- a(_,X).\n"
        ":~ b(X). [X@2, X]\n"
        "#minimize { 1@1,X : b(X) }.\n"
        "#const n = 3.\n"
    )
    assert request.priorities == (2, 1)
    assert Signature("b", 1) in request.derived


def test_count_windows_and_units() -> None:
    request = parse("#from stream <s> [count 3 step 1]. #from stream <t> [time 250ms step 1s].")
    assert [s.window for s in request.streams] == [CountWindow(3, 1), TimeWindow(250, 1000)]
    assert request.unit == "ms"


@pytest.mark.parametrize(
    ("text", "line", "column", "code", "says"),
    [
        ("#from stream <s>.", 1, 1, "window", "has no window"),
        ("#from stream <s> [time 1h].", 1, 18, "window", "[time 1h step 30m]"),
        ("#from stream <s> [time 1h step 0s].", 1, 18, "window", "longer than 0"),
        ("\n  a(X) :- b(X)", 2, 3, "unfinished", "not ended"),
        ("\n  a(X) :- b(X", 2, 12, "bracket", "not closed in its statement; write `)`"),
        ("a :- b(c.", 1, 7, "bracket", "not closed"),
        ("a :- b(f(X), c.", 1, 7, "bracket", "not closed"),
        ("a :- b(f(X", 1, 9, "bracket", "; 1 before it is not closed either"),
        ('a :- b(")"), c(X % )\n.', 1, 15, "bracket", "not closed"),
        ("a(X) :- b(X;\nc :- d.", 1, 10, "bracket", "not closed"),
        ("#from stream <s> [time 1s step 1s.\na.", 1, 18, "bracket", "write `]` behind"),
        ("a :- b).", 1, 7, "bracket", "closes nothing"),
        ("a :- b(c].", 1, 9, "bracket", "`]` does not close the `(` in line 1, column 7"),
        ("{a(X}.", 1, 3, "bracket", "`(` is not closed before `}`; write `)`"),
        ('a("x) .', 1, 3, "unclosed", "never closed"),
        ("a :- b(X) c(X).", 1, 11, "syntax", "unexpected"),
        ("#script (python) \n#end.", 1, 1, "forbidden", "scripts"),
        ('#include "x.lp".', 1, 1, "forbidden", "includes no files"),
        ('(r1) #include "x.lp".', 1, 6, "forbidden", "includes no files"),
        ("a(@f(1)).", 1, 3, "forbidden", "external functions"),
        ("a(X) :- b(X),  % so\n d(X),\n\nc(X) :- d(X).", 2, 6, "syntax",
         "unexpected `:`; line 4 begins a rule; is the `,` before it a `.`?"),
        ("#prefix tl <http://x/>.", 1, 1, "prefix", "expected"),
        ("#prefix tl : <http://x/>\na(1).", 1, 1, "prefix",
         "the `.` at its end is missing: `#prefix tl : <http://x/>.`"),
        ("#prefix a : <x>. #prefix a : <y>.", 1, 18, "prefix", "already stands"),
        ("#feedback p/1. #show q/1. p(1). q(1).", 1, 1, "feedback", "#show p/1"),
        ('#timezone "Mars/Olympus".', 1, 1, "timezone", "no time zone"),
        ("#from stream <s> [time 1s step 1s]. #lateness 5ms.", 1, 37, "lateness", "whole seconds"),
        ("#from stream <s> [count 1 step 1].\n#from stream <s> [count 1 step 1].", 2, 1, "stream",
         "named twice"),
        ("#from stream <s> [time 25d step 1ms].", 1, 1, "window", "more than 24 days"),
        ("#from stream <s> [time 1ms step 1d]. #from stream <t> [time 24d step 1d].", 1, 38,
         "window", "more than 24 days"),
        ("#lateness 1s. #lateness 2s.", 1, 15, "lateness", "`#lateness 1s` stands in line 1"),
        ('#timezone "UTC". #timezone "UTC".', 1, 18, "timezone", "keep one of the two"),
        ("#scale p 1. #scale p 2.", 1, 13, "scale", "`#scale p 1` stands in line 1 already"),
        ("#lateness 1.5s.", 1, 1, "lateness", "whole numbers only; write `1500ms`"),
        ("#lateness 9999999999s.", 1, 1, "lateness", "too large; at most 999,999,999"),
        ("#scale p 1.5.", 1, 1, "scale", "`1.5`: directives take whole numbers only"),
        ("#scale p 10000000000.", 1, 1, "scale", "too large; at most 999,999,999"),
    ],
)  # fmt: skip
def test_a_wrong_text_is_refused_where_the_fault_is(
    text: str, line: int, column: int, code: str, says: str
) -> None:
    with pytest.raises(RequestError) as caught:
        parse(text, file="jam.casp")
    error = caught.value
    assert (error.location.line, error.location.column, error.code) == (line, column, code)
    assert says in error.message
    assert str(error).startswith(f"jam.casp:{line}:{column}: error {code}: ")


def test_an_unsafe_rule_is_refused_before_any_evaluation() -> None:
    with pytest.raises(RequestError) as caught:
        parse("b(1).\n(r7) a(X) :-\n  not b(X), Y < 3.", file="jam.casp")
    assert str(caught.value).startswith(
        "jam.casp:2:8: error unsafe: `X`, `Y` are unsafe in rule r7 (line 2): no positive literal"
    )


def test_all_faults_of_a_text_are_read_and_the_first_is_raised() -> None:
    text = "a :- b c.\n#from stream <s>.\nd(X).\ne :- f,.\n#shwo g/1.\n"
    reading = read(text)
    assert [(f.location.line, f.code) for f in reading.faults] == [
        (1, "syntax"), (2, "window"), (4, "syntax"), (5, "directive"),
    ]  # fmt: skip
    with pytest.raises(RequestError) as caught:
        parse(text)
    assert caught.value is not reading.faults[0]
    assert str(caught.value) == str(reading.faults[0])


def test_plain_asp_has_no_labels_and_no_semicolon_at_a_line_s_end() -> None:
    text = "a :- b;\nc.\n"
    assert read(text).request.derived == {Signature("a", 0), Signature("c", 0)}
    assert read(text, plain=True).request.derived == {Signature("a", 0)}
    (fault,) = read("#from stream <s> [count 1 step 1].", plain=True).faults
    assert fault.code == "directive"


def test_plain_facts_are_counted_and_known_as_derived() -> None:
    text = 'p(1,a,"x,)."). p(-2,b,"\\""). -q. r(f(1)). s(1..2). not t.'
    reading = read(text)
    counts = {str(s): (f.first, f.count) for s, f in reading.facts.items()}
    assert counts == {"p/3": (0, 2), "-q/0": (29, 1)}
    assert {str(s) for s in reading.request.derived} >= {"p/3", "-q/0", "r/1", "s/1"}


def answers(text: str, *atoms: str) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    reasoner = Reasoner(parse(f"#from stream <s> [time 0s step 1s]. {text}"))
    for position, atom in enumerate(atoms):
        list(reasoner.push(Item(1, atom, position, stream="s")))
    (evaluation,) = reasoner.finish(1)
    assert evaluation.error is None
    return [(a.atoms, a.cost) for a in evaluation.answer_sets]


def test_without_anything_to_minimise_the_cost_is_0() -> None:
    text = "a :- b. :~ c(X). [X@2] :~ d(X). [X@1] #show a/0."
    assert answers(text, "b") == [(("a",), (0, 0))]
    assert answers(text, "b", "d(3)") == [(("a",), (0, 3))]


@pytest.mark.parametrize(
    ("constants", "priority"),
    [
        ("#const p = 7.", "p"),
        ("", "1+1"),
        ("#const p = 1+1.", "p"),
        ("#const p = q*2. #const q = 3.", "p-1"),
        ("#const p = 2**3.", "-p"),
    ],
)
def test_a_priority_may_be_a_constant_term(constants: str, priority: str) -> None:
    """It has its cost also where nothing is left to pay (docs/reason.md)."""
    text = f"{constants} 1 {{ pick(X) : b(X) }} 1. :~ pick(X). [X@{priority}] #show pick/1."
    assert answers(text, "b(1)", "b(2)") == [(("pick(1)",), (1,))]
    assert answers(f"{constants} a. :~ c(X). [X@{priority}] #show a/0.", "d") == [(("a",), (0,))]


@pytest.mark.parametrize(
    "term",
    [
        *("7/2", "-7/2", "7/-2", "-7\\2", "7\\-2", "2**-1", "0**-1", "1/0", "0**0", "(-2)**3"),
        *("5&3", "5?2", "5^1", "~5", "|-5|", "2**30+(2**30-1)", "-2147483648", "n*n-1", "n/m"),
    ],
)
def test_a_constant_term_comes_to_what_clingo_says(term: str) -> None:
    constants = "#const n = 7+m. #const m = 2. [override] #const m = 5."
    *definitions, rule = read(f"{constants} p({term}) :- q.").rules
    (argument,) = rule.one("head").one("atom").one("symbol").many("arguments")
    number = Constants(definitions).number(argument)
    control = clingo.Control(logger=lambda _code, _message: None)
    control.add("base", [], f"{constants} p({term}).")
    control.ground([("base", [])])
    assert [a.symbol.arguments[0].number for a in control.symbolic_atoms] == [number] * (
        number is not None
    )


def test_windows_of_24_days_fit_times_in_milliseconds() -> None:
    """Alone in its request a window holds nothing older than its width."""
    assert parse("#from stream <s> [time 24d step 1ms].").unit == "ms"
    assert parse("#from stream <s> [time 90d step 1s].").unit == "s"


def test_feedback_is_of_the_declared_arity_only() -> None:
    text = "#feedback p/1. p(1). p(1,2). seen(X) :- prev_p(X). seen(X,Y) :- prev_p(X,Y)."
    reasoner = Reasoner(
        parse(f"#from stream <s> [time 0s step 1s]. {text} #show p/1. #show p/2. #show seen/2.")
    )
    list(reasoner.push(Item(1, "b", 0, stream="s")))
    found = list(reasoner.finish(2))
    assert found[1].answer_sets[0].atoms == ("p(1)", "p(1,2)")


def test_a_request_that_fails_says_so_at_every_evaluation() -> None:
    text = "#feedback p/1. 1 { p(1); p(2) } 1. #show p/1."
    reasoner = Reasoner(parse(f"#from stream <s> [time 1s step 1s]. {text}"))
    list(reasoner.push(Item(1, "c", 0, stream="s")))
    assert all(e.error for e in reasoner.finish(5))

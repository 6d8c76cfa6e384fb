"""Programs made to crash, stall or smuggle: they are read in bounded time, or refused."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import clingo
import pytest
from clingo import ast as clingo_ast
from clingo.ast import ASTType
from hypothesis import example, given
from hypothesis import strategies as st

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.casp.parsing import parse, read

pytestmark = pytest.mark.slow

LONG = 300_000


def codes(text: str) -> list[str]:
    """Codes of the faults of a text."""
    try:
        return [fault.code for fault in read(text).faults]
    except RequestError as error:
        return [error.code]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("p(" + "f(" * 100_000 + "1" + ")" * 100_000 + ").", ["nesting"]),
        ("p(" + "(" * 100_000 + "1" + ")" * 100_000 + ").", ["nesting"]),
        ("p(" + "(1;" * 100_000 + "1" + ")" * 100_000 + ").", ["nesting"]),
        ("p(" + "- " * 100_000 + "1).", ["nesting"]),
        ("p(" + "~" * 100_000 + "1).", ["nesting"]),
        ("p(" + "1+" * 100_000 + "1).", ["nesting"]),
        ("p(" + "1+" * 1_900 + "1).", ["nesting"]),
        ("p(" + "1.." * 100_000 + "1).", ["nesting"]),
        ("p(" + "|" * 100_000 + "1" + "|" * 100_000 + ").", ["nesting"]),
        (":- " + "{" * 100_000 + "a" + "}" * 100_000 + ".", ["nesting"]),
        ("p(" + "-f(1+(" * 20_000 + "1" + "))" * 20_000 + ").", ["nesting"]),
        ("p :- " + "not " * 10_000 + "q.", ["syntax"]),
        ("p :- " + "- " * 100_000 + "q.", ["nesting"]),
        ("p(" + "(1;2)," * 60 + "1).", ["pools"]),
        ("p(" + "(1;2)," * 24 + "1).", ["pools"]),
        ("p(" * 1000, ["nesting"]),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_deep_nesting_and_endless_chains_are_refused(text: str, wanted: list[str]) -> None:
    assert codes(text) == wanted


NESTED = [
    "p(" + "f(" * 190 + "1" + ")" * 190 + ").",
    "p(" + "1+" * 240 + "1).",
    "p(" + "-" * 240 + "1).",
    "p(X" + "+X" * 240 + ") :- q(X).",
    "|".join(f"a{i}" for i in range(1_900)) + ".",
    "#minimize { " + "; ".join(f"-1,{i} : a({i})" for i in range(2_100)) + " }.",
    ":- " + "a : b; " * 50 + "c.",
    "p(" + ",".join("X" * 1_000) + ") :- q(X).",
]


@pytest.mark.parametrize("text", NESTED, ids=lambda text: text[:12])
def test_what_is_large_but_sane_is_read_and_solved(text: str) -> None:
    control = clingo.Control(["--warn=none"], logger=lambda *_message: None)
    control.add("base", [], parse(text).rules)
    control.ground([("base", [])])
    assert control.solve().satisfiable is not None


MAKERS: dict[str, Callable[[], str]] = {
    "facts": lambda: "".join(f"p({i},a{i % 7}).\n" for i in range(LONG // 14)),
    "one long statement": lambda: "p(" + ",".join(map(str, range(LONG // 7))) + ").",
    "a long string": lambda: f'p("{"a" * LONG}").',
    "semicolons": lambda: ";" * LONG,
    "semicolons and lines": lambda: "a;\n" * (LONG // 3),
    "semicolons and separate parts": lambda: "a :- b" + ";c" * (LONG // 2) + ".",
    "spaces behind a semicolon": lambda: ("a;" + " " * 1_000) * (LONG // 1_100),
    "lines behind a semicolon": lambda: ("a;" + "\n" * 1_000) * (LONG // 1_100),
    "open comments": lambda: "%* " * (LONG // 3),
    "quotes": lambda: '"\n' * (LONG // 2),
    "brackets": lambda: "(" * LONG,
    "closing brackets": lambda: ")" * LONG,
    "prefixes": lambda: "#prefix a. " * (LONG // 11),
    "sources": lambda: "#from " * (LONG // 6),
    "unknown directives": lambda: "#x. " * (LONG // 4),
    "dots": lambda: ". " * (LONG // 2),
    "digits": lambda: f"p({'1' * LONG}).",
    "labels": lambda: "(a) " * (LONG // 4),
    "a long label": lambda: f"({'a' * LONG}) b.",
    "foreign letters": lambda: "é" * LONG,
    "errors": lambda: "a b. " * (LONG // 15),
    "unsafe rules": lambda: "a(X). " * (LONG // 30),
    "scripts": lambda: "#script " * (LONG // 8),
    "decimals": lambda: "a :- b(1.5" * (LONG // 10),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MAKERS)
def test_a_long_text_of_anything_is_read_or_refused_in_seconds(name: str) -> None:
    text = MAKERS[name]()
    started = time.process_time()
    codes(text)
    assert time.process_time() - started < 20  # on a loaded machine; at most 1 s measured alone


@pytest.mark.parametrize("size", [10_000_000, 2_000_001])
def test_a_larger_program_is_refused_at_once(size: int) -> None:
    with pytest.raises(RequestError, match="at most 2000000 characters; put facts into a file"):
        parse("p(1).\n" * (size // 6 + 1))


def test_more_rules_than_can_be_read_soon_are_refused() -> None:
    assert codes("a(X) :- b(X), not c(X).\n" * 20_000) == ["size"]


def test_none_of_this_takes_the_process_down() -> None:
    """clingo ends the process when its words are no UTF-8, or its stack is full."""
    script = (
        "from citywise.reasoning.languages.casp.parsing import read\n"
        "from citywise.reasoning.errors import RequestError\n"
        "for text in ('a(\\u00e9).', 'a(\"\\\\t\\u00e9\").', '\\ufeffa.', 'a.\\u00a0b.', "
        "'a :- b, #from <\"\\u00e9> c.', '\"\\u00e9', '#script \\u00e9 #end.', 'a\\x00.', "
        "'p(' + '-f(1+(' * 30000 + 'X' + '))' * 30000 + ') :- q(X).', "
        "'p(\"' + chr(0xd800) + '\").', '(\\u00e9) a.', '#show \\u00e9/1.'):\n"
        "    assert read(text).faults, text\n"
        "print('alive')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20)),
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


# --- What clingo sees is what we see --------------------------------------------------------

PIECES = st.sampled_from(
    ["a", "b(X)", ".", ". ", ";", ";\n", "\n", "\r\n", "\t", " ", ":-", ",", '"', '"%"', '"."', "%",
     "%*", "*%", "% c. d\n", "(r1) ", "(", ")", "[1]", ":~ ", "#show a/0", "#from <x.ttl>", "é",
     "#prefix x : <http://x/%20.>", "#from stream <s> [count 1 step 1]", "#script", "#end", "\\",
     "#include \"x\"", "#const n=1", "1", "..", "3.5", "'", "_", "not ", "{", "}", "|", "@f()",
     "\0", "\ufeff", "\u2028", "\x0b", "&t{}", "#program p", "#external a", "[true]"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join))
@example('#from <"%>. a. "%*"')
@example("a. %* % *% b. *%\n c. *% d.")
@example("(r1) #prefix x : <http://x/a.b>; a;")
@example('a("\\\\"). b("\\"). c(").')
def test_clingo_sees_exactly_the_rules_that_we_see_where_we_see_them(text: str) -> None:
    """Blanked text keeps line and column, and nothing in comments or directives gets out."""
    try:
        reading = read(text)
    except RequestError:
        return
    rules = reading.request.rules
    assert re.sub(r"[^\n]", "", rules) == re.sub(r"[^\n]", "", text)
    assert len(rules) == len(text)
    if reading.faults:
        return
    seen: list[tuple[int, int]] = []
    clingo_ast.parse_string(
        rules,
        lambda s: (
            seen.append((s.location.begin.line, s.location.begin.column))
            if s.ast_type not in (ASTType.Program, ASTType.Comment)
            else None
        ),
    )
    ours = [
        statement.start for statement in reading.statements
        if rules[statement.start : statement.end].strip()
    ]  # fmt: skip
    assert [reading.source.index(line, column) for line, column in seen] == ours


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_position_inside_it(text: str) -> None:
    lines = text.split("\n")
    for fault in read(text).faults:
        assert 1 <= fault.location.line <= len(lines)
        assert 1 <= fault.location.column <= len(lines[fault.location.line - 1]) + 1

"""Programs as text: what is unparsed reads back, and the manual's examples do what it says."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.asp.syntax import Terms
from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.program import LarsProgram, term_text, unparse
from citywise.reasoning.languages.lars.rules import term_tree
from citywise.reasoning.model import values
from citywise.reasoning.model.values import Compound, Computed, Constant, Term, Variable
from citywise.reasoning.run.language import check
from citywise.reasoning.run.recorded import Recorded
from tests.lars.program_text import program_text
from tests.lars.programs import programs

REPOSITORY = Path(__file__).parent.parent.parent
MANUAL = (REPOSITORY / "docs" / "lars.md").read_text(encoding="utf-8")

# --- Unparsing -----------------------------------------------------------------------------

_VARIABLES = st.sampled_from([Variable("X"), Variable("Y2"), Variable("_A")])
_VALUES = st.one_of(
    st.integers(-5, 2**31 - 1),
    st.sampled_from(["a", '"x \\"y\\n"', "#inf", "#sup", "_b'2", ("f", 1, ("", 2))]),
)
_BINARY = st.sampled_from(["+", "-", "*", "/", "\\", "**", "&", "?", "^"])
TERMS: st.SearchStrategy[Term] = st.recursive(
    st.one_of(_VARIABLES, st.builds(Constant, _VALUES)),
    lambda inner: st.one_of(
        st.builds(Compound, st.sampled_from(["", "f"]), st.tuples(inner) | st.tuples(inner, inner)),
        st.builds(Computed, _BINARY, st.tuples(inner, inner)),
        st.builds(Computed, st.sampled_from(["neg", "|", "~"]), st.tuples(inner)),
    ),
    max_leaves=8,
)


def folded(value: Any) -> Any:
    """A part of a program with its ground terms computed, as the parser does."""
    if isinstance(value, tuple):
        return tuple(map(folded, value))
    if not is_dataclass(value) or isinstance(value, type | Constant):
        return value
    value = replace(value, **{f.name: folded(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, Compound | Computed):
        ground = [part.value for part in value.arguments if isinstance(part, Constant)]
        if len(ground) == len(value.arguments):
            if isinstance(value, Compound):
                return Constant((value.name, *ground))
            found = values.computed(value.operation, ground)
            return value if found is None else Constant(found)
    return value


@pytest.mark.parametrize(
    "text",
    [
        *("X**Y**Z", "(X**Y)**Z", "X-Y-Z", "X-(Y-Z)", "X-Y*Z", "(X-Y)*Z", "X/(Y*Z)", "-X**2"),
        *(
            "(-X)**2",
            "X^Y?Z&W+1",
            "((X^Y)?Z)&W",
            "|X-|Y||",
            "-(-X)",
            "~X\\(Y+1)",
            "|X-Y|",
            "X+(-1)",
        ),
        *("f(X,(Y,),(),-3)", "X-(-Y)", "(X,Y)"),
    ],
)
def test_a_term_has_no_more_brackets_than_it_needs(text: str) -> None:
    tree = term_tree(text)
    assert tree is not None
    again = term_tree(term_text(Terms().read(tree)))
    assert again is not None
    assert Terms().read(again) == Terms().read(tree)
    assert term_text(Terms().read(tree)) in (text, _CANONICAL.get(text))


_CANONICAL = {"-X**2": "(-X)**2", "|X-|Y||": "|(X-|Y|)|"}


@given(TERMS)
@settings(max_examples=100)
def test_a_term_reads_back_with_the_brackets_it_was_given(term: Term) -> None:
    tree = term_tree(term_text(term))
    assert tree is not None
    assert Terms().read(tree) == folded(term)


@given(st.booleans().flatmap(programs))
@settings(max_examples=25)
def test_a_program_reads_back(program: LarsProgram) -> None:
    text = program_text(program)
    found = parse(text)
    assert [replace(rule, line=0) for rule in found.rules] == [
        folded(replace(rule, line=0)) for rule in program.rules
    ]
    assert (found.shows, found.streamed) == (program.shows, program.streamed)
    assert program_text(found) == program_text(parse(program_text(found)))


def test_every_directive_reads_back(tmp_path: Path) -> None:
    (tmp_path / "kb.ttl").write_text("")
    text = (
        "#prefix tl : <http://travel.org/>.\n#from stream <http://s>.\n#from <kb.ttl> [rdfs].\n"
        '#input tl_x/2.\n#scale tl_x 10.\n#timezone "Europe/Copenhagen".\n#show p/1.\n'
        "#stream p/1.\n(r1) @(T+1) p(X) :- @T tl_x(X,_) [#3], not q at least 2 [60].\n"
    )
    assert program_text(parse(text, folder=tmp_path)) == text


@pytest.mark.parametrize(
    "text",
    [
        "(r1) h :- <> a(X) [3].",
        "@T h :- @T a [#12], not [] b [0].",
        ":- a at least 3 [60], @5 b.",
        "p(1).",
    ],
)
def test_a_rule_is_printed_as_it_was_written(text: str) -> None:
    (rule,) = parse(text).rules
    assert unparse(rule) == text


# --- The manual ----------------------------------------------------------------------------

ROWS = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| .+ \|$", MANUAL, re.M)
EXAMPLES = re.findall(
    r"```lars\n(.*?)```\s*```json\n(.*?)```.*?```json\n(.*?)```", MANUAL, re.DOTALL
)


def found_in(folder: Path, text: str, *, partitioned: bool = False) -> list[str]:
    path = folder / "program.lars"
    path.write_text(text, encoding="utf-8")
    return [finding.code for finding in check(path, partitioned=partitioned)]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
@pytest.mark.parametrize("engine", ["auto", "solver"])
def test_an_example_of_the_manual_gives_the_results_it_shows(
    tmp_path: Path, number: int, engine: Any
) -> None:
    program, stream, results = EXAMPLES[number]
    (tmp_path / "p.lars").write_text(program, encoding="utf-8")
    (tmp_path / "s.jsonl").write_text(stream, encoding="utf-8")
    run = Recorded(tmp_path / "p.lars", [tmp_path / "s.jsonl"], engine=engine, limits=None)
    assert list(run.results()) == [json.loads(line) for line in results.splitlines()]
    assert not run.problems
    assert found_in(tmp_path, program) == []


def test_variables_that_arithmetic_binds_have_the_same_values_on_both_engines(
    tmp_path: Path,
) -> None:
    (tmp_path / "p.lars").write_text(
        "h(X) :- <> p(X+1) [3].\ng(T) :- @(T+1) p(_) [5].\ne(X) :- p(Y), 2*X = Y.\n"
        "i(X) :- p(Y), X = 1..3, X < Y.\nn(N,X) :- p(X-1) count N [3].\n"
    )
    (tmp_path / "s.jsonl").write_text('{"t": 1, "atom": "p(2)"}\n{"t": 2, "atom": "p(a)"}\n')
    for engine in ("incremental", "solver"):
        run = Recorded(tmp_path / "p.lars", [tmp_path / "s.jsonl"], engine=engine, limits=None)
        assert [found["answer_sets"] for found in run.results()] == [
            [["e(1)", "g(0)", "h(1)", "i(1)", "n(1,3)"]],
            [["g(0)", "g(1)", "h(1)", "i(1)", "i(2)", "i(3)", "n(1,3)"]],
        ]


def test_the_manual_lists_every_code_that_is_of_plain_lars() -> None:
    folder = REPOSITORY / "reasoning" / "languages" / "lars"
    readers = ("parsing", "elements", "rules", "bodies", "check")
    sources = [(folder / f"{name}.py").read_text(encoding="utf-8") for name in readers]
    raised = re.compile(r'(?:fault|error|_error|_warning|_number)\([^"]*?"([a-z-]+)"')
    found = {code for source in sources for code in raised.findall(source)} - {"warning"}
    casp = (REPOSITORY / "docs" / "casp.md").read_text(encoding="utf-8")
    known = {code for code, _example in ROWS} | set(re.findall(r"^\| `([a-z-]+)`", casp, re.M))
    assert len(found) > 10
    assert found <= known


@pytest.mark.parametrize(("code", "example"), ROWS)
def test_an_example_of_a_finding_has_it(tmp_path: Path, code: str, example: str) -> None:
    text, *said = example.strip().removeprefix("`").split("`")
    assert code in found_in(tmp_path, text, partitioned=bool(said[0]))


def test_the_manual_has_its_examples() -> None:
    assert len(EXAMPLES) >= 6
    assert len(ROWS) >= 15

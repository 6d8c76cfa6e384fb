"""Facts that no rule can match are left out, and no answer changes."""

from __future__ import annotations

import clingo
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.engine import WindowFacts
from citywise.reasoning.model.request import Signature
from citywise.reasoning.rdf.relevance import Relevance


def keeps(rules: str, fact: str) -> bool:
    symbol = clingo.parse_term(fact)
    name = symbol.name if symbol.positive else f"-{symbol.name}"
    arguments = [str(argument) for argument in symbol.arguments]
    return Relevance(parse(rules)).keeps(Signature(name, len(arguments)), arguments)


@pytest.mark.parametrize(
    ("rules", "fact", "kept"),
    [
        ('a(X) :- t(X,"jam"). ', 't(1,"jam")', True),
        ('a(X) :- t(X,"jam"). ', 't(1,"free")', False),
        ('a(X) :- t(X,"jam"). b(X) :- t(X,Y), Y > 1. ', 't(1,"free")', True),
        ('a(X) :- not t(X,"jam"), b(X). b(1). ', 't(1,"free")', False),
        ("a(X) :- t(X,1..3). ", "t(1,7)", True),
        ("a(X) :- t(X,f(Y)). ", "t(1,7)", True),
        ("#const k = 7. a(X) :- t(X,k). ", "t(1,7)", True),
        ("a(X) :- t(X,k). ", "t(1,7)", False),
        ("#const k = 7. a(X) :- t(X,7). ", "t(1,k)", True),
        ("#const k = 7. a(X) :- t(X,7). ", 't(1,"k")', False),
        ("a(X) :- t(X,1;X,2). ", "t(1,2)", True),
        ("a(X) :- t(X,1;X,2). ", "t(1,3)", False),
        ("a(N) :- N = #count { X : t(X,1) }. ", "t(1,1)", True),
        ("a(N) :- N = #count { X : t(X,1) }. ", "t(1,2)", False),
        ("a(X) :- b(X). b(1). #show a/1. ", "u(1)", False),
        ("a(X) :- b(X). b(1). #show a/1. #show u/1. ", "u(1)", True),
        ("t(X,1) :- b(X). b(1). ", "t(1,2)", True),
        ("-t(X,1) :- b(X). b(1). ", "t(1,1)", True),
        ("a :- -t(X,1). ", "t(1,2)", False),
        ("a :- -t(X,1). ", "-t(1,1)", True),
        (":~ t(X,3). [X] ", "t(1,3)", True),
        (":~ t(X,3). [X] ", "t(1,4)", False),
        ("#show X : t(X,3). ", "t(1,3)", True),
        ("#show X : t(X,3). ", "t(1,4)", True),
        ("a :- b. #show a/0. #show X : t(X,3). ", "t(1,4)", False),
        ("{ t(1,1) } 0. ", "t(1,1)", True),
        ("t(1,1) | b. ", "t(1,1)", True),
        ("a(X) :- t(X). ", "t(1,2)", False),
    ],
)
def test_a_fact_is_kept_where_an_atom_of_the_rules_could_match_it(
    rules: str, fact: str, kept: bool
) -> None:
    assert keeps(rules, fact) == kept


values = st.sampled_from(["1", "2", '"a"', "c"])
terms = st.one_of(values, st.sampled_from(["X", "Y"]))
names = st.sampled_from(["p", "q", "-p", "r"])
facts = st.builds("{}({},{})".format, names, values, values)
atoms = st.builds("{}({},{})".format, names, terms, terms)


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A rule that is safe because `dom` binds its variables."""
    body = draw(
        st.lists(st.builds("{}{}".format, st.sampled_from(["", "not "]), atoms), max_size=3)
    )
    form = draw(st.sampled_from(["{} :- {}.", "{{ {} }} :- {}.", "{}; s :- {}.", ":- s, {1}."]))
    if draw(st.booleans()):
        body.append(f"1 #count {{ Z : {draw(atoms)}, dom(Z) }}")
    return form.format(draw(atoms), ", ".join([*body, "dom(X)", "dom(Y)"]))


@given(
    st.lists(rules(), min_size=1, max_size=4),
    st.lists(facts, max_size=8, unique=True),
    st.sampled_from(["", "#show s/0. #show r/2. ", "#show s/0. #show X : p(X,1). "]),
)
def test_answers_are_the_same_with_and_without_irrelevant_facts(
    program: list[str], given_facts: list[str], shows: str
) -> None:
    assume(not any(f"-{fact}" in given_facts for fact in given_facts))
    text = "\n".join(program) + '\ndom(1). dom("a"). s :- not s, r(1,1).\n' + shows
    request = parse(text)
    relevance = Relevance(request)
    kept = []
    for fact in given_facts:
        symbol = clingo.parse_term(fact)
        name = fact.partition("(")[0]
        if relevance.keeps(Signature(name, 2), [str(a) for a in symbol.arguments]):
            kept.append(fact)
    engine = SolverEngine(request)
    assert engine.answer_sets(_window(kept)) == engine.answer_sets(_window(given_facts))


def _window(facts: list[str]) -> WindowFacts:
    return WindowFacts("".join(f"{fact}.\n" for fact in facts))

"""What is evaluated key by key is what an evaluation over all facts says of each key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import clingo
import pytest
from clingo.ast import parse_string
from hypothesis import event, given, settings
from hypothesis import strategies as st

from citywise.reasoning.asp.syntax import Node, copy
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.limits import LimitError
from citywise.reasoning.model.engine import AnswerSet, WindowFacts
from citywise.reasoning.model.request import Signature
from citywise.reasoning.run.keyed.evaluation import (
    Evaluated,
    KeyedAnswer,
    KeyedEvaluation,
    KeyedRules,
)
from citywise.reasoning.run.keyed.locality import Locality

KEYS = ('"a"', '"b"', '"c"')
THINGS = ('"x"', '"y"', '"z"')
PLACES = ('"p"', '"q"')
FACTS = {"of": (KEYS, THINGS), "at": (THINGS, PLACES), "big": (THINGS,), "far": (PLACES,)}
SUPPLIED = frozenset({Signature(n, len(a)) for n, a in FACTS.items()})
EVERYWHERE = frozenset({Signature("knows", 2)})
DERIVED = {"one": 1, "two": 2, "three": 2}


def trees(program: str) -> list[Node]:
    """The statements of a program."""
    found: list[Node] = []
    parse_string(program, lambda tree: found.append(copy(tree)))
    return found


def rules(program: str) -> KeyedRules:
    """What is known of a program over the facts of these tests."""
    return KeyedRules.of(trees(program), EVERYWHERE, SUPPLIED)


def whole(program: str, facts: Iterable[str]) -> list[list[str]]:
    """The answer sets of a program over all facts, by clingo alone."""
    control = clingo.Control(["0", "--warn=none", "--opt-mode=optN"])
    control.add("base", [], f"{program}\n" + "".join(f"{fact}.\n" for fact in facts))
    control.ground([("base", [])])
    with control.solve(yield_=True) as models:
        return sorted(sorted(str(a) for a in model.symbols(shown=True)) for model in models)


class Clingo:
    """An engine that counts what it is asked, and may refuse facts."""

    def __init__(self, program: str, refused: str | None = None) -> None:
        self.program, self.refused = program, refused
        self.calls: list[str] = []

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        del models
        self.calls.append(window.text)
        if self.refused is not None and self.refused in window.text:
            raise LimitError("too much")
        found = whole(self.program, window.text.replace(".\n", "\n").splitlines())
        return tuple(AnswerSet(tuple(atoms)) for atoms in found)

    def close(self) -> None:
        """Nothing is held."""


def keyed(
    program: str, refused: str | None = None, together: int = 10
) -> tuple[KeyedEvaluation, Clingo]:
    """An evaluation of a program, and the engine it asks."""
    engine = Clingo(program, refused)
    return KeyedEvaluation(rules(program), engine, SUPPLIED, together), engine


def put(evaluation: KeyedEvaluation, atoms: Iterable[tuple[str, ...]]) -> None:
    """Let these atoms (predicate and arguments) be all the facts."""
    wanted = set(atoms)
    for entity in list(evaluation.facts.entities):
        for group in evaluation.facts.groups(entity):
            if group not in wanted:
                evaluation.facts.put(entity, group, ())
    for atom in wanted:
        name, entity, *others = atom
        evaluation.facts.put(entity, atom, [text(atom)], others)
        del name


def text(atom: Sequence[str]) -> str:
    return f"{atom[0]}({','.join(atom[1:])})"


def of_key(atoms: Iterable[str], key: str) -> tuple[str, ...]:
    return tuple(sorted(a for a in atoms if a.startswith((f"n({key},", f"n({key})"))))


GUARDS = {
    "M": ["of(M,_)", "of(M,E)"],
    "E": ["of(M,E)", "of(M,E)", "at(E,_)", "of(_,E)", "big(E)"],
    "P": ["at(E,P)", "at(E,P)", "at(_,P)", "far(P)"],
}
"""What may bind a variable: sometimes to what is reached, sometimes to anything."""
VARIABLES = st.sampled_from(["M", "E", "P", "_"])


@st.composite
def atoms_of(draw: st.DrawFn, names: Sequence[str]) -> str:
    """An atom about M, E or P, mostly as it is meant."""
    name = draw(st.sampled_from([*FACTS, "knows", *names]))
    meant = {"of": ("M", "E"), "at": ("E", "P"), "big": ("E",), "far": ("P",)}.get(name)
    arity = len(meant) if meant else {"knows": 2, **DERIVED}[name]
    if meant is None or draw(st.integers(0, 19)) == 0:
        meant = tuple(draw(VARIABLES) for _ in range(arity))
    return f"{name}({','.join(meant)})"


@st.composite
def literals(draw: st.DrawFn, names: Sequence[str]) -> str:
    """An atom, perhaps negated, under a condition, or counted."""
    atom, other = draw(atoms_of(names)), draw(atoms_of(names))
    sign = draw(st.sampled_from(["", "not "]))
    forms = [atom, atom, atom, f"not {atom}", f"{atom} : {other}"]
    counted = f"#count{{ E,P : {atom}, {sign}{other} }}"
    return draw(st.sampled_from([*forms, f"1 <= {counted}", f"{counted} < 2"]))


LAYERS: list[tuple[str, list[str]]] = [
    ("one", []),
    ("two", ["one"]),
    ("three", ["one", "two"]),
    ("n", ["one", "two", "three"]),
]
TAME = {"M": ["of(M,_)", "of(M,E)", "of(M,E), at(E,P)"], "E": ["", "at(E,_)", "at(E,P)"]}
"""What binds M, E and P in a rule about M, and E and P in one about E."""


@st.composite
def rules_about(draw: st.DrawFn, head: str, names: Sequence[str], tame: bool) -> str:
    """A safe rule; a tame one is about M or E, and may well be local."""
    body = draw(st.lists(literals(names), min_size=1, max_size=3))
    root = "M" if head == "n" else draw(st.sampled_from("ME" if tame else "MEP"))
    second = draw(st.sampled_from("EP"))
    if tame and root == "E":
        body = [literal for literal in body if "M" not in literal and "_" not in literal]
    used = {v for v in "MEP" if any(v in literal for literal in body)} | {root}
    used |= {second} if DERIVED.get(head, 2) == 2 else set()
    if tame:
        guards = [TAME[root]["MEP".index(v)] for v in sorted(used)]
    else:
        guards = [draw(st.sampled_from(GUARDS[v])) for v in sorted(used)]
    arguments = root if DERIVED.get(head, 2) == 1 else f"{root},{second}"
    return f"{head}({arguments}) :- {'; '.join([*guards, *body])}."


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A stratified program in four layers."""
    tame = draw(st.booleans())
    lines = ['knows("p","x"). knows("x","q"). #show n/2.']
    for head, names in LAYERS:
        for _rule in range(draw(st.integers(1, 2))):
            lines.append(draw(rules_about(head, names, tame)))
    return "\n".join(lines)


ATOMS = st.sets(
    st.one_of(*(st.tuples(st.just(n), *map(st.sampled_from, a)) for n, a in FACTS.items())),
    min_size=3,
    max_size=14,
)


@settings(max_examples=90)
@given(programs(), st.lists(ATOMS, min_size=1, max_size=3), st.integers(1, 3))
def test_each_key_gets_what_an_evaluation_over_all_facts_gives_it(
    program: str, steps: list[set[tuple[str, ...]]], together: int
) -> None:
    """After any changes, for local programs and others, however the keys are batched."""
    evaluation, _engine = keyed(program, together=together)
    event(f"local: {rules(program).local}")
    for key in KEYS:
        evaluation.add(key)
    for atoms in steps:
        put(evaluation, atoms)
        found = evaluation.evaluate()
        (expected,) = whole(program, map(text, atoms))
        assert not found.errors
        for key in KEYS:
            assert evaluation.answer(key) == of_key(expected, key)


LOCAL = """
#show n/2.
one(E) :- big(E), at(E,P), not far(P).
n(M,E) :- of(M,E), one(E), knows(_,_), 1 <= #count{ P : at(E,P), not far(P) }.
"""


def test_only_keys_that_reach_what_changed_are_evaluated() -> None:
    evaluation, engine = keyed(LOCAL)
    for key in KEYS:
        evaluation.add(key)
    put(evaluation, [("of", '"a"', '"x"'), ("of", '"b"', '"y"'), ("at", '"x"', '"p"')])
    assert evaluation.evaluate().keys == KEYS
    evaluation.facts.put('"p"', "far", ['far("p")'])
    found = evaluation.evaluate()
    assert found.keys == ('"a"',)
    assert 'of("b"' not in engine.calls[-1]
    assert not evaluation.is_due()
    assert evaluation.evaluate().keys == ()


def test_facts_that_go_everywhere_concern_all_keys() -> None:
    evaluation, engine = keyed("#show n/2. n(M,E) :- of(M,E), knows(E,yes).")
    evaluation.add('"a"')
    evaluation.add('"b"')
    put(evaluation, [("of", '"a"', '"x"')])
    evaluation.evaluate()
    evaluation.everywhere("k", ['knows("x",yes)'])
    found = evaluation.evaluate()
    assert found.keys == ('"a"', '"b"')
    assert found.answers == {'"a"': KeyedAnswer((), ('n("a","x")',))}
    assert len(engine.calls) == 2


def test_a_key_that_is_removed_ends_with_an_empty_answer() -> None:
    evaluation, _engine = keyed("#show n/2. n(M,E) :- of(M,E).")
    evaluation.add('"a"')
    put(evaluation, [("of", '"a"', '"x"')])
    evaluation.evaluate()
    evaluation.remove('"a"')
    assert evaluation.evaluate().answers == {'"a"': KeyedAnswer(('n("a","x")',), ())}
    assert evaluation.answer('"a"') == ()


def test_a_key_whose_facts_cannot_be_evaluated_does_not_stop_the_others() -> None:
    evaluation, _engine = keyed("#show n/2. n(M,E) :- of(M,E).", refused='of("b"')
    for key in KEYS:
        evaluation.add(key)
    put(evaluation, [("of", key, '"x"') for key in KEYS])
    found = evaluation.evaluate()
    assert found.errors == {'"b"': "too much"}
    assert evaluation.answer('"a"') == ('n("a","x")',)
    assert evaluation.answer('"c"') == ('n("c","x")',)


def test_what_fails_for_every_key_is_not_tried_for_every_key() -> None:
    evaluation, engine = keyed("#show n/2. n(M,E) :- of(M,E).", refused="of(", together=1000)
    names = [f'"k{number}"' for number in range(500)]
    for name in names:
        evaluation.add(name)
        evaluation.facts.put(name, "of", [f'of({name},"x")'])
    found = evaluation.evaluate()
    assert set(found.errors) == set(names)
    assert len(engine.calls) < 60


def test_keys_of_a_program_that_chooses_are_evaluated_one_by_one() -> None:
    program = "#show n/2. { n(M,E) : of(M,E) } = 1 :- of(M,_). :- n(M,E), big(E)."
    evaluation, engine = keyed(program)
    evaluation.add('"a"')
    evaluation.add('"b"')
    put(evaluation, [("of", '"a"', '"x"'), ("of", '"a"', '"y"'), ("of", '"b"', '"z"')])
    evaluation.facts.put('"z"', "big", ['big("z")'])
    found = evaluation.evaluate()
    assert evaluation.answer('"a"') == ('n("a","x")',)
    assert found.errors == {'"b"': "its constraints leave no answer"}
    assert len(engine.calls) == 2


@pytest.mark.parametrize(
    ("program", "leap"),
    [
        ("n(M,E) :- of(M,E), big(X).", "big(X)"),
        ("n(M,E) :- of(M,E), not far(P), at(X,P).", "far(P)"),
        ("n(M,E) :- of(M,E), of(X,E).", "of(X,E)"),
        ("n(M,T) :- of(M,_), knows(T,_), big(T).", "big(T)"),
        ("any :- big(E). n(M,E) :- of(M,E), any.", "big(E)"),
        ("n(M,N) :- of(M,_), N = #count{ E : big(E) }.", "big(E)"),
        ("one(M,T) :- of(M,_), knows(T,_). n(M,T) :- one(M,T), big(T).", "big(T)"),
        ("n(E,M) :- of(M,E).", "of(M,E)"),
        ('n(M,E) :- of(M,E), big("x").', 'big("x")'),
        (":- of(M,E), at(X,P).", "of(M,E)"),
        ("{ n(M,x) : of(M,_) } = 1.", "of(M,_)"),
        ("n(M,x) : of(M,_).", "of(M,_)"),
        ("n(M,E) :- of(M,E), not has(_).  has(M) :- of(M,_).", "has(_)"),
    ],
)
def test_a_rule_that_reads_of_everybody_is_found(program: str, leap: str) -> None:
    found = Locality(trees(program), EVERYWHERE, SUPPLIED).leaps
    assert [found_leap.atom for found_leap in found][:1] == [leap]


@pytest.mark.parametrize(
    "program",
    [
        "n(M,P) :- of(M,E), at(E,P), not far(P).",
        "one(E) :- at(E,P), far(P). n(M,E) :- of(M,E), one(E).",
        "two(M,E) :- of(M,E). n(M,P) :- two(M,E), at(E,P), not big(E).",
        "n(M,N) :- of(M,_), N = #sum{ 1,E : of(M,E), at(E,P), not far(P) }.",
        "n(M,E) :- of(M,E), far(P) : at(E,P).",
        "n(M,E) :- of(M,E), knows(E,_), not knows(_,E).",
        'kind("k"). n(M,K) :- of(M,_), kind(K).',
        ":- of(M,E), at(E,P), far(P).",
        "#minimize{ 1,M,E : of(M,E), big(E) }.",
        "n(M,E) :- of(M,E), n(M,F), at(F,_), at(E,_).",
    ],
)
def test_a_rule_that_reaches_what_it_reads_is_local(program: str) -> None:
    assert Locality(trees(program), EVERYWHERE, SUPPLIED).leaps == ()


def test_no_facts_name_nothing() -> None:
    evaluation, _engine = keyed("#show n/2. n(M,E) :- of(M,E).")
    evaluation.facts.put('"a"', "of", [], ['"x"'])
    assert evaluation.facts.reaching(['"x"']) == {'"x"'}
    evaluation.facts.put('"a"', "of", ['of("a","x")'], ['"x"'])
    evaluation.facts.put('"a"', "of", [], ['"x"'])
    assert list(evaluation.facts.entities) == []


def test_arguments_that_name_nothing_reach_nothing() -> None:
    program = "n(M,E) :- of(M,E), big(E)."
    names = {Signature("of", 2): (1,)}
    assert Locality(trees(program), (), SUPPLIED, names).leaps == ()
    assert [leap.atom for leap in Locality(trees(program), (), SUPPLIED, {}).leaps] == ["big(E)"]
    derived = "two(M,E) :- of(M,E). n(M,E) :- two(M,E), big(E)."
    assert Locality(trees(derived), (), SUPPLIED, {}).leaps != ()


def test_an_answer_given_elsewhere_is_what_the_next_is_compared_with() -> None:
    evaluation, _engine = keyed("#show n/2. n(M,E) :- of(M,E).")
    evaluation.add('"a"')
    evaluation.evaluate()
    evaluation.adopt('"a"', ['n("a","old")'])
    evaluation.adopt('"unknown"', ['n("unknown","old")'])
    assert evaluation.failed == {'"a"'}
    put(evaluation, [("of", '"a"', '"x"')])
    assert evaluation.evaluate().answers == {'"a"': KeyedAnswer(('n("a","old")',), ('n("a","x")',))}
    assert evaluation.failed == set()


def test_what_failed_is_said_of_each_key_where_keys_cannot_be_told_apart() -> None:
    evaluation, _engine = keyed("#show n/2. n(M,E) :- of(M,E), big(X).", refused="big")
    evaluation.add('"a"')
    put(evaluation, [("of", '"a"', '"x"'), ("big", '"x"')])
    found = evaluation.evaluate()
    assert isinstance(found, Evaluated)
    assert found.errors == {'"a"': "too much"}
    assert issubclass(LimitError, SolvingError)

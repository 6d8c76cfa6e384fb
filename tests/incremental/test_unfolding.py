"""Rules over rows that were never taken apart say what they say over triples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import pytest

from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.engines.programs import ProgramEngine, foreseen
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.engine import (
    Atoms,
    Entered,
    Shape,
    WindowChange,
    WindowFacts,
    program,
)
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.model.rules import Program, Scan
from citywise.reasoning.model.unfolding import rows_apart, unfolded
from citywise.reasoning.model.values import Row, atom_text

WHOLE = ("f/3", "s/2", "c/2")
WIDTH = 3
SUPPLIED = frozenset({Signature("f", 3), Signature("s", 2), Signature("c", 2)})
RULES = (
    "reading(R,T,O,S,C) :- f(O,R,T), s(O,S), c(O,C).",
    "slow(R,T,O,S) :- f(O,R,T), s(O,S), c(O,C), S <= 2, C >= 1.",
    "slow(R,T,O,S) :- reading(R,T,O,S,C), S <= 1.",
    "fast(R,T,O) :- reading(R,T,O,S,C), S > 2.",
    "fast(R,T,O) :- f(O,R,T), c(O,C), C < 1.",
    "freed(R) :- fast(R,_,_).",
    "last(R,T) :- freed(R), T = #max{ U : fast(R,U,_) }.",
    "fresh(R,T) :- slow(R,T,_,_), not freed(R).",
    "fresh(R,T) :- slow(R,T,_,_), last(R,F), T > F.",
    "stands(R) :- open(R), not freed(R).",
    "many(R,N) :- open(R), N = #count{ O : fast(R,_,O) }.",
    "first(R,T) :- open(R), fast(R,T,_), T = #min{ U : fast(R,U,_) }.",
    "pair(O,P) :- s(O,S), s(P,S), O < P.",
    "twice(O,X,Y) :- s(O,X), s(O,Y), X < Y.",
    "met(R) :- slow(R,_,O,_), c(O,S), s(O,S).",
    "lacks(O) :- f(O,_,_), not c(O,1).",
    "one(O) :- s(O,3), c(O,C), C != 2.",
    "both(R) :- slow(R,_,_,_), fast(R,_,_).",
    "again(R) :- both(R), open(R).",
    "same(O,T) :- f(O,\"r1\",T), s(O,S), S = T \\ 4.",
)  # fmt: skip


@dataclass
class Stream:
    """Rows that enter, each in a window of `WIDTH` steps, and atoms `open` that come and go."""

    random: Random
    steps: int
    clashes: bool
    inside: list[tuple[int, Shape, Row]] = field(default_factory=list)
    open: set[str] = field(default_factory=set)

    def changes(self) -> Iterator[tuple[WindowChange, str]]:
        """What the engine is told at each step, and the window's facts."""
        for now in range(self.steps):
            entered: dict[int | None, Atoms] = {}
            until = now + WIDTH - 1
            for shape, row in self._new(now):
                entered.setdefault(until, Atoms()).shaped[shape].append(row)
                self.inside.append((until, shape, row))
            self.inside = [each for each in self.inside if each[0] >= now]
            toggled = {f'open("r{self.random.randrange(4)}")' for _ in range(2)}
            came, gone = toggled - self.open, toggled & self.open
            self.open ^= toggled
            entered.setdefault(None, Atoms()).texts.extend(sorted(came))
            yield self._change(now, entered, sorted(gone)), self._facts()

    def _new(self, now: int) -> Iterator[tuple[Shape, Row]]:
        for number in range(self.random.randrange(5)):
            place = f'"r{self.random.randrange(4)}"'
            values = {"s/2": self.random.randrange(4), "c/2": self.random.randrange(3)}
            if self.random.random() < 0.1:
                del values[self.random.choice([*values])]
            name = f'"o{now}_{number}"'
            if self.clashes and self.random.random() < 0.1:
                name = f'"o{max(now - 1, 0)}_0"'
            yield Shape(("f/3", *values)), (name, now, place, *values.values())

    def _change(self, now: int, entered: Entered, left: list[str]) -> WindowChange:
        def whole() -> Entered:
            found: dict[int | None, Atoms] = {None: Atoms(sorted(self.open))}
            for until, shape, row in self.inside:
                found.setdefault(until, Atoms()).shaped[shape].append(row)
            return found

        facts = self._facts()
        size = facts.count("\n")
        window = WindowFacts(facts, SUPPLIED)
        return WindowChange(now, entered, left, SUPPLIED, size, False, whole, lambda: window)

    def _facts(self) -> str:
        atoms = set(self.open)
        for _until, shape, row in self.inside:
            for relation, rows in rows_apart(shape, [row], ()).items():
                atoms |= {atom_text(relation.partition("/")[0], each) for each in rows}
        return "".join(f"{atom}.\n" for atom in sorted(atoms))


def request_of(random: Random) -> Request:
    """A program of some of the rules, that shows some of what they derive."""
    rules = random.sample(RULES, random.randrange(4, 14))
    heads = sorted({rule.partition("(")[0] for rule in rules})
    arity = {rule.partition("(")[0]: rule.partition(")")[0].count(",") + 1 for rule in RULES}
    shown = random.sample(heads, random.randrange(1, len(heads) + 1))
    shows = "".join(f"#show {name}/{arity[name]}.\n" for name in shown)
    return parse("#from stream <urn:s> [time 1s step 1s].\n" + "\n".join(rules) + f"\n{shows}")


def engine(request: Request, *, unfold: bool) -> ProgramEngine:
    """The incremental engine of a request."""
    what = program(request, SUPPLIED)
    return ProgramEngine(what, supplied=foreseen(request) | SUPPLIED, unfold=unfold)


def agree(seed: int, steps: int, clashes: bool) -> None:
    """Fail at the first step at which the ways differ, or differ from clingo."""
    random = Random(seed)
    request = request_of(random)
    whole, apart = engine(request, unfold=True), engine(request, unfold=False)
    solver = SolverEngine(request, None)
    for change, facts in Stream(random, steps, clashes).changes():
        expected = solver.answer_sets(WindowFacts(facts, SUPPLIED))[0].atoms
        for each in (whole, apart):
            found = each.changed(change).answer_sets[0].atoms
            assert (request.rules, change.now, found) == (request.rules, change.now, expected)


@pytest.mark.parametrize("clashes", [False, True], ids=["one row a subject", "some with more"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_say_the_same_of_rows_as_of_triples(seed: int, clashes: bool) -> None:
    agree(seed, 25, clashes)


@pytest.mark.long
def test_many_random_programs_say_the_same_of_rows_as_of_triples() -> None:
    for seed in range(100, 400):
        agree(seed, 60, clashes=seed % 3 == 0)


def over_rows(text: str) -> Program:
    """A program over the rows of whole readings."""
    request = parse(f"#from stream <urn:s> [time 1s step 1s].\n{text}")
    made = engine(request, unfold=True)
    return unfolded(made._atoms.translated.program, (Shape(WHOLE),)).program


def test_a_join_on_the_subject_becomes_one_look_at_a_row() -> None:
    found = over_rows("p(R,S,C) :- f(O,R,T), s(O,S), c(O,C), S < 3.\n#show p/3.")
    (rule,) = found.rules
    scans = [literal for literal in rule.body if isinstance(literal, Scan)]
    assert [scan.relation for scan in scans] == [Shape(WHOLE).relation]
    assert found.inputs == {Shape(WHOLE).relation}


def test_a_predicate_that_is_negated_keeps_its_triples() -> None:
    found = over_rows("p(O) :- f(O,R,T), s(O,S), not c(O,1).\n#show p/1.")
    assert found.inputs == {Shape(WHOLE).relation, "c/2"}


def test_a_relation_has_only_rows_that_something_asks_for() -> None:
    found = over_rows("free(R,O) :- f(O,R,T), s(O,S), S > 2.\nq(R) :- open(R), not free(R,1).")
    assert any(head.startswith("#wanted") for head in (rule.head for rule in found.rules)) is False
    found = over_rows(
        "free(R,O) :- f(O,R,T), s(O,S), S > 2.\nq(R) :- open(R), not free(R,_).\n#show q/1."
    )
    wanted = [rule for rule in found.rules if rule.head.startswith("#wanted")]
    assert [look.relation for rule in wanted for look in rule.looks.values()] == ["open/1"]

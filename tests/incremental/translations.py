"""A translated program and clingo over the same windows of facts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from citywise.reasoning.asp.translation.program import Translated, split, translate
from citywise.reasoning.engines.clingo.solver import Solving
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.model import values
from citywise.reasoning.model.engine import AnswerSet, AspProgram
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import FALSE
from citywise.reasoning.model.values import Row

Window = frozenset[str]
"""The facts of a window, as atoms."""
DOMAIN = ("0", "1", "2", "3", "a", "f(1)")


def program(rules: str) -> AspProgram:
    """A program of some rules, with priorities 2, 1 and 0 if it prefers some answers."""
    prefers = ":~" in rules or "imize" in rules
    return AspProgram("test", rules, (2, 1, 0) if prefers else ())


def windows(inputs: str, count: int = 6, domain: Sequence[str] = DOMAIN) -> Iterator[Window]:
    """Windows with some of the atoms of predicates `p/1 q/2`, always the same ones, which
    change by little and by much."""
    chance = random.Random(inputs)
    atoms = [atom for written in inputs.split() for atom in _atoms(written, domain)]
    current: set[str] = set()
    for number in range(count):
        share = (0.3, 0.05, 0.1, 0.6, 0.02, 1.0)[number % 6]
        current ^= {atom for atom in atoms if chance.random() < share}
        yield frozenset(current)


def _atoms(written: str, domain: Sequence[str]) -> Iterator[str]:
    name, _, arity = written.partition("/")
    for arguments in product(domain, repeat=int(arity)):
        yield f"{name}({','.join(arguments)})" if arguments else name


def signatures(inputs: str) -> frozenset[Signature]:
    """The predicates that `p/1 q/2` names."""
    pairs = (written.partition("/") for written in inputs.split())
    return frozenset(Signature(name, int(arity)) for name, _, arity in pairs)


class Incremental:
    """A translated program, moved from window to window."""

    def __init__(self, translated: Translated) -> None:
        self.translated = translated
        self.evaluation = RuleEvaluation(translated.program)
        for relation, rows in translated.facts.items():
            self.evaluation.insert(relation, rows)
        self._constrained = any(rule.head == FALSE for rule in translated.program.rules)
        self._given: Mapping[str, list[Row]] = {}
        self._now = 0

    def move(self, window: Window) -> None:
        """Take what is new in a window, and leave what is gone."""
        rows = self.translated.rows(sorted(window))
        for relation, before in self._given.items():
            kept = {*rows.get(relation, ()), *self.translated.facts.get(relation, ())}
            self.evaluation.retract(relation, [row for row in before if row not in kept])
        for relation, after in rows.items():
            before = self._given.get(relation, [])
            self.evaluation.insert(relation, [row for row in after if row not in before])
        self._given, self._now = rows, self._now + 1
        self.evaluation.step(self._now)

    def atoms(self, shown: Iterable[Signature]) -> list[str]:
        """The atoms of predicates that hold."""
        return [
            values.atom_text(signature.name, row)
            for signature in shown
            for row in self.evaluation.rows(str(signature))
        ]

    def answers(self) -> tuple[AnswerSet, ...]:
        """The answer, if there is one."""
        if self._constrained and self.evaluation.rows(FALSE):
            return ()
        return (AnswerSet(tuple(sorted(self.atoms(self.translated.shows)))),)


def solved(what: AspProgram, facts: Iterable[str]) -> tuple[AnswerSet, ...]:
    """What clingo answers."""
    solving = Solving(what)
    solving.add("base", what.rules, "".join(f"{fact}.\n" for fact in facts))
    solving.ground("base")
    return solving.answer_sets()


def check(rules: str, inputs: str, given: Iterable[Window]) -> None:
    """Fail at the first window at which a translated program and clingo differ."""
    what = program(rules)
    ours = Incremental(translate(what, signatures(inputs)))
    for number, window in enumerate(given):
        ours.move(window)
        expected = solved(what, window)
        assert ours.answers() == expected, (number, sorted(window))


def check_split(rules: str, inputs: str, given: Iterable[Window]) -> None:
    """Fail at the first window at which the two parts of a program and clingo differ."""
    what = program(rules)
    parts = split(what, signatures(inputs))
    assert parts.bottom is not None
    ours = Incremental(parts.bottom)
    for number, window in enumerate(given):
        ours.move(window)
        found: set[AnswerSet] = set()
        for below in ours.answers():
            for above in solved(parts.top, ours.atoms(parts.interface)):
                atoms = tuple(sorted((*below.atoms, *above.atoms)))
                found.add(AnswerSet(atoms, above.cost))
        assert tuple(sorted(found)) == solved(what, window), (number, sorted(window))

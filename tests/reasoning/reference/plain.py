"""Requests as text over long recordings: clingo on the facts of each window (docs/casp.md).

Windows are those of `requests`; nothing is kept from one evaluation to the next but what is
fed back, so that nothing can be lost there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import clingo
from clingo.ast import AST, ASTType, Transformer, parse_string

from citywise.reasoning.model.request import StreamSource
from tests.reasoning.reference.answers import TooLargeError
from tests.reasoning.reference.requests import Answer, contents

MOST_ANSWERS = 60
"""Answer sets of one window from which on a request is given up."""
Named = tuple[str, int]
"""Name and arity of a predicate."""


@dataclass(frozen=True)
class Arrival:
    """A ground atom on a stream, that holds from its time until its end."""

    time: int
    atom: str
    stream: str
    end: int


@dataclass(frozen=True)
class Request:
    """Rules and what is declared about them; all predicates of streams and knowledge are known
    before the first evaluation."""

    rules: str
    streams: tuple[StreamSource, ...]
    arrivals: tuple[Arrival, ...]
    knowledge: tuple[str, ...] = ()
    lateness: int = 0
    feedback: frozenset[Named] = field(default_factory=frozenset)
    shows: frozenset[Named] | None = None

    def shown(self, symbol: clingo.Symbol) -> bool:
        """Whether an atom is shown: it is declared to be, or derived and never supplied, or fed
        back."""
        if self.shows is not None:
            return named(symbol) in self.shows
        if named(symbol) in self.feedback:
            return True
        return named(symbol) not in self._supplied and not symbol.name.startswith("prev_")

    @cached_property
    def _supplied(self) -> frozenset[Named]:
        given = (*self.knowledge, *(arrival.atom for arrival in self.arrivals))
        return frozenset(named(clingo.parse_term(atom)) for atom in given)


@dataclass(frozen=True)
class Evaluation:
    """The answers at a time, and what they rest on."""

    time: int
    answers: tuple[Answer, ...]
    """The shown atoms of each answer set, sorted, and its cost."""
    ambiguous: bool
    """Whether there is an error instead: what is fed back would not be one answer's."""
    fed_back: tuple[str, ...]
    window: tuple[Arrival, ...]

    @property
    def facts(self) -> frozenset[str]:
        """What the windows hold and the evaluation before fed back."""
        return frozenset(a.atom for a in self.window) | set(map(prev, self.fed_back))

    @property
    def atoms(self) -> frozenset[str]:
        """The shown atoms of the first answer set."""
        return frozenset(self.answers[0][0]) if self.answers else frozenset()


def evaluations(request: Request) -> Iterator[Evaluation]:
    """The answers at every tick of a window, in order."""
    solver = Solver(request)
    previous: tuple[str, ...] = ()
    for time, window in contents(request, request.arrivals):
        facts = frozenset(arrival.atom for arrival in window)
        found = solver.answers(facts | set(map(prev, previous)))
        ambiguous = bool(request.feedback) and len(found) > 1
        yield Evaluation(time, () if ambiguous else found, ambiguous, previous, tuple(window))
        if found and not ambiguous:
            previous = tuple(
                a for a in found[0][0] if named(clingo.parse_term(a)) in request.feedback
            )


class Solver:
    """Clingo on a window, from nothing; an equal window is not asked twice."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._rules = request.rules + "".join(f"{fact}.\n" for fact in request.knowledge)
        self._costs = len(set(re.findall(r"\[\d+@(\d+)", request.rules)))
        self._mentioned = mentioned(request)
        self._known: dict[frozenset[str], tuple[Answer, ...]] = {}

    def answers(self, facts: frozenset[str]) -> tuple[Answer, ...]:
        """The best answer sets, projected onto the shown atoms, sorted."""
        if facts not in self._known:
            self._known[facts] = tuple(sorted(self._solved(facts)))
        return self._known[facts]

    def _solved(self, facts: Iterable[str]) -> set[Answer]:
        control = clingo.Control(["--warn=none", "--opt-mode=optN", str(MOST_ANSWERS + 1)])
        seen = [fact for fact in facts if _unsigned(clingo.parse_term(fact)) in self._mentioned]
        control.add("base", [], self._rules + "".join(f"{fact}.\n" for fact in seen))
        control.ground([("base", [])])
        found: set[Answer] = set()
        with control.solve(yield_=True) as handle:
            for number, model in enumerate(handle):
                if number > MOST_ANSWERS:
                    raise TooLargeError(f"more than {MOST_ANSWERS} answer sets")
                if not model.cost or model.optimality_proven:
                    atoms = filter(self._request.shown, model.symbols(atoms=True))
                    cost = tuple(model.cost) or (0,) * self._costs
                    found.add((tuple(sorted(map(str, atoms))), cost))
        return found


class _Mentions(Transformer):
    """The predicates of rules."""

    def __init__(self) -> None:
        self.found: set[Named] = set()

    def visit_SymbolicAtom(self, node: AST) -> AST:  # noqa: N802 - as clingo calls it
        """Note a predicate, classically negated or not."""
        atom = node.symbol
        while atom.ast_type == ASTType.UnaryOperation:
            atom = atom.argument
        self.found.add((atom.name, len(atom.arguments)))
        return node


def mentioned(request: Request) -> frozenset[Named]:
    """The predicates that a request names; facts of others are not looked at, so that they
    cannot contradict one another either."""
    mentions, statements = _Mentions(), list[AST]()
    parse_string(request.rules, statements.append)
    for statement in statements:
        mentions.visit(statement)
    declared = (request.shows or frozenset()) | request.feedback
    return frozenset(mentions.found | {(name.removeprefix("-"), n) for name, n in declared})


def _unsigned(symbol: clingo.Symbol) -> Named:
    return symbol.name, len(symbol.arguments)


def named(symbol: clingo.Symbol) -> Named:
    """The predicate of an atom."""
    return "-" * symbol.negative + symbol.name, len(symbol.arguments)


def prev(atom: str) -> str:
    """An atom of one evaluation as the next one sees it."""
    return f"prev_{atom}"


def changes(
    evaluations: Sequence[Evaluation],
) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    """What came with each evaluation that has an answer, and what went, against the one before
    (one without answer sets has no atoms)."""
    answered = [e for e in evaluations if not e.ambiguous]
    before = [frozenset[str](), *(e.atoms for e in answered)]
    for e, (old, new) in zip(answered, pairwise(before), strict=True):
        yield e.time, tuple(sorted(new - old)), tuple(sorted(old - new))

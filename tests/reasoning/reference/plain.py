"""Requests as text over long recordings: clingo on the facts of each window (docs/casp.md).

Windows are those of `requests`; nothing is kept from one evaluation to the next but what is
fed back, so that nothing can be lost there. Since when atoms hold, and when they held last, is
looked up in all answers before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, takewhile
from operator import itemgetter

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
    held: frozenset[Named] = field(default_factory=frozenset)
    last: tuple[tuple[Named, int | None], ...] = ()
    """With the age from which on a time is forgotten."""
    inputs: frozenset[Named] | None = None
    """What is listed as `#input`; None: everything is relevant."""
    start: int | None = None
    until: int | None = None

    def relevant(self, arrival: Arrival) -> bool:
        """Whether windows look at an arrival at all."""
        return self.inputs is None or named(clingo.parse_term(arrival.atom)) in self.inputs

    @property
    def watched(self) -> frozenset[Named]:
        """The predicates of which it matters which atoms hold."""
        return self.held | {predicate for predicate, _age in self.last}

    def shown(self, symbol: clingo.Symbol) -> bool:
        """Whether an atom is shown: it is declared to be, or derived and never supplied, or fed
        back."""
        if self.shows is not None:
            return named(symbol) in self.shows
        if named(symbol) in self.feedback:
            return True
        given = symbol.name == "now" or symbol.name.startswith(("prev_", "since_", "last_"))
        return named(symbol) not in self._supplied and not given

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
    timed: frozenset[str] = frozenset()
    """What is known of times before the evaluation."""
    since: str = ""
    """Rules that say since when atoms hold."""

    @property
    def facts(self) -> frozenset[str]:
        """What the windows hold, the evaluation before fed back, and is known of times."""
        return frozenset(a.atom for a in self.window) | set(map(prev, self.fed_back)) | self.timed

    @property
    def atoms(self) -> frozenset[str]:
        """The shown atoms of the first answer set."""
        return frozenset(self.answers[0][0]) if self.answers else frozenset()


def evaluations(request: Request) -> Iterator[Evaluation]:
    """The answers at every tick of a window, in order."""
    solver = Solver(request)
    previous: tuple[str, ...] = ()
    history: list[Past] = []
    given = request.arrivals, request.start, request.until, request.relevant
    for time, window in contents(request, *given):
        facts = frozenset(arrival.atom for arrival in window)
        timed = frozenset({f"now({time})", *_last(request, history, time)})
        since = "".join(f"{rule}\n" for rule in _since(request, history, time))
        found = solver.answers(facts | set(map(prev, previous)) | timed, since)
        ambiguous = bool(request.feedback | request.watched) and len(found) > 1
        answers = () if ambiguous else tuple((atoms, cost) for atoms, cost, _held in found)
        yield Evaluation(time, answers, ambiguous, previous, tuple(window), timed, since)
        if found and not ambiguous:
            history.append((time, frozenset(found[0][2])))
            previous = tuple(
                a for a in found[0][0] if named(clingo.parse_term(a)) in request.feedback
            )


Past = tuple[int, frozenset[str]]
"""The time of an evaluation that had an answer, and the atoms of which it matters that they
held."""


def _last(request: Request, history: Sequence[Past], time: int) -> Iterator[str]:
    """Of each atom that held before: the newest evaluation in which it did, if not too old."""
    ages = dict(request.last)
    for atom in frozenset[str]().union(*(atoms for _time, atoms in history)):
        predicate = named(clingo.parse_term(atom))
        if predicate in ages:
            at = max(then for then, atoms in history if atom in atoms)
            age = ages[predicate]
            if age is None or time - at <= age:
                yield _with_time("last", atom, at)


def _since(request: Request, history: Sequence[Past], time: int) -> Iterator[str]:
    """Of each atom that may hold now: since when it would have, without a break."""
    for name, arity in sorted(request.held):
        arguments = [f"X{number}" for number in range(arity)]
        general = f"{name}({','.join(arguments)})" if arity else name
        others = []
        for atom in sorted(history[-1][1] if history else ()):
            if named(clingo.parse_term(atom)) != (name, arity):
                continue
            has = [(then, atom in atoms) for then, atoms in reversed(history)]
            begun = min(then for then, _held in takewhile(itemgetter(1), has))
            yield f"{_with_time('since', atom, begun)} :- {atom}."
            values = atom.partition("(")[2][:-1]
            others.append(f"({','.join(arguments)},) != ({values},)" if arity else "#false")
        yield f"{_with_time('since', general, time)} :- {'; '.join([general, *others])}."


def _with_time(word: str, atom: str, time: int) -> str:
    sign, plain = ("-", atom[1:]) if atom[0] == "-" else ("", atom)
    name, bracket, values = plain.partition("(")
    return f"{sign}{word}_{name}({values[:-1] + ',' if bracket else ''}{time})"


class Solver:
    """Clingo on a window, from nothing; an equal window is not asked twice."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._rules = request.rules + "".join(f"{fact}.\n" for fact in request.knowledge)
        weights = (found.split(",")[0] for found in re.findall(r"\[([^\[\]]*)\]", request.rules))
        levels = {int(weight.partition("@")[2] or 0) for weight in weights}
        self._levels = sorted(levels, reverse=True)
        """The levels of weak constraints; clingo leaves out those that no instance is of."""
        self._mentioned = mentioned(request)
        self._known: dict[tuple[frozenset[str], str], tuple[Found, ...]] = {}

    def answers(self, facts: frozenset[str], since: str = "") -> tuple[Found, ...]:
        """The best answer sets, projected onto the shown and the watched atoms, sorted; `since`
        are more rules."""
        if (facts, since) not in self._known:
            self._known[facts, since] = tuple(sorted(self._solved(facts, since)))
        return self._known[facts, since]

    def _solved(self, facts: Iterable[str], since: str) -> set[Found]:
        control = clingo.Control(["--warn=none", "--opt-mode=optN", str(MOST_ANSWERS + 1)])
        seen = [fact for fact in facts if _unsigned(clingo.parse_term(fact)) in self._mentioned]
        control.add("base", [], self._rules + since + "".join(f"{fact}.\n" for fact in seen))
        control.ground([("base", [])])
        found: set[Found] = set()
        watched = self._request.watched
        with control.solve(yield_=True) as handle:
            for number, model in enumerate(handle):
                if number > MOST_ANSWERS:
                    raise TooLargeError(f"more than {MOST_ANSWERS} answer sets")
                if not model.cost or model.optimality_proven:
                    atoms = model.symbols(atoms=True)
                    shown = filter(self._request.shown, atoms)
                    held = (atom for atom in atoms if named(atom) in watched)
                    costs = dict(zip(model.priority, model.cost, strict=True))
                    cost = tuple(costs.get(level, 0) for level in self._levels)
                    found.add((_sorted(shown), cost, _sorted(held)))
        return found


Found = tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]
"""The shown atoms of an answer set, its cost, and which of the watched atoms hold."""


def _sorted(atoms: Iterable[clingo.Symbol]) -> tuple[str, ...]:
    return tuple(sorted(map(str, atoms)))


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
    declared = (request.shows or frozenset()) | request.feedback | request.watched
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

"""What the reference evaluates: a program over a recorded stream (docs/lars.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citywise.reasoning.languages.lars.program import (
    Atom,
    BodyElement,
    LarsProgram,
    LarsRule,
    Now,
    atoms_of,
)
from citywise.reasoning.model import values
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.values import Variable
from tests.lars.grounding import Fact, Pair, ground
from tests.lars.reference import Search, Stream, Structure, answer_streams


@dataclass(frozen=True)
class Item:
    """An input atom that holds at the points [time, until]; `until` None: at `time` only."""

    time: int
    fact: Fact
    until: int | None = None

    def __str__(self) -> str:
        end = "" if self.until is None else f"..{self.until}"
        return f"{self.time}{end}: {written(self.fact)}"


Answers = dict[int, "list[list[str]] | None"]
"""For each point of time the output of each answer stream, sorted; None where what is to be
fed back (`#stream`) is not that of one answer stream."""


@dataclass(frozen=True)
class Reach:
    """How far a program looks back whose windows all have bounds: what is before is as if it
    had never been."""

    points: int
    tuples: int

    def begin(self, items: Sequence[Item], fed_back: Sequence[Pair], first: int, t: int) -> int:
        """Where a timeline can begin that ends at `t`: as many points of time and tuples later,
        or at the first point."""
        start = t - self.points
        while start > first and self._tuples(items, fed_back, start + 2, t) < self.tuples:
            start -= 1
        return max(first, start)

    @staticmethod
    def _tuples(items: Sequence[Item], fed_back: Sequence[Pair], start: int, t: int) -> int:
        return len(data_stream(items, fed_back, range(start, t + 1)).pairs)


def answers(
    program: LarsProgram,
    items: Sequence[Item],
    knowledge: Iterable[Fact] = (),
    start: int | None = None,
    until: int | None = None,
    search: Search = answer_streams,
    reach: Reach | None = None,
) -> Answers:
    """Definition 6: the output at each point of time from the first item to the last; over the
    whole timeline, or so much of it as a program can look at (`reach`)."""
    first = min(item.time for item in items) if start is None else start
    last = max(item.time for item in items) if until is None else until
    seen = [item for item in items if item.time >= first]
    background = frozenset(knowledge)
    shown = shows(program, items, background)
    fed_back: list[Pair] = []
    found: Answers = {}
    for t in range(first, last + 1):
        begin = first if reach is None else reach.begin(seen, fed_back, first, t)
        data = data_stream(seen, fed_back, range(begin, t + 1))
        structures = evaluated(program, data, background, search)
        outputs = {tuple(map(written, output(each, t, shown))) for each in structures}
        found[t] = sorted(map(list, outputs))
        if program.streamed and len(structures) != 1:
            found[t] = None
        elif program.streamed:
            fed_back += [(fact, t) for fact in output(structures[0], t, program.streamed)]
    return found


def evaluated(
    program: LarsProgram, data: Stream, background: frozenset[Fact], search: Search
) -> list[Structure]:
    """Definition 5: the answer streams at the last point of the data."""
    known = background | {fact for fact, _ in data.held}
    rules = ground((*program.rules, *contradictions(program)), known, data.timeline)
    answers = search(data, background, rules, data.timeline[-1])
    return [Structure(data, derived, background) for derived in answers]


def data_stream(items: Sequence[Item], fed_back: Sequence[Pair], timeline: range) -> Stream:
    """D up to now, in order of arrival: at each point what goes on, what comes, and what the
    evaluation there fed back; an atom repeated at a point counts at its first arrival."""
    pairs: list[Pair] = []
    for t in timeline:
        pairs += [(i.fact, t) for i in items if i.until is not None and i.time < t <= i.until]
        pairs += [(item.fact, t) for item in items if item.time == t]
        pairs += [pair for pair in fed_back if pair[1] == t]
    return Stream(timeline, tuple(dict.fromkeys(pairs)))


def shows(
    program: LarsProgram, items: Iterable[Item], known: frozenset[Fact]
) -> frozenset[Signature]:
    """Predicates that are shown: those declared, or those derived and not supplied."""
    if program.shows is not None:
        return program.shows
    supplied = {signature(item.fact) for item in items} | set(map(signature, known))
    return program.derived - supplied


def contradictions(program: LarsProgram) -> list[LarsRule]:
    """Constraints: no atom holds now together with its classical negation, where the program
    mentions both."""
    bodies = (e.formula for rule in program.rules for e in rule.body)
    mentioned = {atom.signature for f in bodies for atom in atoms_of(f)}
    mentioned |= program.derived | (program.shows or frozenset())
    found = []
    for name, arity in sorted(mentioned):
        if Signature(f"-{name}", arity) in mentioned:
            row = tuple(Variable(f"X{n}") for n in range(arity))
            both = (BodyElement(Now(Atom(sign + name, row))) for sign in ("", "-"))
            found.append(LarsRule(None, None, tuple(both), 0))
    return found


def output(structure: Structure, t: int, shown: frozenset[Signature]) -> list[Fact]:
    """Definition 6: the shown atoms that hold at a point of time, sorted as text."""
    now = {f for f, u in structure.data.held | structure.derived if u == t} | structure.background
    return sorted((f for f in now if signature(f) in shown), key=written)


def signature(fact: Fact) -> Signature:
    """The predicate of a ground atom."""
    return Signature(fact[0], len(fact[1]))


def written(fact: Fact) -> str:
    """A ground atom in ASP's syntax."""
    return values.atom_text(*fact)

"""Random sequences of changes to a program's inputs, and what to say when answers differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from hypothesis.vendor.pretty import RepresentationPrinter

from citywise.reasoning.model import values
from citywise.reasoning.model.rules import (
    Absent,
    Aggregate,
    Always,
    Between,
    Call,
    Compare,
    Holds,
    Lasting,
    Literal,
    Operator,
    Program,
    Rule,
    Scan,
)
from citywise.reasoning.model.values import Compound, Computed, Constant, Row, Term, Variable
from tests.incremental import rules


class Relations(Protocol):
    """What `Evaluation` and its reference have in common."""

    def insert(self, relation: str, rows: list[Row], until: int | None = None) -> None: ...

    def retract(self, relation: str, rows: list[Row]) -> None: ...

    def step(self, now: int) -> None: ...


@dataclass(frozen=True)
class Inserted:
    """`Evaluation.insert`."""

    relation: str
    rows: tuple[Row, ...]
    until: int | None = None

    def apply(self, to: Relations) -> None:
        to.insert(self.relation, list(self.rows), self.until)

    def __str__(self) -> str:
        end = "" if self.until is None else f" until {self.until}"
        return f"+ {atoms(self.relation, self.rows)}{end}"


@dataclass(frozen=True)
class Retracted:
    """`Evaluation.retract`."""

    relation: str
    rows: tuple[Row, ...]

    def apply(self, to: Relations) -> None:
        to.retract(self.relation, list(self.rows))

    def __str__(self) -> str:
        return f"- {atoms(self.relation, self.rows)}"


Change = Inserted | Retracted


@dataclass(frozen=True)
class Step:
    """Changes, and the point of time at which they are seen."""

    changes: tuple[Change, ...]
    now: int

    def apply(self, to: Relations) -> None:
        for change in self.changes:
            change.apply(to)
        to.step(self.now)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.changes), f"step {self.now}"])


@dataclass(frozen=True)
class Example:
    """A program and what happens to it."""

    program: Program
    steps: tuple[Step, ...]

    @property
    def relations(self) -> list[str]:
        """All that hold rows, lowest first where the program says so."""
        heads = [rule.head for rule in self.program.rules]
        results = [operator.result for operator in self.program.operators]
        return list(dict.fromkeys([*sorted(self.program.inputs), *heads, *results]))

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        printer.text(f"\n{self}\n")

    def __str__(self) -> str:
        return "\n".join([written(self.program), "", *map(str, self.steps)])


@st.composite
def insertions(draw: DrawFn, relation: str, now: int, least: int = 1) -> Inserted:
    """Rows that come shortly before a point of time."""
    some = st.lists(rules.rows(relation, range(now - 1, now + 4)), min_size=least, max_size=5)
    until = draw(st.none() | st.integers(max(now - 1, 0), now + 4))
    return Inserted(relation, tuple(draw(some)), until)


@st.composite
def changes(draw: DrawFn, relations: Sequence[str], now: int) -> Change:
    """A change shortly before a point of time."""
    inserted = draw(insertions(rules.pick(draw, relations), now))
    if rules.one_in(draw, 3):
        return Retracted(inserted.relation, inserted.rows)
    return inserted


@st.composite
def sequences(draw: DrawFn, program: Program) -> tuple[Step, ...]:
    """Steps forward in time: much at first, then some or none, some far."""
    read = sorted(program.inputs & mentioned(program)) or sorted(program.inputs)
    now = draw(st.integers(0, 3))
    steps = [Step(tuple(draw(insertions(relation, now, 3)) for relation in read), now)]
    for _ in range(draw(st.integers(2, 9))):
        now += rules.pick(draw, (1, 1, 1, 0, 2, 4))
        some = [draw(changes(read, now)) for _ in range(rules.pick(draw, (1, 2, 0, 1, 3)))]
        steps.append(Step(tuple(some), now))
    return tuple(steps)


def mentioned(program: Program) -> set[str]:
    """The relations that rules and operators read, and the heads."""
    literals = (literal for rule in program.rules for literal in rule.body)
    read = {literal.relation for literal in literals if isinstance(literal, Scan | Absent | Holds)}
    timed = {o.timed for o in program.operators if isinstance(o, Always | Lasting)}
    return read | timed | {rule.head for rule in program.rules}


@st.composite
def examples(draw: DrawFn) -> Example:
    """Programs with changes."""
    program = draw(rules.programs())
    return Example(program, draw(sequences(program)))


# -- how they are written ------------------------------------------------------------------


def rows_text(rows: Collection[Row]) -> str:
    """Rows, sorted."""
    return " ".join(sorted(values.atom_text("", row) or "()" for row in rows))


def atoms(relation: str, rows: tuple[Row, ...]) -> str:
    """Rows of a relation, sorted."""
    return " ".join(sorted(values.atom_text(relation, row) for row in rows))


def written(program: Program) -> str:
    """A program, one rule or operator a line."""
    lines = [_rule(rule) for rule in program.rules] + [_operator(o) for o in program.operators]
    return "\n".join(lines) + f"\noutputs: {' '.join(sorted(program.outputs))}"


def _rule(rule: Rule) -> str:
    end = f" until {_term(rule.until[0])} + {rule.until[1]}" if rule.until else ""
    return f"{_atom(rule.head, rule.terms)} :- {', '.join(map(_literal, rule.body))}{end}."


def _operator(operator: Operator) -> str:
    if isinstance(operator, Aggregate):
        read = f"{operator.function} of {operator.elements} for each {operator.groups}"
    else:
        read = f"{operator.timed} at the last {operator.width} + 1 points"
    return f"{operator.result} = {read}"


def _literal(literal: Literal) -> str:
    match literal:
        case Scan(relation, terms):
            return _atom(relation, terms)
        case Absent(relation, terms):
            return f"not {_atom(relation, terms)}"
        case Holds(relation, terms):
            return f"not not {_atom(relation, terms)}"
        case Compare(comparator, left, right):
            return f"{_term(left)} {comparator} {_term(right)}"
        case Between(term, low, high):
            return f"{_term(term)} = {_term(low)}..{_term(high)}"
        case Call(function, arguments, result):
            call = _atom(f"@{function.__name__}", arguments)
            return call if result is None else f"{_term(result)} = {call}"


def _atom(relation: str, terms: tuple[Term, ...]) -> str:
    return f"{relation}({','.join(map(_term, terms))})" if terms else relation


def _term(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Constant(value):
            return values.text(value)
        case Compound(name, arguments):
            return f"{name}({','.join(map(_term, arguments))})"
        case Computed(operation, arguments):
            return f"({f' {operation} '.join(map(_term, arguments))})"

"""Everything there is to say about a request before it runs, and about rules like its."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from clingo.ast import AggregateFunction, ASTType, ComparisonOperator

from reasoning.asp.dependencies import Dependencies
from reasoning.asp.rules import body_atoms
from reasoning.asp.syntax import Node, variables
from reasoning.errors import Finding, RequestError
from reasoning.languages.casp.entailment import inferring
from reasoning.languages.casp.growth import suspects
from reasoning.languages.casp.parsing import Reading
from reasoning.languages.casp.predicates import Predicates
from reasoning.model.request import Signature
from reasoning.rdf.knowledge import Background, background, missing


def check_reading(
    reading: Reading,
    *,
    partitioned: bool = False,
    given: Mapping[Signature, int] = MappingProxyType({}),
    dependencies: Dependencies | None = None,
    refined: Callable[[list[Finding]], Iterable[Finding]] = iter,
) -> list[Finding]:
    """All findings about a text that was read; warnings only if all was read.

    Parameters
    ----------
    partitioned:
        Demand what partitioning needs: negation must be stratified.
    given:
        The numbers of facts that whoever runs the text gives it, where they are known.
    dependencies:
        What depends on what in the text; default: as its rules read in C-ASP.
    refined:
        What a language with more in its rules makes of the findings about what C-ASP sees.
    """
    found = [Finding.of(fault) for fault in reading.faults]
    knowledge, unreadable = _knowledge(reading)
    found += unreadable
    found += _repeated_labels(reading)
    if reading.is_whole:
        found += Predicates(reading, knowledge.supplied, unread=bool(unreadable)).findings()
        found += comparisons(reading)
        dependencies = dependencies or Dependencies(reading.rules)
        found += suspects(reading, dependencies, {**given, **knowledge.counts})
        found = list(refined(found))
        if partitioned:
            found += _unstratified(reading, dependencies)
    return sorted(
        set(found), key=lambda f: (f.location.file, f.location.line, f.location.column, f.code)
    )


def _repeated_labels(reading: Reading) -> Iterator[Finding]:
    lines: dict[str, int] = {}
    for statement in reading.statements:
        if statement.label is None:
            continue
        location = reading.source.location(statement.label_start)
        first = lines.get(statement.label)
        lines.setdefault(statement.label, location.line)
        if first is not None:
            message = (
                f"line {first} has a rule {statement.label} too; messages cannot tell them apart"
            )
            yield Finding(location, "warning", "repeated-label", message)


def _knowledge(reading: Reading) -> tuple[Background, list[Finding]]:
    """What the knowledge bases supply, and what is wrong with their files.

    A value that rules would compare wrongly is among the latter: a decimal without `#scale`.
    """
    missing = list(_missing_files(reading))
    if missing or not reading.request.knowledge or not reading.is_whole:
        return Background(), missing
    try:
        return background(inferring(reading.request)), []
    except RequestError as fault:
        return Background(), [Finding.of(fault)]


def _missing_files(reading: Reading) -> Iterator[Finding]:
    for knowledge in reading.request.knowledge:
        if message := missing(knowledge):
            statement = reading.directives.places["#from", knowledge.path]
            location = reading.source.location(statement.start)
            yield Finding(location, "error", "knowledge", message)


def _unstratified(reading: Reading, dependencies: Dependencies) -> Iterator[Finding]:
    cycle = dependencies.negative_cycle()
    if cycle is None:
        return
    steps = " -> ".join([str(cycle[0].head), *map(str, cycle)])
    lines = ", ".join(str(line) for line in dict.fromkeys(step.line for step in cycle))
    yield Finding(
        reading.source.location(reading.source.index(cycle[0].line, 1)),
        "error",
        "unstratified",
        f"{steps} (lines {lines}): a predicate depends on its own absence, which cannot be "
        "partitioned; break the cycle or run the request as a whole",
    )


_ORDER = (
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
)
_ARITHMETIC = (ASTType.BinaryOperation, ASTType.UnaryOperation, ASTType.Interval)
_CHOOSING = (AggregateFunction.Min, AggregateFunction.Max)
_NUMERAL = re.compile(r'"\s*[-+]?[0-9]+(?:\.[0-9]+)?\s*"\Z')
_Place = tuple[str, int, int]
"""An argument of a predicate: its name, its arity, and the position."""


def comparisons(reading: Reading) -> Iterator[Finding]:
    """Order comparisons with a text that is a numeral, or with any text of what is a number."""
    computed = [_computed(rule) for rule in reading.rules]
    places = {(name, arity, 1) for name in reading.request.scales for arity in (2, 3)}
    for rule, numbers in zip(reading.rules, computed, strict=True):
        places.update(place for place, name in _arguments(rule) if name in numbers)
    for rule, numbers in zip(reading.rules, computed, strict=True):
        numbers.update(name for place, name in _arguments(rule) if place in places)
        for node in rule.walk():
            if node.kind == ASTType.Comparison:
                for one, other, is_less in _ordered(node):
                    if not _is_text(other):
                        continue
                    if one.kind == ASTType.Variable and one.name in numbers:
                        yield _finding(reading, node, other, is_less)
                    elif _NUMERAL.match(str(other)):
                        yield _finding(reading, node, other)


def _ordered(comparison: Node) -> Iterator[tuple[Node, Node, bool]]:
    """The two sides of each order comparison, both ways round, and whether the first is to be
    less than the second."""
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        if guard.origin.comparison in _ORDER:
            is_less = guard.origin.comparison in _ORDER[:2]
            yield left, right, is_less
            yield right, left, not is_less
        left = right


def _is_text(term: Node) -> bool:
    return term.kind == ASTType.SymbolicTerm and str(term).startswith('"')


def _computed(rule: Node) -> set[str]:
    """The variables of a rule with which it computes, or that are what it computes: numbers."""
    signs = {id(atom.one("symbol")) for atom in rule.walk() if atom.kind == ASTType.SymbolicAtom}
    found: set[str] = set()
    for node in rule.walk():
        if node.kind in _ARITHMETIC and id(node) not in signs:
            found.update(variables(node))
        elif node.kind == ASTType.Comparison:
            found.update(_assigned(node))
        elif node.kind == ASTType.BodyAggregate and node.origin.function not in _CHOOSING:
            for guard in (*node.many("left_guard"), *node.many("right_guard")):
                if guard.origin.comparison == ComparisonOperator.Equal:
                    found.update(variables(guard.one("term")))
    return found


def _assigned(comparison: Node) -> Iterator[str]:
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        if guard.origin.comparison == ComparisonOperator.Equal:
            for one, other in ((left, right), (right, left)):
                if one.kind == ASTType.Variable and other.kind in _ARITHMETIC:
                    yield one.name
        left = right


def _arguments(rule: Node) -> Iterator[tuple[_Place, str]]:
    """The variables that are arguments of atoms in a rule's body, and where they are."""
    for atom in body_atoms(rule):
        symbol = atom.one("symbol")
        if symbol.kind == ASTType.Function:
            arguments = symbol.many("arguments")
            for position, argument in enumerate(arguments):
                if argument.kind == ASTType.Variable:
                    yield (symbol.name, len(arguments), position), argument.name


def _finding(
    reading: Reading, comparison: Node, text: Node, is_less: bool | None = None
) -> Finding:
    """`is_less`: of a number, whether it is to be less than the text; None: it may be none."""
    shown = str(comparison)
    number = str(text)[1:-1].strip()
    cure = f"write `{number}` without quotes" if number.lstrip("-+").isdigit() else "write a number"
    message = (
        f"`{shown}` compares with a text, and every number is less than every text, whatever its "
        "digits"
    )
    if is_less is not None:
        message += f", so this is {'always' if is_less else 'never'} true"
    index = reading.source.index(text.line, text.column)
    location = reading.source.location(index)
    return Finding(location, "warning", "text-order", f"{message}; {cure}")

"""Whether a condition without variables holds, by calling its built-ins one after another."""

from __future__ import annotations

from citywise.reasoning.languages.rif.builtins import Builtin, builtin
from citywise.reasoning.languages.rif.document import (
    Equal,
    RifComputed,
    RifConstant,
    RifFormula,
    RifTerm,
    Sequence,
    Test,
)
from citywise.reasoning.languages.rif.parsing import parse_formula
from citywise.reasoning.languages.rif.values import value
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.mapping import Iri


def holds(condition: str | RifFormula) -> bool:
    """Whether a condition holds: a built-in predicate, or two terms that are equal."""
    formula = parse_formula(condition) if isinstance(condition, str) else condition
    if isinstance(formula, Equal):
        left, right = result(formula.left), result(formula.right)
        return left is not None and left == right
    assert isinstance(formula, Test), formula
    return _called(formula.predicate, formula.arguments) is not None


def result(term: RifTerm) -> Value | None:
    """The value of a term; None if it has none."""
    if isinstance(term, RifConstant):
        return value(term.value)
    if isinstance(term, Sequence):
        return ("", *(found for found in map(result, term.items) if found is not None))
    assert isinstance(term, RifComputed), term
    return _called(term.function, term.arguments)


def computed(call: str) -> Value | None:
    """What a call such as `func:numeric-add(1 2)` gives."""
    formula = parse_formula(f"External({call}) = 0")
    assert isinstance(formula, Equal)
    return result(formula.left)


def _called(iri: Iri, arguments: tuple[RifTerm, ...]) -> Value | None:
    found = known(iri.value)
    values = [result(argument) for argument in arguments]
    assert None not in values, (iri, arguments)
    assert found.least <= len(values) <= (found.most or len(values)), iri
    return found.function(*values)


def known(iri: str) -> Builtin:
    """The built-in with an IRI, which must be one."""
    found = builtin(iri)
    assert found is not None, iri
    return found

"""Terms and values in the references: what a term means, and when a value matches it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from citywise.reasoning.model import values
from citywise.reasoning.model.values import (
    Compound,
    Computed,
    Constant,
    Row,
    Term,
    Value,
    Variable,
    variables,
)

Bindings = Mapping[str, Value]


def known(term: Term, bound: Bindings) -> bool:
    """Whether all variables of a term have values."""
    return variables(term) <= bound.keys()


def can_match(term: Term, bound: Bindings) -> bool:
    """Whether a value tells those of a term's variables: not through arithmetic."""
    if isinstance(term, Compound):
        return all(can_match(argument, bound) for argument in term.arguments)
    return not isinstance(term, Computed) or known(term, bound)


def meaning(term: Term, bound: Bindings) -> Value | None:
    """The value of a term; None where arithmetic has none."""
    match term:
        case Variable(name):
            return bound[name]
        case Constant(found):
            return found
    arguments = meanings(term.arguments, bound)
    if arguments is None:
        return None
    if isinstance(term, Compound):
        return (term.name, *arguments)
    return values.computed(term.operation, arguments)


def meanings(terms: Sequence[Term], bound: Bindings) -> Row | None:
    """The values of terms; None where one has none."""
    found = [meaning(term, bound) for term in terms]
    return None if None in found else tuple(one for one in found if one is not None)


def unified(term: Term, meant: Value, bound: Bindings) -> Iterator[Bindings]:
    """Bindings under which a term has a value."""
    match term:
        case Variable(name) if name not in bound:
            yield {**bound, name: meant}
        case Compound(name, arguments):
            if isinstance(meant, tuple) and meant[0] == name:
                yield from unified_rows(arguments, meant[1:], bound)
        case _:
            if meaning(term, bound) == meant:
                yield bound


def unified_rows(terms: Sequence[Term], row: Row, bound: Bindings) -> Iterator[Bindings]:
    """Bindings under which terms are the values of a row."""
    if len(terms) != len(row):
        return
    if not terms:
        yield bound
        return
    for more in unified(terms[0], row[0], bound):
        yield from unified_rows(terms[1:], row[1:], more)


def compared(comparator: str, x: Value, y: Value) -> bool:
    """Whether a comparison holds in clingo's order of terms."""
    a, b = values.order(x), values.order(y)
    return {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[
        comparator
    ]

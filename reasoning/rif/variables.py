"""The variables of terms and formulas, and terms in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reasoning.rif.document import (
    And,
    Atom,
    Computed,
    Equal,
    Exists,
    Formula,
    Frame,
    Member,
    Or,
    Sequence,
    Term,
    Test,
    Variable,
)


def variables(term: Term) -> Iterator[str]:
    """The names of a term's variables, each as often as it occurs."""
    if isinstance(term, Variable):
        yield term.name
    elif isinstance(term, Sequence):
        for item in term.items:
            yield from variables(item)
    elif isinstance(term, Computed):
        for argument in term.arguments:
            yield from variables(argument)


def terms(formula: Formula) -> Iterator[Term]:
    """The terms that a formula without parts relates; of others none."""
    if isinstance(formula, Atom | Test):
        yield from formula.arguments
    elif isinstance(formula, Frame):
        yield formula.object
        for name, value in formula.slots:
            yield from (name, value)
    elif isinstance(formula, Member):
        yield from (formula.object, formula.type)
    elif isinstance(formula, Equal):
        yield from (formula.left, formula.right)


def parts(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that a formula is put together from."""
    if isinstance(formula, And | Or):
        return formula.parts
    return (formula.part,) if isinstance(formula, Exists) else ()


def within(formula: Formula) -> Iterator[Formula]:
    """The formula and all that it is put together from, the whole before its parts."""
    yield formula
    for part in parts(formula):
        yield from within(part)


def free(formula: Formula) -> Iterator[str]:
    """The names of the variables that no `Exists` of the formula binds, as they occur."""
    bound = {v.name for v in formula.variables} if isinstance(formula, Exists) else set()
    for term in terms(formula):
        yield from variables(term)
    for part in parts(formula):
        yield from (name for name in free(part) if name not in bound)


def replaced(term: Term, by: Mapping[str, Term]) -> Term:
    """The term with other terms in the place of some variables."""
    if isinstance(term, Variable):
        return by.get(term.name, term)
    if isinstance(term, Sequence):
        return Sequence(tuple(replaced(item, by) for item in term.items))
    if isinstance(term, Computed):
        return Computed(term.function, tuple(replaced(item, by) for item in term.arguments))
    return term

"""Safeness of rules: what gives their variables values, by matching alone.

Source: W3C RIF Core (second edition), boundedness and safe rules. There a condition is brought
into disjunctive normal form; here an `Or` gives a value to what each of its parts gives one,
without multiplying it out, and with `Exists` as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from reasoning.languages.rif_parts import Written, WrittenRule
from reasoning.rif.builtins import builtin
from reasoning.rif.document import (
    And,
    Computed,
    Equal,
    Exists,
    Formula,
    Frame,
    Or,
    Rule,
    Term,
    Test,
    Variable,
)
from reasoning.rif.variables import free, parts, terms, variables

_Names = frozenset[str]
_NONE: _Names = frozenset()


def check(written: Written) -> None:
    """Note a fault for each variable of a rule that nothing gives a value."""
    for rule in written.rules:
        undeclared = _free(rule.rule) - {variable.name for variable in rule.rule.variables}
        for name in dict.fromkeys(unbound(rule.rule)):
            if name in undeclared:  # which is said already
                continue
            written.source.fault(rule.places[name], "unsafe", _why(rule, name))


def _free(rule: Rule) -> set[str]:
    whole = (*rule.heads, *((rule.body,) if rule.body is not None else ()))
    return {name for part in whole for name in free(part)}


def unbound(rule: Rule) -> Iterator[str]:
    """Variables of a rule that in some alternative of its condition have no value.

    Those of the conclusion must have one in each alternative, others where they occur.
    """
    bound = _NONE if rule.body is None else bound_by(rule.body, _NONE)
    yield from (name for head in rule.heads for name in free(head) if name not in bound)
    if rule.body is not None:
        yield from _unbound(rule.body, _NONE)


def bound_by(formula: Formula, given: _Names) -> _Names:
    """Variables that a formula gives values, where the `given` have some: by atoms and frames
    that hold them as arguments, by equations with what has a value, and by predicates that
    solve for an argument."""
    if isinstance(formula, Or):
        found = [bound_by(part, given) for part in formula.parts]
        return _NONE.union(*found).intersection(*found)
    if isinstance(formula, Exists):
        inner = {variable.name for variable in formula.variables}
        return bound_by(formula.part, given - inner) - inner
    if isinstance(formula, And):
        return _bound_by_all(formula, given)
    if isinstance(formula, Equal | Test):
        return frozenset(_solved(formula, given))
    if isinstance(formula, Frame) and not formula.slots:
        return _NONE  # which says nothing of its object
    return frozenset(term.name for term in terms(formula) if isinstance(term, Variable))


def _bound_by_all(formula: And, given: _Names) -> _Names:
    found, size = _NONE, -1
    while len(found) > size:
        size = len(found)
        for part in formula.parts:
            found |= bound_by(part, given | found)
    return found


def _solved(formula: Equal | Test, given: _Names) -> Iterator[str]:
    """Variables that get a value from those that have one."""
    if isinstance(formula, Equal):
        pairs = ((formula.left, formula.right), (formula.right, formula.left))
        yield from (o.name for o, by in pairs if isinstance(o, Variable) and _has(by, given))
        return
    known = builtin(formula.predicate.value)
    for place in known.solves if known else ():
        others = (t for i, t in enumerate(formula.arguments) if i != place)
        solved = formula.arguments[place] if place < len(formula.arguments) else None
        if isinstance(solved, Variable) and all(_has(term, given) for term in others):
            yield solved.name


def _has(term: Term, given: _Names) -> bool:
    return all(name in given for name in variables(term))


def _unbound(formula: Formula, given: _Names) -> Iterator[str]:
    """Variables without a value where they occur; those of an `Exists` too."""
    if isinstance(formula, Exists):
        given -= {variable.name for variable in formula.variables}
    if not isinstance(formula, Or):
        given |= bound_by(formula.part if isinstance(formula, Exists) else formula, given)
    for term in terms(formula):
        yield from (name for name in variables(term) if name not in given)
    for part in parts(formula):
        yield from _unbound(part, given)


def _why(written: WrittenRule, name: str) -> str:
    body = written.rule.body
    add = f"add an atom or frame that holds it, e.g. `?{name}[ex:p -> ?value]`"
    if body is None:
        return (
            f"`?{name}`: what holds without a condition has no variables; write a constant, "
            "or a condition that gives it a value"
        )
    if _is_computed_with(body, name):
        return f"`?{name}` gets no value: built-ins compute with what has one; {add}"
    if any(isinstance(part, Or) for part in _within(body)):
        return f"`?{name}` gets no value in some alternative of `Or`; {add} to each"
    return f"`?{name}` gets no value in the condition; {add}"


def _is_computed_with(body: Formula, name: str) -> bool:
    found = (term for part in _within(body) for term in terms(part))
    return any(isinstance(term, Computed) and name in variables(term) for term in found)


def _within(formula: Formula) -> Iterator[Formula]:
    yield formula
    for part in parts(formula):
        yield from _within(part)

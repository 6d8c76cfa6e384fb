"""What is to be said of a document of RIF before it is evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from citywise.reasoning.errors import Finding, Location, RequestError
from citywise.reasoning.languages.rif import parsing
from citywise.reasoning.languages.rif.document import (
    Document,
    Equal,
    Frame,
    Member,
    Or,
    RifAtom,
    RifComputed,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    Test,
    free,
    parts,
    terms,
    variables,
    within,
)
from citywise.reasoning.languages.rif.parsing import RifReading
from citywise.reasoning.languages.rif.theory import context_faults, theory
from citywise.reasoning.languages.rif.unparse import term_text
from citywise.reasoning.model.rules import reached
from citywise.reasoning.rdf.mapping import TYPE, Literal

_LESS, _GREATER = "less-than", "greater-than"


def findings(path: Path) -> list[Finding]:
    """All findings about a document, its imports included, by position."""
    try:
        reading = parsing.read_file(path)
    except RequestError as error:
        return [Finding.of(error)]
    faults = (*reading.faults, *context_faults([reading.document]))
    found = [Finding.of(fault) for fault in faults] or list(_imported(reading))
    found += _repeated_labels(reading)
    if not reading.faults:
        found += (*_unused(reading), *_growing(reading))
    return sorted(
        set(found), key=lambda f: (f.location.file, f.location.line, f.location.column, f.code)
    )


def _imported(reading: RifReading) -> Iterator[Finding]:
    """What keeps a document and its imports from being put together."""
    try:
        theory(reading.document)
    except RequestError as error:
        yield Finding.of(error)


def _repeated_labels(reading: RifReading) -> Iterator[Finding]:
    lines: dict[str, int] = {}
    for rule in reading.document.rules:
        first = lines.setdefault(rule.label, rule.line)
        if rule.label and first != rule.line:
            message = f"line {first} has a rule {rule.label} too; messages cannot tell them apart"
            yield _warning(reading, rule, "repeated-label", message)


def _unused(reading: RifReading) -> Iterator[Finding]:
    for rule in reading.document.rules:
        formulas: list[RifFormula] = [*rule.heads, *([rule.body] if rule.body else [])]
        used = {name for formula in formulas for name in free(formula)}
        for variable in rule.variables:
            if variable.name not in used:
                message = f"`?{variable.name}` is declared and nowhere used; remove it, or correct "
                yield _warning(reading, rule, "unused", message + "the name that was meant")


def _growing(reading: RifReading) -> Iterator[Finding]:
    """Rules that compute ever new values from their own conclusions (RIF-Core: safe, but not
    strongly safe)."""
    names = _Names(reading.document.prefixes)
    uses = _uses(reading.document, names)
    for rule in reading.document.rules:
        computed = next((term for term in _computed(rule) if not _is_bounded(term, rule)), None)
        if computed is None:
            continue
        needed = reached(names.of_body(rule), uses)
        for relation in sorted(needed & names.of_heads(rule))[:1]:
            name = term_text(RifConstant(computed.function), reading.document.prefixes)
            message = f"`{relation}` follows from itself with values that `{name}` computes, which "
            hint = "may never end; bound them, e.g. `External(pred:numeric-less-than(?x 1000))`"
            yield _warning(reading, rule, "growth", message + hint)


class _Names:
    """What atoms and frames are about, as messages name it."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = prefixes

    def of_heads(self, rule: RifRule) -> set[str]:
        return {name for head in rule.heads for name in self._of(head)}

    def of_body(self, rule: RifRule) -> set[str]:
        return {name for part in _parts(rule) for name in self._of(part)}

    def _of(self, formula: RifFormula) -> Iterator[str]:
        if isinstance(formula, RifAtom):
            name = term_text(RifConstant(formula.predicate), self._prefixes)
            yield f"{name}/{len(formula.arguments)}"
        elif isinstance(formula, Frame):
            yield from (term_text(name, self._prefixes) for name, _value in formula.slots)
        elif isinstance(formula, Member):
            yield term_text(RifConstant(TYPE), self._prefixes)


def _uses(document: Document, names: _Names) -> dict[str, set[str]]:
    """What is derived from what."""
    found: dict[str, set[str]] = {}
    for rule in document.rules:
        for head in names.of_heads(rule):
            found.setdefault(head, set()).update(names.of_body(rule))
    return found


def _parts(rule: RifRule) -> Iterator[RifFormula]:
    """The condition of a rule, and all it is put together from."""
    return iter(()) if rule.body is None else within(rule.body)


def _computed(rule: RifRule) -> Iterator[RifComputed]:
    """What is computed of variables, and concluded."""
    concluded = [term for head in rule.heads for term in terms(head)]
    names = {name for term in concluded for name in variables(term)}
    for part in _parts(rule):
        concluded += (term for name, term in _equated(part) if name in names)
    return (term for term in concluded if isinstance(term, RifComputed) and _has_variable(term))


def _equated(formula: RifFormula) -> Iterator[tuple[str, RifTerm]]:
    """Variables, and what they equal."""
    if isinstance(formula, Equal):
        for one, other in ((formula.left, formula.right), (formula.right, formula.left)):
            if isinstance(one, RifVariable):
                yield one.name, other


def _has_variable(term: RifTerm) -> bool:
    return any(True for _ in variables(term))


def _is_bounded(computed: RifComputed, rule: RifRule) -> bool:
    """Whether a condition keeps a computed value, or what it is computed of, from growing."""
    required = list(_required(rule.body))
    names = set(variables(computed))
    names |= {name for part in required for name, term in _equated(part) if term == computed}
    falls = _falls(computed)
    for less, more in map(_compared, required):
        if names.isdisjoint(less) != names.isdisjoint(more):
            is_lower = names.isdisjoint(less)
            if falls is None or falls == is_lower:
                return True
    return False


def _compared(formula: RifFormula) -> tuple[set[str], set[str]]:
    """The variables of what is less, and of what is more."""
    if isinstance(formula, Test) and len(formula.arguments) == 2:
        one, other = (set(variables(term)) for term in formula.arguments)
        if _LESS in formula.predicate.value:
            return one, other
        if _GREATER in formula.predicate.value:
            return other, one
    return set(), set()


def _falls(computed: RifComputed) -> bool | None:
    """Whether a value becomes less where it is computed again and again; None if unknown."""
    name = computed.function.value.rpartition("#")[2]
    signs = [
        term.value.lexical.startswith("-")
        for term in computed.arguments
        if isinstance(term, RifConstant) and isinstance(term.value, Literal)
    ]
    if len(signs) != 1 or name not in ("numeric-add", "numeric-subtract"):
        return None
    if name == "numeric-subtract":
        return not signs[0] if isinstance(computed.arguments[1], RifConstant) else None
    return signs[0]


def _required(formula: RifFormula | None) -> Iterator[RifFormula]:
    """The parts of a formula that hold wherever it does."""
    if formula is not None:
        yield formula
        for part in () if isinstance(formula, Or) else parts(formula):
            yield from _required(part)


def _warning(reading: RifReading, rule: RifRule, code: str, message: str) -> Finding:
    location = Location(reading.written.source.file, rule.line, rule.column)
    return Finding(location, "warning", code, message)

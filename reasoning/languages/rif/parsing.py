"""Texts of RIF, in either syntax, read into documents and checked: `parse_file`, `read_file`.

Safe rules: W3C RIF Core (second edition), boundedness and safe rules. There a condition is brought
into disjunctive normal form; here an `Or` gives a value to what each of its parts gives one,
without multiplying it out, and with `Exists` as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from citywise.reasoning.asp.statements import MAX_CHARACTERS, Source
from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.casp.parsing import text_of
from citywise.reasoning.languages.rif import presentation, xml
from citywise.reasoning.languages.rif.builtins import builtin
from citywise.reasoning.languages.rif.document import (
    And,
    Document,
    Equal,
    Exists,
    Frame,
    Or,
    RifComputed,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    Test,
    free,
    parts,
    terms,
    variables,
)
from citywise.reasoning.languages.rif.parts import Written, WrittenRifRule

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


def _free(rule: RifRule) -> set[str]:
    whole = (*rule.heads, *((rule.body,) if rule.body is not None else ()))
    return {name for part in whole for name in free(part)}


def unbound(rule: RifRule) -> Iterator[str]:
    """Variables of a rule that in some alternative of its condition have no value.

    Those of the conclusion must have one in each alternative, others where they occur.
    """
    bound = _NONE if rule.body is None else bound_by(rule.body, _NONE)
    yield from (name for head in rule.heads for name in free(head) if name not in bound)
    if rule.body is not None:
        yield from _unbound(rule.body, _NONE)


def bound_by(formula: RifFormula, given: _Names) -> _Names:
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
    return frozenset(term.name for term in terms(formula) if isinstance(term, RifVariable))


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
        yield from (o.name for o, by in pairs if isinstance(o, RifVariable) and _has(by, given))
        return
    known = builtin(formula.predicate.value)
    for place in known.solves if known else ():
        others = (t for i, t in enumerate(formula.arguments) if i != place)
        solved = formula.arguments[place] if place < len(formula.arguments) else None
        if isinstance(solved, RifVariable) and all(_has(term, given) for term in others):
            yield solved.name


def _has(term: RifTerm, given: _Names) -> bool:
    return all(name in given for name in variables(term))


def _unbound(formula: RifFormula, given: _Names) -> Iterator[str]:
    """Variables without a value where they occur; those of an `Exists` too."""
    if isinstance(formula, Exists):
        given -= {variable.name for variable in formula.variables}
    if not isinstance(formula, Or):
        given |= bound_by(formula.part if isinstance(formula, Exists) else formula, given)
    for term in terms(formula):
        yield from (name for name in variables(term) if name not in given)
    for part in parts(formula):
        yield from _unbound(part, given)


def _why(written: WrittenRifRule, name: str) -> str:
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


def _is_computed_with(body: RifFormula, name: str) -> bool:
    found = (term for part in _within(body) for term in terms(part))
    return any(isinstance(term, RifComputed) and name in variables(term) for term in found)


def _within(formula: RifFormula) -> Iterator[RifFormula]:
    yield formula
    for part in parts(formula):
        yield from _within(part)


XML = ".rif"
"""Of documents in RIF's XML syntax."""
PRESENTATION = ".rifps"
"""Of documents in RIF's presentation syntax."""
SUFFIXES = (XML, PRESENTATION)
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class RifReading:
    """A document that could be read, and all that is wrong with what it says."""

    written: Written
    faults: tuple[RequestError, ...]

    @property
    def document(self) -> Document:
        """What the document says; to be evaluated only if there are no faults."""
        return self.written.document

    def sound(self) -> Document:
        """The document; raises its first fault."""
        for fault in self.faults:
            raise fault
        return self.document


def parse_file(path: Path) -> Document:
    """Read a document, by its suffix as XML or presentation syntax, without its imports.

    Raises `RequestError` at the first fault: what is no RIF, or outside RIF-Core, or unsafe.
    """
    return read_file(path).sound()


def parse(text: str, *, file: str = "<text>.rifps", name: str = "document") -> Document:
    """Turn a text into a document; that it is XML is said by the suffix of `file`.

    Raises `RequestError` at the first fault.
    """
    return read(text, file=file, name=name).sound()


def parse_formula_file(path: Path, prefixes: Mapping[str, str] | None = None) -> RifFormula:
    """Read a file that holds one condition, e.g. the conclusion of an entailment test.

    `prefixes` are those of the document the condition is about; it may have free variables.
    Raises `RequestError`.
    """
    return parse_formula(text_of(path), prefixes, file=str(path))


def parse_formula(
    text: str, prefixes: Mapping[str, str] | None = None, *, file: str = "<text>.rifps"
) -> RifFormula:
    """Turn a text into a condition, as `parse_formula_file`."""
    source = _sized(text, file)
    if file.endswith(XML):
        found = xml.formula(source)
    else:
        found = presentation.formula(source, prefixes or {})
    for _index, fault in source.faults:
        raise fault
    return found


def read_file(path: Path) -> RifReading:
    """Read a document whatever it says; raises `RequestError` for what is no RIF-Core."""
    return read(text_of(path), file=str(path), name=path.name)


def read(text: str, *, file: str = "<text>.rifps", name: str = "document") -> RifReading:
    """Read a text whatever it says; raises `RequestError` for what is no RIF-Core."""
    reader = xml if file.endswith(XML) else presentation
    written = reader.document(_sized(text, file), name)
    check(written)
    faults = sorted(written.source.faults, key=lambda found: found[0])
    return RifReading(written, tuple(fault for _index, fault in faults))


def _sized(text: str, file: str) -> Source:
    source = Source(text, file)
    if odd := _NO_CHARACTER.search(text):
        message = f"U+{ord(odd.group()):04X} is no character of a text; remove it"
        raise source.error(odd.start(), "character", message)
    if len(text) > MAX_CHARACTERS:
        message = f"a document has at most {MAX_CHARACTERS:,} characters; put facts into a graph "
        hint = "and import it, `Import(<facts.ttl> <http://www.w3.org/ns/entailment/Simple>)`"
        raise source.error(0, "size", message + hint)
    return source

"""What each name is: an individual, a predicate or a built-in, and one of them only.

W3C RIF BLD (second edition), "Well-formed Formulas", which RIF-Core takes over: a constant occurs
in one context, a local one in its document and any other in all documents that are imported too.
The number of a predicate's arguments is no part of its context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from reasoning.errors import Location, RequestError
from reasoning.languages.rif import document
from reasoning.languages.rif.document import (
    Document,
    Local,
    Name,
    RifAtom,
    RifComputed,
    RifConstant,
    RifRule,
    Term,
    Test,
    terms,
    within,
)
from reasoning.languages.rif.unparse import term_text
from reasoning.rdf.mapping import Iri


class Context(StrEnum):
    """How a name can occur, as messages call it."""

    INDIVIDUAL = "an individual"
    PREDICATE = "a predicate"
    FUNCTION = "a built-in function"
    CONDITION = "a built-in predicate"


class Occurrence(NamedTuple):
    """A name as a rule uses it."""

    name: Name
    context: Context
    rule: RifRule
    document: Document

    @property
    def location(self) -> Location:
        """Where the rule begins."""
        file = self.document.source or self.document.name
        return Location(file, self.rule.line or 1, self.rule.column)


def faults(documents: Sequence[Document]) -> Iterator[RequestError]:
    """A fault for each name that has two contexts in a document and all it imports.

    Parameters
    ----------
    documents:
        The importing one first; a fault is told where the importing document, or the later of
        two rules, is at odds with what was read before.
    """
    shared: dict[Name, Occurrence] = {}
    for each in reversed(documents):
        own: dict[Name, Occurrence] = {}
        told: set[Name] = set()
        for found in occurrences(each):
            known = own if isinstance(found.name, Local) else shared
            first = known.setdefault(found.name, found)
            if first.context != found.context and found.name not in told:
                told.add(found.name)
                yield _fault(found, first)


def occurrences(each: Document) -> Iterator[Occurrence]:
    """The names of a document's rules, each as often as it occurs."""
    for rule in each.rules:
        for formula in (*rule.heads, *(() if rule.body is None else within(rule.body))):
            if isinstance(formula, RifAtom):
                yield Occurrence(formula.predicate, Context.PREDICATE, rule, each)
            elif isinstance(formula, Test):
                yield Occurrence(formula.predicate, Context.CONDITION, rule, each)
            for name, context in _within(terms(formula)):
                yield Occurrence(name, context, rule, each)


def _within(found: Iterable[Term]) -> Iterator[tuple[Name, Context]]:
    """The names in terms: those of literals are no names."""
    for term in found:
        if isinstance(term, RifConstant) and isinstance(term.value, Iri | Local):
            yield term.value, Context.INDIVIDUAL
        elif isinstance(term, document.Sequence):
            yield from _within(term.items)
        elif isinstance(term, RifComputed):
            yield term.function, Context.FUNCTION
            yield from _within(term.arguments)


def _fault(found: Occurrence, first: Occurrence) -> RequestError:
    name = term_text(RifConstant(found.name), found.document.prefixes)
    return RequestError(
        found.location,
        "context",
        f"`{name}` is {found.context} here and {first.context} in {first.location}; in a document "
        f"and all it imports a name is one of them; {_cure(name, {found.context, first.context})}",
    )


def _cure(name: str, contexts: set[Context]) -> str:
    if contexts == {Context.INDIVIDUAL, Context.PREDICATE}:
        return f"rename one of the two, or write the atom as a frame, `a[{name} -> b]`"
    return "a built-in keeps its name, so rename the other"

"""A document of RIF-Core with everything it imports and the knowledge bases it is given.

A combination of rules with RDF graphs (W3C RIF RDF and OWL Compatibility, second edition). Each
name is an individual, a predicate or a built-in (W3C RIF BLD, "Well-formed Formulas"): a constant
occurs in one context, a local one in its document and any other in all
documents that are imported too. The number of a predicate's arguments is no part of its context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from citywise.reasoning.errors import Location, RequestError
from citywise.reasoning.languages.rif import document as rif
from citywise.reasoning.languages.rif import imports
from citywise.reasoning.languages.rif.document import (
    Document,
    Import,
    Local,
    Name,
    RifAtom,
    RifComputed,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    Test,
    apart,
    local_names,
    renamed,
    terms,
    within,
)
from citywise.reasoning.languages.rif.imports import (
    REGIMES,
    ImportRegime,
    fault_of_literals,
    fault_of_ontology,
    fault_of_rule,
    separations,
    without_annotations,
)
from citywise.reasoning.languages.rif.parsing import SUFFIXES, parse_file
from citywise.reasoning.languages.rif.unparse import term_text
from citywise.reasoning.model.request import KnowledgeSource
from citywise.reasoning.rdf.knowledge import read
from citywise.reasoning.rdf.mapping import OWL, Iri, Triple


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


def context_faults(documents: Sequence[Document]) -> Iterator[RequestError]:
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


def _within(found: Iterable[RifTerm]) -> Iterator[tuple[Name, Context]]:
    """The names in terms: those of literals are no names."""
    for term in found:
        if isinstance(term, RifConstant) and isinstance(term.value, Iri | Local):
            yield term.value, Context.INDIVIDUAL
        elif isinstance(term, rif.Sequence):
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


_IMPORTS = Iri(OWL + "imports")


@dataclass(frozen=True)
class RuleSource:
    """A file, and what it contributed."""

    path: str
    """As given, or as it was found for an import."""
    location: str = ""
    """What the `Import` calls it; empty for the document itself and for knowledge bases."""
    rules: tuple[RifRule, ...] = ()
    triples: tuple[Triple, ...] = ()


@dataclass(frozen=True)
class Theory:
    """What is to be evaluated: rules and static triples, and what they entail by themselves."""

    document: Document
    """The one that imports the others; its window and prefixes count."""
    rules: tuple[RifRule, ...]
    """Of the document and those it imports; their local names are renamed apart
    (`_p` of the first imported document that has it too is `_p'1`)."""
    triples: tuple[Triple, ...] = ()
    """Of imported graphs and knowledge bases; blank nodes are named apart by file."""
    regime: ImportRegime | None = None
    """What is inferred besides the rules; None where no graph is imported with a profile,
    and no knowledge base asks for it."""
    contradictions: tuple[RifFormula, ...] = ()
    """Conditions that cannot hold, besides those of the regime: where one does, the theory
    contradicts itself (OWL 2 Direct Semantics alone has such)."""
    sources: tuple[RuleSource, ...] = ()
    """The document first, then what it imports in order, then knowledge bases."""


def theory(document: Document, knowledge: Iterable[KnowledgeSource] = ()) -> Theory:
    """The document with what it imports and the knowledge bases.

    Imports are found as `imports.find` says. Raises `RequestError` for an import or a
    knowledge base that cannot be found or read, for a name that is a predicate here and an
    individual there, and for a combination that must be rejected: profiles without a highest,
    constants that a graph must not have, and under OWL-Direct what is no ontology of OWL 2 DL
    or no DL rule.
    """
    reading = _Reading(document)
    knowledge = tuple(knowledge)
    for number, source in enumerate(knowledge):
        reading.graph(source, f"k{number}")
    for fault in context_faults([each for each, _ in reading.documents]):
        raise fault
    regime, direct = imports.regime(reading.profiles)
    asked = (regime, *(source.entailment for source in knowledge))
    regime = max((each for each in asked if each), key=REGIMES.index, default=None)
    if direct:
        _refuse_outside_dl(reading)
    return _merged(document, reading, regime, direct)


class _Reading:
    """Reads a document's imports, theirs, and knowledge bases, each file once."""

    def __init__(self, document: Document) -> None:
        self.documents: list[tuple[Document, str]] = []
        self.graphs: list[RuleSource] = []
        self.profiles: list[tuple[Import, Location]] = []
        self.ontologies: list[tuple[RuleSource, Location]] = []
        """The imported graphs, and where they are."""
        self._window = document.window
        self._seen = {Path(document.source).resolve()}
        self._document(document, "")

    def graph(self, file: KnowledgeSource, scope: str, location: str = "") -> RuleSource:
        """Read a graph, its blank nodes named in `scope`."""
        base = read(file, scope)
        at = Location(file.path, 1, 1)
        if base.facts:
            raise RequestError(at, "knowledge", "facts of ASP; a RIF document reads RDF only")
        if message := fault_of_literals(base.triples):
            raise RequestError(at, "literal", message)
        source = RuleSource(file.path, location, triples=base.triples)
        self.graphs.append(source)
        return source

    def _document(self, document: Document, location: str) -> None:
        self.documents.append((document, location))
        for wanted in document.imports:
            self._import(wanted, _location(document, wanted.line))

    def _import(self, wanted: Import, at: Location) -> None:
        path = imports.find(wanted, at)
        if wanted.profile is not None:
            self.profiles.append((wanted, at))
        if (resolved := path.resolve()) in self._seen:
            return
        self._seen.add(resolved)
        if wanted.profile is None:
            self._imported_document(path, wanted, at)
        else:
            self._imported_graph(path, wanted)

    def _imported_document(self, path: Path, wanted: Import, at: Location) -> None:
        if path.suffix not in SUFFIXES:
            raise RequestError(
                at,
                "import",
                f"`{path}` is no RIF document ({' or '.join(SUFFIXES)}); an import of a graph "
                "names a profile: `Import(<location> <http://www.w3.org/ns/entailment/Simple>)`",
            )
        document = parse_file(path)
        if document.window not in (None, self._window):
            raise RequestError(
                at,
                "window",
                f"`{path}` has a window of its own; one window holds for all rules, so give both "
                "documents the same or leave it out there",
            )
        self._document(document, wanted.location)

    def _imported_graph(self, path: Path, wanted: Import) -> None:
        file = KnowledgeSource(str(path))
        source = self.graph(file, f"i{len(self.graphs)}", wanted.location)
        at = Location(source.path, 1, 1)
        self.ontologies.append((source, at))
        if imports.is_owl(wanted):
            for triple in source.triples:
                if triple.predicate == _IMPORTS and isinstance(triple.object, Iri):
                    self._import(Import(triple.object.value, wanted.profile), at)


def _refuse_outside_dl(reading: _Reading) -> None:
    for source, at in reading.ontologies:
        if message := fault_of_ontology(source.triples):
            raise RequestError(at, "owl-direct", f"this is no ontology of OWL 2 DL: {message}")
    for document, _ in reading.documents:
        for rule in document.rules:
            if message := fault_of_rule(rule):
                at = _location(document, rule.line, rule.column)
                raise RequestError(at, "owl-direct", message)


def _location(document: Document, line: int, column: int = 1) -> Location:
    return Location(document.source or document.name, line or 1, column)


def _merged(
    document: Document, reading: _Reading, regime: ImportRegime | None, direct: bool
) -> Theory:
    documents = tuple(_renamed_apart(reading.documents))
    graphs = reading.graphs
    triples = tuple(dict.fromkeys(triple for graph in graphs for triple in graph.triples))
    rules = tuple(rule for each in documents for rule in each.rules)
    return Theory(
        document,
        rules,
        without_annotations(triples) if direct else triples,
        regime,
        separations(triples, rules) if direct else (),
        (*documents, *graphs),
    )


def _renamed_apart(documents: Sequence[tuple[Document, str]]) -> Iterator[RuleSource]:
    """The documents, each local name in one of them only."""
    written = [set(local_names(document.rules)) for document, _ in documents]
    taken, seen = set().union(*written), set[str]()
    for (document, location), names in zip(documents, written, strict=True):
        new = apart(sorted(names & seen), taken)
        taken.update(new.values())
        seen |= names
        yield RuleSource(document.source, location, renamed(document.rules, new))

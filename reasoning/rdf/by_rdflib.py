"""RDF documents read by rdflib into our triples: nothing fetched, nothing changed.

Left to itself rdflib would normalise literals (`"01"` to `"1"`), name blank nodes at random
and follow the remote contexts of JSON-LD.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import orjson
import rdflib
import rdflib.parser
from rdflib.graph import QuotedGraph
from rdflib.plugins.parsers.notation3 import BadSyntax
from rdflib.store import Store
from rdflib.term import BNode, Node, URIRef

from citywise.reasoning.limits import LimitError
from citywise.reasoning.rdf import ntriples
from citywise.reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Term, Triple
from citywise.reasoning.rdf.ntriples import NOWHERE, UnreadableError

_LINE = re.compile(r"line (\d+)")
_rdflib_is_ours = threading.Lock()


def triples(data: bytes, syntax: str, scope: str, base: str) -> tuple[Triple, ...]:
    """See `parsing.triples`."""
    terms = _Terms(scope)
    sink = _Sink()
    with _quiet_rdflib(), _nothing_fetched():
        try:
            rdflib.Graph(store=sink).parse(data=data, format=syntax, publicID=base or NOWHERE)
        except Exception as error:  # noqa: BLE001 - a parser in trouble raises anything
            raise _unreadable(error) from None
    return tuple(dict.fromkeys(terms.triple(row) for row in sink.rows))


class _Sink(Store):
    """A store that only writes down what it is given, in order."""

    context_aware = True
    formula_aware = True
    graph_aware = True

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[Node, Node, Node]] = []

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:  # noqa: ARG002
        """Keep a triple, unless a formula merely quotes it."""
        if not quoted:
            self.rows.append(triple)

    def add_graph(self, graph: Any) -> None:
        """Graphs are not told apart."""


class _Terms:
    """rdflib's terms as ours; one for each document, because it names the blank nodes."""

    def __init__(self, scope: str) -> None:
        self._scope = scope
        self._blanks = 0
        self._terms: dict[Node, Term] = {}

    def triple(self, row: tuple[Node, Node, Node]) -> Triple:
        subject, predicate, value = (self._cached_term(node) for node in row)
        if isinstance(subject, Literal) or not isinstance(predicate, Iri):
            raise UnreadableError(f"{row[0]} {row[1]} {row[2]} is no RDF triple")
        return Triple(subject, predicate, value)

    def _cached_term(self, node: Node) -> Term:
        if isinstance(node, rdflib.Literal):  # equal ones may differ in their lexical form
            return _literal(node)
        if node not in self._terms:
            self._terms[node] = self._term(node)
        return self._terms[node]

    def _term(self, node: Node) -> Term:
        if isinstance(node, BNode):
            self._blanks += 1
            return Blank(f"{self._scope}-b{self._blanks - 1}")
        if isinstance(node, URIRef):
            return Iri(_based(str(node)))
        kind = "a formula" if isinstance(node, QuotedGraph) else f"the variable `?{node}`"
        raise UnreadableError(f"there is {kind} of N3 here; only triples are facts")


def _based(iri: str) -> str:
    if iri.startswith(NOWHERE):
        raise UnreadableError(f"<{iri.removeprefix(NOWHERE)}> is a relative IRI; write it in full")
    return ntriples.absolute(iri)


def _literal(node: rdflib.Literal) -> Literal:
    datatype = None if node.datatype is None else str(node.datatype)
    if datatype == XSD + "string":
        datatype = None
    return Literal(str(node), datatype, node.language)


@contextmanager
def _quiet_rdflib() -> Iterator[None]:
    """rdflib with its literals left alone; its log tells of each bad literal, as we do."""
    log = logging.getLogger("rdflib.term")
    with _rdflib_is_ours, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        normalises, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
        disabled, log.disabled = log.disabled, True
        try:
            yield
        finally:
            rdflib.NORMALIZE_LITERALS, log.disabled = normalises, disabled


@contextmanager
def _nothing_fetched() -> Iterator[None]:
    """rdflib without the function by which its parsers open what a document names, in the network
    or on the disk, e.g. the contexts of JSON-LD; while its lock is held."""
    opens = rdflib.parser._create_input_source_from_location
    rdflib.parser._create_input_source_from_location = _refuse_location  # type: ignore[assignment]
    try:
        yield
    finally:
        rdflib.parser._create_input_source_from_location = opens


def _refuse_location(*, location: str, **_source: object) -> NoReturn:
    raise UnreadableError(
        f"the context <{location.removeprefix(NOWHERE)}> lies outside the document and is not "
        "fetched; write it into the document"
    )


def _unreadable(error: Exception) -> UnreadableError | LimitError:
    if isinstance(error, UnreadableError | LimitError):
        return error
    if isinstance(error, orjson.JSONDecodeError):
        return UnreadableError(f"not JSON: {error.msg}", error.lineno)
    if isinstance(error, BadSyntax):
        return UnreadableError(f"bad syntax: {error._why}", error.lines + 1)
    if isinstance(error, RecursionError):
        return UnreadableError("the document nests too deep")
    line = getattr(error, "getLineNumber", lambda: getattr(error, "lineno", None))()
    message = getattr(error, "getMessage", lambda: str(error))()
    told = " ".join(message.split())[:300] or type(error).__name__
    match = _LINE.search(told)
    return UnreadableError(told, line or (int(match.group(1)) if match else None))

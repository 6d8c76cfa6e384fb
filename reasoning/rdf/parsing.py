"""RDF documents read by rdflib into our triples: nothing fetched, nothing changed.

Left to itself rdflib would normalise literals (`"01"` to `"1"`), name blank nodes at random
and follow the remote contexts of JSON-LD. Here literals keep their lexical form, blank
nodes are numbered in order of appearance, and a document that points outside is refused.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from xml.parsers import expat

import orjson
import rdflib
import rdflib.parser
from rdflib.graph import QuotedGraph
from rdflib.plugins.parsers.notation3 import BadSyntax
from rdflib.store import Store
from rdflib.term import BNode, Node, URIRef

from citywise.reasoning.errors import ItemError
from citywise.reasoning.limits import LimitError
from citywise.reasoning.rdf import ntriples
from citywise.reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Term, Triple

FORMATS = {
    "nt": "nt",
    "nq": "nt",
    "ttl": "turtle",
    "turtle": "turtle",
    "n3": "n3",
    "trig": "trig",
    "rdf": "xml",
    "xml": "xml",
    "owl": "xml",
    "jsonld": "json-ld",
    "json": "json-ld",
}
"""The format of a document by the extension of its name."""

_NOWHERE = "nowhere:///"
_LARGEST_ENTITY = 256
_LINE = re.compile(r"line (\d+)")
_LINE_END = re.compile(r"\r\n|[\r\n]")
_BEGINNINGS = (b"<", b"_")
"""How a document in Turtle begins that may be one in N-Triples: with a subject."""
_rdflib_is_ours = threading.Lock()


class UnreadableError(ItemError):
    """A document that is not RDF in the expected syntax; `line` from 1, if it is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def triples(data: bytes, syntax: str, scope: str, base: str = "") -> tuple[Triple, ...]:
    """The distinct triples of a document, of all its graphs, in order of appearance.

    `syntax` is a value of `FORMATS`. Blank nodes are called `{scope}-b0`, `{scope}-b1`, …
    (in N-Triples `{scope}-` and their label). Relative IRIs are resolved against `base`;
    without one they are an error. Raises `UnreadableError`.
    """
    if syntax == "nt":
        return _lines(data, scope)
    if syntax == "xml" and not data.lstrip(b"\xef\xbb\xbf\xfe\xff \t\r\n\0").startswith(b"<"):
        syntax = "turtle"  # ontologies are called .owl in any syntax
    if syntax == "turtle" and (found := _plain(data, scope)) is not None:
        return found
    if syntax == "xml":
        _refuse_entities(data)
    terms = _Terms(scope)
    sink = _Sink()
    with _quiet_rdflib(), _nothing_fetched():
        try:
            rdflib.Graph(store=sink).parse(data=data, format=syntax, publicID=base or _NOWHERE)
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
        subject, predicate, value = (self._known(node) for node in row)
        if isinstance(subject, Literal) or not isinstance(predicate, Iri):
            raise UnreadableError(f"{row[0]} {row[1]} {row[2]} is no RDF triple")
        return Triple(subject, predicate, value)

    def _known(self, node: Node) -> Term:
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
    if iri.startswith(_NOWHERE):
        raise UnreadableError(f"<{iri.removeprefix(_NOWHERE)}> is a relative IRI; write it in full")
    return ntriples.absolute(iri)


def _literal(node: rdflib.Literal) -> Literal:
    datatype = None if node.datatype is None else str(node.datatype)
    if datatype == XSD + "string":
        datatype = None
    return Literal(str(node), datatype, node.language)


def _lines(data: bytes, scope: str) -> tuple[Triple, ...]:
    """N-Triples and N-Quads, without rdflib: some ten times faster, and it names the line."""
    found: dict[Triple, None] = {}
    for number, line in enumerate(_LINE_END.split(_text(data)), 1):
        try:
            triple = ntriples.statement(line)
        except ItemError as error:
            raise UnreadableError(str(error), number) from None
        if triple is not None:
            found[scoped(triple, scope)] = None
    return tuple(found)


def _plain(data: bytes, scope: str) -> tuple[Triple, ...] | None:
    """A document in Turtle that is one in N-Triples too, read without rdflib, as rdflib would;
    None for any other."""
    if data.lstrip()[:1] not in _BEGINNINGS or _NOWHERE.encode() in data:
        return None
    labels: dict[str, str] = {}
    found: dict[Triple, None] = {}
    try:
        for line in _LINE_END.split(data.decode()):
            triple = ntriples.statement(line, quads=False)
            if triple is not None:
                found[_numbered(triple, scope, labels)] = None
    except (ItemError, UnicodeDecodeError):
        return None
    return tuple(found)


def _numbered(triple: Triple, scope: str, labels: dict[str, str]) -> Triple:
    """The triple with its blank nodes numbered in order of appearance."""
    subject, predicate, value = triple
    if isinstance(subject, Blank):
        subject = Blank(labels.setdefault(subject.label, f"{scope}-b{len(labels)}"))
    if isinstance(value, Blank):
        value = Blank(labels.setdefault(value.label, f"{scope}-b{len(labels)}"))
    return Triple(subject, predicate, value)


def scoped(triple: Triple, scope: str) -> Triple:
    """The triple with its blank nodes named within `scope`."""
    subject, predicate, value = triple
    if isinstance(subject, Blank):
        subject = Blank(f"{scope}-{subject.label}")
    if isinstance(value, Blank):
        value = Blank(f"{scope}-{value.label}")
    return Triple(subject, predicate, value)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableError("this is not UTF-8 text", line) from None


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
        f"the context <{location.removeprefix(_NOWHERE)}> lies outside the document and is not "
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


def _refuse_entities(data: bytes) -> None:
    """Entities in XML may name files or, of others, grow without end: refused in any order.
    Short plain texts, which abbreviate namespaces, are fine."""

    def declare(name: str, is_parameter: bool, value: str | None, *_outside: str | None) -> None:
        if is_parameter or value is None:
            raise UnreadableError(f"the entity `{name}` lies outside the document; write it in")
        if "&" in value:
            raise UnreadableError(f"the entity `{name}` is made of others; write its whole text")
        if len(value) > _LARGEST_ENTITY:
            raise UnreadableError(
                f"the entity `{name}` has {len(value):,} characters, of at most "
                f"{_LARGEST_ENTITY}; write its text where it is used"
            )

    def begin(_name: str, _attributes: object) -> None:
        raise StopIteration

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = declare
    parser.StartElementHandler = begin
    try:
        parser.Parse(data, True)
    except StopIteration:
        return
    except expat.ExpatError as error:
        raise UnreadableError(f"not XML: {error}", error.lineno) from None
    except (LookupError, ValueError) as error:  # of an encoding that expat does not know
        raise UnreadableError(f"not readable as XML: {error}; write it in UTF-8", 1) from None

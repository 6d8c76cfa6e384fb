"""RDF documents read into our triples: literals keep their lexical form, blank nodes are
numbered in order of appearance, and a document that points outside is refused.

What is N-Triples is read here; rdflib, which takes longer to load than most documents to
read, is asked for the rest.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from citywise.reasoning.errors import ItemError
from citywise.reasoning.rdf import ntriples
from citywise.reasoning.rdf.mapping import Blank, Triple
from citywise.reasoning.rdf.ntriples import UnreadableError

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

_LARGEST_ENTITY = 256
_LINE_END = re.compile(r"\r\n|[\r\n]")
_BEGINNINGS = (b"<", b"_")
"""How a document in Turtle begins that may be one in N-Triples: with a subject."""


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
    from citywise.reasoning.rdf import by_rdflib

    return by_rdflib.triples(data, syntax, scope, base)


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
    if data.lstrip()[:1] not in _BEGINNINGS or ntriples.NOWHERE.encode() in data:
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

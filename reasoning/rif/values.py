"""Terms of RIF and RDF as values of the incremental engine, and back.

An IRI is `<iri>`, a blank node `_:label`, a local constant `_name`, a number of xs:decimal
or a type derived from it that is whole a Python `int`, every other literal the N-Triples text
of its value in canonical form (`canonical`), a list the tuple `("", items…)`. Equal values
are equal objects.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias, Union, cast

from reasoning.engines.incremental.terms import Value
from reasoning.rdf import ntriples
from reasoning.rdf.canonical import canonical
from reasoning.rdf.mapping import XSD, Blank, Iri, Literal
from reasoning.rif.document import RIF, Local

Term: TypeAlias = Union[Iri, Local, Blank, Literal, "tuple[Term, ...]"]
"""A ground term; a tuple that is none of the others is a list."""

_SHORT = 200
_ESCAPE = "'"
"""Before the name of a local constant that else would read as a blank node's or as escaped."""


def value(term: Term) -> Value:
    """The engine's value of a term; raises `ItemError` for an ill-typed literal."""
    kind = type(term)
    if kind is Iri:
        return f"<{term[0]}>"
    if kind is Literal:
        short = len(term[0]) <= _SHORT
        return (_remembered if short else _literal)(cast("Literal", term))
    if kind is Blank:
        return f"_:{term[0]}"
    if kind is Local:
        return f"_{_ESCAPE}{term[0]}" if term[0][:1] in (":", _ESCAPE) else f"_{term[0]}"
    return ("", *(value(item) for item in cast("tuple[Term, ...]", term)))


def term(value: Value) -> Term:
    """The term that has this value; a literal in its canonical form."""
    if isinstance(value, int):
        return Literal(str(value), XSD + "integer")
    if isinstance(value, tuple):
        return tuple(term(item) for item in value[1:])
    if value[0] == "<":
        return Iri(value[1:-1])
    if value[0] == '"':
        return ntriples.term(value)
    return Blank(value[2:]) if value[1:2] == ":" else Local(value[1:].removeprefix(_ESCAPE))


def literal(value: Value) -> Literal | None:
    """The literal that has this value; None for what is none."""
    if isinstance(value, int) or (isinstance(value, str) and value[0] == '"'):
        return cast("Literal", term(value))
    return None


def text(value: Value) -> str | None:
    """The string that a value is; None for what is none, or has a language."""
    known = literal(value) if isinstance(value, str) else None
    return known.lexical if known and known[1:] == (None, None) else None


def string(text: str) -> Value:
    """The value of a string."""
    return ntriples.write(Literal(text))


def written(literal: int | Literal) -> Value:
    """The value of a literal that is in canonical form."""
    return literal if isinstance(literal, int) else ntriples.write(literal)


def _literal(literal: Literal) -> Value:
    if literal.datatype == RIF + "iri":
        return value(Iri(literal.lexical))
    if literal.datatype == RIF + "local":
        return value(Local(literal.lexical))
    return written(canonical(literal))


_remembered = lru_cache(maxsize=1 << 16)(_literal)

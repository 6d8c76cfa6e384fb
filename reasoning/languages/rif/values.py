"""Terms of RIF as values of the engine, and what relations are called: `<p>` and `_p` have the
frames of a property, `<p>/2` and `_p/2` the atoms of a predicate of that many arguments.

So `s[p -> o]` is the fact `("<p>", (s, o))`, and `p(a b)` is `("<p>/2", (a, b))`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias, Union, cast

from citywise.reasoning.languages.rif.document import RIF, Local
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf import ntriples
from citywise.reasoning.rdf.datatypes import canonical
from citywise.reasoning.rdf.mapping import XSD, Blank, Iri, Literal


def named(predicate: object, arity: int) -> str:
    """The relation of a predicate, which is given by its value."""
    return f"{predicate}/{arity}"


def predicate(relation: str) -> tuple[str, int] | None:
    """The value of the predicate and the number of arguments; None of a property's relation."""
    name, slash, arity = relation.rpartition("/")
    return (name, int(arity)) if slash and name and arity.isdecimal() else None


def is_property(relation: str) -> bool:
    """Whether the facts of a relation are frames."""
    return predicate(relation) is None


GroundTerm: TypeAlias = Union[Iri, Local, Blank, Literal, "tuple[GroundTerm, ...]"]
"""A ground term; a tuple that is none of the others is a list."""

_SHORT = 200
_ESCAPE = "'"
"""Before the name of a local constant that else would read as a blank node's or as escaped."""


def value(term: GroundTerm) -> Value:
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
    return ("", *(value(item) for item in cast("tuple[GroundTerm, ...]", term)))


def term(value: Value) -> GroundTerm:
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

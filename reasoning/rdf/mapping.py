"""Terms of RDF as terms of ASP, and back (DESIGN A5; thesis 4.2.1 and Definition 4.7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import NamedTuple

from reasoning.errors import ItemError
from reasoning.program import Request, Signature

XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = frozenset(
    XSD + name
    for name in (
        "integer",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedInt",
        "unsignedLong",
        "unsignedShort",
        "unsignedByte",
    )
)
_DECIMALS = frozenset(XSD + name for name in ("decimal", "double", "float"))
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1
_PREDICATE = re.compile(r"_*[a-z][A-Za-z0-9_']*\Z")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE = "'"


class Iri(NamedTuple):
    """An IRI, absolute."""

    value: str


class Blank(NamedTuple):
    """A blank node and its label."""

    label: str


class Literal(NamedTuple):
    """A literal: lexical form, datatype IRI (None: a plain string) and language."""

    lexical: str
    datatype: str | None = None
    language: str | None = None


Term = Iri | Blank | Literal


class Triple(NamedTuple):
    """Subject, predicate and object."""

    subject: Iri | Blank
    predicate: Iri
    object: Term


def quote(text: str) -> str:
    """`text` as a string of ASP."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class Mapper:
    """Turns triples into facts for one request: prefixes, scales and arities are its own.

    A stream triple gives the atoms of arity 2 and 3 that the rules mention, a triple of a
    knowledge base the atom of arity 2; a predicate the request cannot see gives nothing.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._prefixes = sorted(request.prefixes.items(), key=lambda p: -len(p[1]))
        self._names = sorted(request.prefixes.items(), key=lambda p: -len(p[0]))
        self._predicates: dict[str, str | None] = {}
        self._owner: dict[str, str] = {}
        self._arities: dict[str, tuple[bool, bool]] = {}

    def facts(self, triple: Triple, time: int | None = None) -> Iterator[str]:
        """Atoms of one triple as text; `time` in the request's unit, None for knowledge.

        Raises `ItemError` when a literal has no value in ASP.
        """
        name = self.predicate(triple.predicate.value)
        if name is None:
            return
        binary, ternary = self._mentioned(name)
        if not binary and not (ternary and time is not None):
            return
        subject, value = self.term(triple.subject, name), self.term(triple.object, name)
        if binary or time is None:
            yield f"{name}({subject},{value})"
        if ternary and time is not None:
            yield f"{name}({subject},{value},{time})"

    def predicate(self, iri: str) -> str | None:
        """The predicate symbol of an IRI, or None if no rule can see it."""
        if iri not in self._predicates:
            self._predicates[iri] = self._new_predicate(iri)
        return self._predicates[iri]

    def _new_predicate(self, iri: str) -> str | None:
        for prefix, namespace in self._prefixes:
            if iri.startswith(namespace):
                name = f"{prefix}_" + re.sub(r"\W", "_", iri[len(namespace) :], flags=re.ASCII)
                if not _PREDICATE.match(name):
                    return None
                owner = self._owner.setdefault(name, iri)
                if owner != iri and any(self._mentioned(name)):
                    raise ItemError(
                        f"<{iri}> and <{owner}> would both be the predicate `{name}`; "
                        "declare a longer prefix for one of them"
                    )
                return name
        return None

    def _mentioned(self, name: str) -> tuple[bool, bool]:
        """Whether the rules use the predicate with two and with three arguments."""
        if name not in self._arities:
            inputs = self._request.inputs
            listed = not inputs or any(s.name == name for s in inputs)
            arities = self._request.arities(name) if listed else frozenset()
            self._arities[name] = (2 in arities, 3 in arities)
        return self._arities[name]

    def term(self, term: Term, predicate: str) -> str:
        """A term as ASP text; `predicate` decides the scale of decimals."""
        if isinstance(term, Iri):
            return quote(self.name(term.value))
        if isinstance(term, Blank):
            return f'"_:{term.label}"'
        return self._literal(term, predicate)

    def name(self, iri: str) -> str:
        """The string that stands for an IRI: shortened by the longest prefix that fits.

        An IRI whose short name would read as another's keeps its full text.
        """
        for prefix, namespace in self._prefixes:
            if iri.startswith(namespace):
                name = f"{prefix}_{iri[len(namespace) :]}"
                return name if self.iri(name) == iri else iri
        return iri

    def iri(self, name: str) -> str | None:
        """The IRI behind a string, or None if the string stands for a literal."""
        if name.startswith((_ESCAPE, "_:")):
            return None
        for prefix, namespace in self._names:
            if name.startswith(f"{prefix}_"):
                return namespace + name[len(prefix) + 1 :]
        return name if _ABSOLUTE.match(name) else None

    def _literal(self, literal: Literal, predicate: str) -> str:
        datatype, text = literal.datatype, literal.lexical
        if datatype is None or literal.language is not None:
            return quote(self._string(text))
        scale = self._request.scales.get(predicate)
        if datatype in _INTEGERS or (datatype in _DECIMALS and scale is not None):
            return self._number(literal, predicate, scale or 1)
        if datatype in _DECIMALS:
            return self._decimal(literal, predicate)
        if datatype == XSD + "boolean":
            return "true" if text.strip() in ("true", "1") else "false"
        if datatype == XSD + "dateTime":
            return str(self._seconds(literal))
        return quote(self._string(text))

    def _string(self, text: str) -> str:
        """A literal's text, escaped where it would read as the name of a resource."""
        named = text.startswith((_ESCAPE, "_:")) or self.iri(text) is not None
        return _ESCAPE + text if named else text

    def _number(self, literal: Literal, predicate: str, scale: int) -> str:
        try:
            value = int((Decimal(literal.lexical) * scale).to_integral_value(ROUND_HALF_EVEN))
        except (InvalidOperation, ValueError, OverflowError) as error:
            raise ItemError(f"`{predicate}`: {_show(literal)} is not a number") from error
        if not _SMALLEST <= value <= _LARGEST:
            raise ItemError(
                f"`{predicate}`: {_show(literal)} × {scale} does not fit the 32-bit integers of ASP"
            )
        return str(value)

    def _decimal(self, literal: Literal, predicate: str) -> str:
        """A decimal without `#scale`: its text, unless a rule would compute with it."""
        for arity in (2, 3):
            line = self._request.compared.get(Signature(predicate, arity))
            if line is not None:
                raise ItemError(
                    f"`{predicate}`: the decimal {_show(literal)} meets arithmetic or a "
                    f"comparison in the rule of line {line}; declare `#scale {predicate} 100.` "
                    "and compare with values × 100"
                )
        return quote(self._string(literal.lexical))

    def _seconds(self, literal: Literal) -> int:
        try:
            time = datetime.fromisoformat(literal.lexical.strip())
        except ValueError as error:
            raise ItemError(f"{_show(literal)} is not a dateTime") from error
        if time.tzinfo is None:
            if self._request.timezone is None:
                raise ItemError(
                    f"{_show(literal)} has no time zone; declare one, e.g. "
                    '`#timezone "Europe/Copenhagen".`'
                )
            time = time.replace(tzinfo=self._request.timezone)
        seconds = int(time.astimezone(UTC).timestamp() // 1)
        if not _SMALLEST <= seconds <= _LARGEST:
            raise ItemError(f"{_show(literal)} does not fit the 32-bit integers of ASP")
        return seconds


def _show(literal: Literal) -> str:
    suffix = f"^^<{literal.datatype}>" if literal.datatype else ""
    return f'"{literal.lexical[:80]}"{suffix}'

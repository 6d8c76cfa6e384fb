"""Terms of RDF as terms of ASP, and back (docs/casp.md; thesis 4.2.1 and Definition 4.7)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import clingo
from clingo import SymbolType

from citywise.reasoning.errors import ItemError
from citywise.reasoning.model import atoms
from citywise.reasoning.model.request import Request, Signature

RANGES: dict[str, tuple[float, float]] = {
    "integer": (-math.inf, math.inf),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "nonNegativeInteger": (0, math.inf),
    "positiveInteger": (1, math.inf),
    "nonPositiveInteger": (-math.inf, 0),
    "negativeInteger": (-math.inf, -1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
"""The least and the greatest number of xs:integer and of the types derived from it, by their
names; both inclusive."""
INTEGER = re.compile(r"[+-]?[0-9]+")
"""Texts of whole numbers; of decimals and of finite doubles the next two."""
DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
DOUBLE = re.compile(rf"{DECIMAL.pattern}(?:[eE][+-]?[0-9]+)?")
_UNUSUAL = frozenset({"INF", "+INF", "-INF", "NaN"})
LONGEST = 1000
"""Of the text of a number: longer ones are not read."""


def integer(text: str, name: str) -> int:
    """The number of xs:integer, or of the type derived from it with this name.

    Raises `ValueError`, as the others do, for a text that the type does not allow.
    """
    if len(text) > LONGEST or not INTEGER.fullmatch(text):
        raise ValueError(text[:LONGEST])
    number = int(text)
    if not is_within(number, name):
        raise ValueError(text)
    return number


def is_within(number: int, name: str) -> bool:
    """Whether a number is one of xs:integer or of the type derived from it with this name."""
    low, high = RANGES[name]
    return low <= number <= high


def fraction(text: str) -> Fraction:
    """The number of xs:decimal."""
    if len(text) > LONGEST or not DECIMAL.fullmatch(text):
        raise ValueError(text[:LONGEST])
    return Fraction(text)


def floating(text: str) -> float:
    """The number of xs:double."""
    if len(text) > LONGEST or not (DOUBLE.fullmatch(text) or text in _UNUSUAL):
        raise ValueError(text[:LONGEST])
    return float(text)


def rounded(number: float) -> float:
    """The number of 32 bits next to a number."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = frozenset(XSD + name for name in RANGES)
_DECIMALS = frozenset(XSD + name for name in ("decimal", "double", "float"))
BOOLEANS = {"true": "true", "1": "true", "false": "false", "0": "false"}
"""Texts of booleans, with the canonical one of each."""
_PREDICATE = re.compile(r"_*[a-z][A-Za-z0-9_']*\Z")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
"""Characters that no IRI may hold (W3C RDF 1.1 N-Triples, IRIREF), though some data do."""
_SHORT, _REMEMBERED = 64, 20_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ESCAPE = "'"
_ODD = "'<"
"""Before the text of a resource whose name no IRI is, which else would read as a literal."""
_WHITE = " \t\r\n"
_MOST_DIGITS = 1000


class Iri(NamedTuple):
    """An IRI, absolute."""

    value: str


TYPE = Iri(RDF + "type")


class Blank(NamedTuple):
    """A blank node and its label."""

    label: str
    sort: str = "_:"
    """Always this: tuples compare by what they hold, and an IRI of the same text is another."""


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
    """`text` as a string of ASP; raises `ItemError` for what no string of ASP can hold."""
    atoms.refuse_characters(text)
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
        self._wanted: dict[str, tuple[bool, bool]] = {}
        self._forms: dict[str, tuple[str, bool, bool]] = {}
        # Subjects and readings repeat: an observation's IRI in each of its triples.
        self.resource = lru_cache(maxsize=_REMEMBERED)(lambda iri: quote(self.name(iri)))
        """The string of ASP that stands for an IRI."""
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._literal)

    def facts(self, triple: Triple, time: int | None = None) -> tuple[str, ...]:
        """Atoms of one triple as text; `time` in the request's unit, None for knowledge.

        Raises `ItemError` when a literal has no value in ASP.
        """
        if time is None:
            atom = self.atom(triple)
            return () if atom is None else ("{}({},{})".format(*atom),)
        given, predicate, found = triple
        form = self._forms.get(predicate.value)
        name, binary, ternary = self.form(predicate.value) if form is None else form
        if not binary and not ternary:
            return ()
        resource = self.resource  # what most terms are
        subject = resource(given.value) if type(given) is Iri else self.term(given, name)
        value = resource(found.value) if type(found) is Iri else self.term(found, name)
        if not ternary:
            return (f"{name}({subject},{value})",)
        timed = f"{name}({subject},{value},{time})"
        return (f"{name}({subject},{value})", timed) if binary else (timed,)

    def form(self, iri: str) -> tuple[str, bool, bool]:
        """The predicate symbol of an IRI, and whether its atoms of two and of three arguments
        are wanted of streams; an empty one, and neither, if no rule can see it."""
        known = self._forms.get(iri)
        if known is None:
            name = self.predicate(iri)
            known = self._forms[iri] = (
                ("", False, False) if name is None else (name, *self._streamed(name))
            )
        return known

    def atom(self, triple: Triple) -> tuple[str, str, str] | None:
        """Predicate and arguments of the atom that a triple of a knowledge base gives.

        None where no rule can see it; raises `ItemError` as `facts` does.
        """
        name = self.predicate(triple.predicate.value)
        if name is None or not self._mentioned(name)[0]:
            return None
        return name, self.term(triple.subject, name), self.term(triple.object, name)

    def predicate(self, iri: str) -> str | None:
        """The predicate symbol of an IRI, or None if no rule can see it."""
        if iri not in self._predicates:
            self._predicates[iri] = self._new_predicate(iri)
        return self._predicates[iri]

    def _new_predicate(self, iri: str) -> str | None:
        if iri in self._request.hidden:
            return self._request.hidden[iri]
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

    def predicate_iri(self, name: str) -> str | None:
        """The IRI of a predicate symbol: the one seen, or its prefix's; None without prefix."""
        return self._owner[name] if name in self._owner else self.prefixed(name)

    def prefixed(self, name: str) -> str | None:
        """The IRI that `prefix_local` stands for; None of what begins with no prefix."""
        for prefix, namespace in self._names:
            if name.startswith(f"{prefix}_"):
                return namespace + name[len(prefix) + 1 :]
        return None

    def view(self, iris: Iterable[str]) -> Hashable:
        """What decides the facts of stream triples with these predicates: mappers with
        equal views give the same."""
        request = self._request
        names = [self.predicate(iri) for iri in sorted(iris)]
        seen = tuple(
            (name, self._streamed(name), request.scales.get(name), self._computed(name))
            for name in names
            if name is not None
        )
        return tuple(self._prefixes), str(request.timezone), seen

    def _computed(self, name: str) -> bool:
        return any(Signature(name, arity) in self._request.compared for arity in (2, 3))

    def _mentioned(self, name: str) -> tuple[bool, bool]:
        """Whether the request uses or shows the predicate with two and three arguments."""
        if name not in self._arities:
            request = self._request
            shown = {s.arity for s in request.shows if s.name == name}
            arities = request.arities(name) | shown
            self._arities[name] = (2 in arities, 3 in arities)
        return self._arities[name]

    def _streamed(self, name: str) -> tuple[bool, bool]:
        """What of a stream's predicate is wanted: with `#input`, only what is listed there."""
        if name not in self._wanted:
            inputs = self._request.inputs
            hidden = inputs and not any(s.name == name for s in inputs)
            self._wanted[name] = (False, False) if hidden else self._mentioned(name)
        return self._wanted[name]

    def term(self, term: Term, predicate: str) -> str:
        """A term as ASP text; `predicate` decides the scale of decimals."""
        if isinstance(term, Iri):
            return self.resource(term.value)
        if isinstance(term, Blank):
            return quote(f"_:{term.label}")
        if len(term.lexical) > _SHORT:
            return self._literal(term, predicate)
        return self._remembered(term, predicate)

    def name(self, iri: str) -> str:
        """The string that stands for an IRI: shortened by the longest prefix that fits.

        An IRI whose short name would read as another's keeps its full text. What holds
        characters that no IRI may hold is kept apart from literals by a mark, `'<`.
        """
        if NOT_IN_IRI.search(iri):
            return _ODD + iri
        for prefix, namespace in self._prefixes:
            if iri.startswith(namespace):
                name = f"{prefix}_{iri[len(namespace) :]}"
                return name if self.iri(name) == iri else iri
        return iri

    def stem(self, iri: str) -> str | None:
        """How the strings of all IRIs begin that are `iri` and then characters that an IRI may
        hold, with the opening quote; None where what follows decides the name.

        Raises `ItemError` as `quote` does.
        """
        name = self.name(iri)
        for prefix, namespace in self._prefixes:
            if len(prefix) >= len(name) or (namespace != iri and namespace.startswith(iri)):
                return None
        return quote(name)[:-1]

    def iri(self, name: str) -> str | None:
        """The IRI behind a string, or None if the string stands for a literal."""
        if name.startswith(_ODD):
            return name[len(_ODD) :]
        if NOT_IN_IRI.search(name):
            return None
        if name.startswith((_ESCAPE, "_:")):
            return None
        return self.prefixed(name) or (name if _ABSOLUTE.match(name) else None)

    def unescape(self, text: str) -> str:
        """The lexical form of the literal that a string stands for."""
        return text.removeprefix(_ESCAPE)

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
            return _boolean(literal)
        if datatype == XSD + "dateTime":
            return str(self._seconds(literal))
        return quote(self._string(text))

    def _string(self, text: str) -> str:
        """A literal's text, escaped where it would read as the name of a resource."""
        named = text.startswith((_ESCAPE, "_:")) or self.iri(text) is not None
        return _ESCAPE + text if named else text

    def _number(self, literal: Literal, predicate: str, scale: int) -> str:
        value: int | Fraction = _value(literal, predicate) * scale
        if -2 * atoms.LARGEST < value < 2 * atoms.LARGEST:  # before it becomes a million digits
            number = round(value)
            if atoms.SMALLEST <= number <= atoms.LARGEST:
                return str(number)
        raise ItemError(
            f"`{predicate}`: {_show(literal)}{f' × {scale}' if scale > 1 else ''} does not fit the "
            "32-bit integers of ASP"
        )

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
        seconds = (time - _EPOCH) // timedelta(seconds=1)
        if not atoms.SMALLEST <= seconds <= atoms.LARGEST:
            raise ItemError(f"{_show(literal)} does not fit the 32-bit integers of ASP")
        return seconds


def _value(literal: Literal, predicate: str) -> int | Fraction:
    """The number a literal stands for, exactly; raises `ItemError` if it is none."""
    text = literal.lexical.strip(_WHITE)
    form = INTEGER if literal.datatype in _INTEGERS else DOUBLE
    if literal.datatype == XSD + "decimal":
        form = DECIMAL
    if not form.fullmatch(text):
        raise ItemError(f"`{predicate}`: {_show(literal)} is not a number")
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > _MOST_DIGITS or len(exponent) > 4:
        raise ItemError(f"`{predicate}`: {_show(literal)} has too many digits")
    if form is INTEGER:
        return int(digits)
    if not exponent and len(digits) <= _SHORT:  # most are: Fraction's own reading is slow
        whole, _, part = digits.partition(".")
        return Fraction(int(whole + part), 10 ** len(part))
    return Fraction(digits) * Fraction(10) ** int(exponent or 0)


def _boolean(literal: Literal) -> str:
    value = BOOLEANS.get(literal.lexical.strip(_WHITE))
    if value is None:
        raise ItemError(f"{_show(literal)} is no boolean; write true or false")
    return value


def _show(literal: Literal) -> str:
    suffix = f"^^<{literal.datatype}>" if literal.datatype else ""
    return f'"{literal.lexical[:80]}"{suffix}'


_BOOLEANS = (clingo.Function("true"), clingo.Function("false"))


class Inverse:
    """Turns atoms of a request back into triples, by its prefixes and scales.

    Names of resources, blank nodes and plain text come back exactly. What an atom does not
    keep comes back as what it became: a dateTime as an integer, a typed or tagged literal
    as its text, `"01"^^xsd:integer` as 1. A scaled value is divided again and an
    `xsd:decimal`.
    """

    def __init__(self, request: Request, mapper: Mapper | None = None) -> None:
        self._request = request
        self._mapper = mapper or Mapper(request)

    def triple(self, atom: clingo.Symbol) -> Triple | None:
        """The triple of an atom, or None: its predicate carries no prefix, it has not two
        arguments, or they are nothing RDF can hold."""
        if len(atom.arguments) != 2 or not atom.positive:
            return None
        predicate = self._mapper.predicate_iri(atom.name)
        subject = self.term(atom.arguments[0])
        value = self.term(atom.arguments[1], self._request.scales.get(atom.name))
        if predicate is None or value is None or not isinstance(subject, Iri | Blank):
            return None
        return Triple(subject, Iri(predicate), value)

    def term(self, symbol: clingo.Symbol, scale: int | None = None) -> Term | None:
        """The RDF term that a term of ASP stands for, or None."""
        if symbol.type == SymbolType.Number:
            return _number(symbol.number, scale)
        if symbol.type == SymbolType.String:
            return self._named(symbol.string)
        if symbol in _BOOLEANS:
            return Literal(symbol.name, XSD + "boolean")
        return None

    def _named(self, text: str) -> Term:
        if text.startswith("_:"):
            return Blank(text[2:])
        iri = self._mapper.iri(text)
        return Iri(iri) if iri is not None else Literal(self._mapper.unescape(text))


def _number(value: int, scale: int | None) -> Literal | None:
    if scale is None:
        return Literal(str(value), XSD + "integer")
    quotient = Decimal(value) / Decimal(scale)
    if quotient * scale != value:
        return None
    return Literal(f"{quotient.normalize():f}", XSD + "decimal")

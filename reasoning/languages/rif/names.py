"""Facts of RIF as atoms of ASP and as triples, and back (docs/rif-running.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import clingo
from clingo import SymbolType

from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.rif import values
from citywise.reasoning.languages.rif.bodies import TRIPLE
from citywise.reasoning.languages.rif.document import (
    Document,
    Frame,
    Local,
    RifAtom,
    RifConstant,
    RifFormula,
    RifRule,
    within,
)
from citywise.reasoning.languages.rif.unparse import KNOWN
from citywise.reasoning.languages.rif.values import named, predicate
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.request import (
    Request,
    Signature,
    StreamSource,
    TimeWindow,
    parse_duration,
)
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.mapping import Blank, Inverse, Iri, Literal, Mapper, Triple, quote

_STANDARD = {name: KNOWN[name] for name in ("rdf", "rdfs", "owl", "xsd")}
_POINT = TimeWindow(0, 1)
_REMEMBERED = 1 << 16
_IDENTIFIER = re.compile(r"[a-z][A-Za-z0-9_']*", re.ASCII)
_RESERVED = frozenset(("triple", "atom", "local", "true", "false", "not"))
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def request(document: Document, *, streamed: bool = True) -> Request:
    """What a document says of streams, terms and times; its stream takes items of any name.

    Its prefixes are those of the document, and `rdf`, `rdfs`, `owl` and `xsd` if it has these
    names for nothing else and these namespaces under no other name.
    """
    declared, revise = document.prefixes, document.revise
    standard = {
        name: namespace
        for name, namespace in _STANDARD.items()
        if name not in declared and namespace not in declared.values()
    }
    return Request(
        document.name,
        "",
        streams=(StreamSource("", _POINT),) if streamed else (),
        prefixes={**standard, **declared},
        revise=None if revise is None else parse_duration(revise, document.unit),
        unit=document.unit,
    )


class FactNames:
    """How the facts of a document are written.

    A triple whose property carries a prefix is `prefix_local(s,o)`, any other
    `triple(s,p,o)`. An atom of RIF is `prefix_local(a,…)`, or `local(a,…)` where its predicate
    is local; otherwise `atom(p,a,…)`. A local constant is `name`, or `local("Name")` where
    that is no name of ASP, and a list a tuple.

    Parameters
    ----------
    document:
        Whose prefixes they carry.
    rules:
        Those of the documents it imports too.
    """

    def __init__(self, document: Document, rules: Iterable[RifRule]) -> None:
        self.request = request(document)
        self._mapper = Mapper(self.request)
        self._inverse = Inverse(self.request, self._mapper)
        relations = sorted(set(_predicates(rules)))
        self._positional = set(filter(predicate, relations))
        self._owners = self._owned(relations)
        self._forms: dict[str, str] = {}
        self._text = lru_cache(maxsize=_REMEMBERED)(self._written)

    # -- from the stream ------------------------------------------------------------

    def fact(self, atom: str) -> Fact:
        """The fact that a ground atom of ASP writes; raises `ItemError`.

        An atom of two arguments is a triple, unless the document has an atom of RIF with that
        predicate and two arguments.
        """
        symbol = clingo.parse_term(atom)
        row = tuple(self._value(argument, atom) for argument in symbol.arguments)
        if not symbol.positive:
            raise ItemError(f"`{atom}` is negated; RIF-Core knows no negation")
        if symbol.name == TRIPLE and len(row) == 3:
            return self._property(row[1], atom), (row[0], row[2])
        if symbol.name == "atom" and row:
            return named(self._property(row[0], atom), len(row) - 1), row[1:]
        iri = self._iri(symbol.name)
        if iri is None:
            return named(f"_{symbol.name}", len(row)), row
        relation = named(f"<{iri}>", len(row))
        return (f"<{iri}>" if len(row) == 2 and relation not in self._positional else relation), row

    def _property(self, value: Value, atom: str) -> str:
        if isinstance(value, str) and value[0] in "<_":
            return value
        raise ItemError(f"`{atom}`: the predicate is no IRI and no local name")

    def _iri(self, name: str) -> str | None:
        """The IRI of a predicate of ASP; None of a local one."""
        return self._owners.get(name) or self._mapper.prefixed(name)

    def _value(self, symbol: clingo.Symbol, atom: str) -> Value:
        term = self._inverse.term(symbol)
        if term is not None:
            return values.value(term)
        if symbol.type == SymbolType.Function:
            arguments = symbol.arguments
            if not symbol.name:
                return ("", *(self._value(argument, atom) for argument in arguments))
            if not arguments and symbol.positive:
                return values.value(Local(symbol.name))
            if symbol.name == "local" and [a.type for a in arguments] == [SymbolType.String]:
                return values.value(Local(arguments[0].string))
        raise ItemError(f"`{atom}`: `{symbol}` is no term of RIF; write a number, string or tuple")

    # -- to answers -----------------------------------------------------------------

    def atom(self, fact: Fact) -> str:
        """A fact as text in ASP syntax, without spaces."""
        relation, row = fact
        if relation == TRIPLE and len(row) == 3:
            subject, predicate, value = row
            if not isinstance(predicate, str) or predicate[0] == '"':
                return f"triple({','.join(map(self._text, row))})"
            relation, row = predicate, (subject, value)
        form = self._forms.get(relation)
        if form is None:
            form = self._forms[relation] = self._form(relation)
        return form % tuple(map(self._text, row))

    def signature(self, relation: str) -> Signature:
        """The predicate of the atoms that facts of a relation are written as."""
        positional = predicate(relation)
        name, arity = positional or (relation, 2)
        own = None if relation == TRIPLE else self._predicate(name, local=positional is not None)
        if own is not None:
            return Signature(own, arity)
        return Signature("atom", arity + 1) if positional else Signature(TRIPLE, 3)

    def triple(self, fact: Fact) -> Triple | None:
        """The triple of a fact; None of an atom of RIF, and of what RDF cannot hold."""
        relation, row = fact
        if relation == TRIPLE and len(row) == 3:
            subject, predicate, value = map(values.term, row)
        elif relation.endswith(">"):
            predicate, (subject, value) = values.term(relation), map(values.term, row)
        else:
            return None
        if not isinstance(value, Iri | Blank | Literal) or not isinstance(predicate, Iri):
            return None
        return Triple(subject, predicate, value) if isinstance(subject, Iri | Blank) else None

    def _form(self, relation: str) -> str:
        """The text of a relation's atoms, with `%s` for each argument."""
        positional = predicate(relation)
        name, arity = positional or (relation, 2)
        places = ["%s"] * arity
        own = self._predicate(name, local=positional is not None)
        if own is not None:
            return call(own, places)
        places.insert(0 if positional else 1, self._text(name).replace("%", "%%"))
        return f"{'atom' if positional else 'triple'}({','.join(places)})"

    def _predicate(self, name: str, *, local: bool) -> str | None:
        """The predicate of ASP for one of RIF, if it alone has that name."""
        term = values.term(name)
        if isinstance(term, Iri):
            found = self._mapper.predicate(term.value)
            return found if found and self._iri(found) == term.value else None
        is_own = local and isinstance(term, Local) and self._is_own(term.name)
        return name[1:] if is_own else None

    def _is_own(self, name: str) -> bool:
        """Whether a local name can stand for itself: as a constant or predicate of ASP."""
        is_free = name not in _RESERVED and self._mapper.prefixed(name) is None
        return is_free and _IDENTIFIER.fullmatch(name) is not None

    def _owned(self, relations: Iterable[str]) -> dict[str, str]:
        """The IRIs of predicates of ASP that the rules' own are; of two that would be the same
        neither."""
        found: dict[str, set[str]] = {}
        for relation in relations:
            term = values.term((predicate(relation) or (relation,))[0])
            name = self._mapper.predicate(term.value) if isinstance(term, Iri) else None
            if isinstance(term, Iri) and name is not None:
                found.setdefault(name, set()).add(term.value)
        return {name: iris.pop() if len(iris) == 1 else "" for name, iris in found.items()}

    def _written(self, value: Value) -> str:
        """A value as a term of ASP."""
        term = values.term(value)
        if isinstance(term, Local):
            plain = _IDENTIFIER.fullmatch(term.name) and term.name not in _RESERVED
            return term.name if plain else f"local({_quoted(term.name)})"
        if not isinstance(term, Iri | Blank | Literal):
            inner = ",".join(map(self._text, value[1:]))  # type: ignore[index]
            return f"({inner},)" if len(term) == 1 else f"({inner})"
        try:
            return self._mapper.term(term, "")
        except ItemError:  # a number that ASP has not, a dateTime without a zone
            assert isinstance(term, Literal)
            return _quoted(term.lexical)


def _quoted(text: str) -> str:
    """A string of ASP; what it cannot hold becomes U+FFFD."""
    return quote(_NO_TEXT.sub("\ufffd", text))


def _predicates(rules: Iterable[RifRule]) -> Iterator[str]:
    """The relations of the rules' atoms and triples."""
    for rule in rules:
        for formula in (*rule.heads, *(() if rule.body is None else within(rule.body))):
            yield from _of(formula)


def _of(formula: RifFormula) -> Iterator[str]:
    if isinstance(formula, RifAtom):
        yield named(values.value(formula.predicate), len(formula.arguments))
    elif isinstance(formula, Frame):
        for slot, _value in formula.slots:
            if isinstance(slot, RifConstant) and isinstance(slot.value, Iri | Local):
                yield str(values.value(slot.value))

"""Events as CityPulse's detectors annotate them in Turtle (thesis, Listing 7.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from backend.context.alignment import EC, SAO, UnknownNameError, our_event_type, our_source
from backend.context.answers import SAO_KEY
from backend.errors import CitywiseError
from backend.ingest.standing import Entry, checked
from backend.packs.ontology import PREFIXES, city, local_name
from backend.times import parse_ms
from reasoning.errors import ItemError
from reasoning.rdf import parsing
from reasoning.rdf.mapping import RDF, Blank, Iri, Literal, Term, Triple

_TYPE = f"{RDF}type"
_LEVEL, _LOCATION = f"{SAO}hasLevel", f"{SAO}hasLocation"
_SOURCE = f"{EC}hasSource"
_TIME = "http://purl.org/NET/c4dm/timeline.owl#time"
_GEO = "http://www.w3.org/2003/01/geo/wgs84_pos#"


class AnnotationError(CitywiseError):
    """An annotated event lacks something or cannot be read; the message names it."""


def read_events(turtle: str) -> list[Entry]:
    """The events of a document, as they are to stand; one of level 0 is over.

    Raises `AnnotationError`.
    """
    try:
        triples = parsing.triples(turtle.encode(), "turtle", "event")
    except ItemError as error:
        raise AnnotationError(str(error)) from None
    subjects = dict.fromkeys(t.subject for t in triples if t.predicate.value == _LEVEL)
    if not subjects:
        raise AnnotationError(f"no event: nothing has a level (<{_LEVEL}>)")
    return [_Annotated(triples, subject).entry() for subject in subjects]


class _Annotated:
    """The triples about one event."""

    def __init__(self, triples: Iterable[Triple], subject: Iri | Blank) -> None:
        self._triples = tuple(triples)
        self._subject = subject

    def entry(self) -> Entry:
        """The event as it is to stand."""
        key = self._key()
        level = self._level()
        if level == 0:
            return Entry("event", key, None)
        body = {
            "type": self._kind(),
            "level": level,
            "geometry": {"type": "Point", "coordinates": self._point()},
            "start_ms": self._start(),
            "source": self._source(),
        }
        try:
            return checked("event", key, body)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise self._error(f"{where}: {first['msg']}") from None
        except ValueError as error:
            raise self._error(str(error)) from None

    def _error(self, message: str) -> AnnotationError:
        return AnnotationError(f"event {self._subject}: {message}")

    def _key(self) -> str:
        """Its id: what CityPulse calls it, or the end of its IRI."""
        if not isinstance(self._subject, Iri):
            raise AnnotationError("an event has no IRI; name it")
        iri = self._subject.value
        return SAO_KEY + iri.removeprefix(SAO) if iri.startswith(SAO) else local_name(iri)

    def _objects(self, subject: Iri | Blank, predicate: str) -> Iterator[Term]:
        for triple in self._triples:
            if triple.subject == subject and triple.predicate.value == predicate:
                yield triple.object

    def _one(self, subject: Iri | Blank, predicate: str) -> Term:
        found = next(self._objects(subject, predicate), None)
        if found is None:
            raise self._error(f"it has no <{predicate}>")
        return found

    def _text(self, subject: Iri | Blank, predicate: str) -> str:
        found = self._one(subject, predicate)
        if not isinstance(found, Literal):
            raise self._error(f"<{predicate}> is no literal")
        return found.lexical

    def _number(self, subject: Iri | Blank, predicate: str) -> float:
        text = self._text(subject, predicate)
        try:
            return float(text)
        except ValueError:
            raise self._error(f"<{predicate}> is {text!r}, expected a number") from None

    def _level(self) -> int:
        text = self._text(self._subject, _LEVEL)
        if not text.isdecimal():
            raise self._error(f"<{_LEVEL}> is {text!r}, expected a whole number")
        return int(text)

    def _kind(self) -> str:
        """The local name of our class for its type, the narrowest if it has several."""
        found = list(self._objects(self._subject, _TYPE))
        known = [kind for kind in map(_our_type, found) if kind is not None]
        if not known:
            names = ", ".join(str(t.value) for t in found if isinstance(t, Iri)) or "no type"
            raise self._error(f"its type is none of CityPulse's or ours: {names}")
        narrowest = max(known, key=lambda kind: (len(city().superclasses(kind)), kind))
        return narrowest.removeprefix(PREFIXES["ev"])

    def _point(self) -> list[float]:
        where = self._one(self._subject, _LOCATION)
        if isinstance(where, Literal):
            raise self._error(f"<{_LOCATION}> is a literal, expected a node with a point")
        return [self._number(where, f"{_GEO}lon"), self._number(where, f"{_GEO}lat")]

    def _start(self) -> int:
        text = self._text(self._subject, _TIME)
        try:
            return parse_ms(text)
        except ValueError as error:
            raise self._error(f"<{_TIME}> is {text!r}: {error}") from None

    def _source(self) -> str:
        try:
            return our_source(self._text(self._subject, _SOURCE))
        except UnknownNameError as error:
            raise self._error(f"source: {error}") from None


def _our_type(term: Term) -> str | None:
    try:
        return our_event_type(term.value) if isinstance(term, Iri) else None
    except UnknownNameError:
        return None

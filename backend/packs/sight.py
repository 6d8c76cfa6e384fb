"""What a template's rules can see: which predicates they read, and what terms stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from citywise.backend.city.observations import EVENT, PLACE
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.vocabulary import PREDICATES
from citywise.reasoning import Iri, Signature
from citywise.reasoning.rdf.mapping import Mapper, Term, quote

_DOUBT = frozenset(name for name, supplied in PREDICATES.items() if supplied.kind)
Context = Mapping[str, Mapping[str, Any]]
"""What is known of a user, by subject: `position`, `route`, `activity`, `preferences`."""


class Sight:
    """A template's view of what stands."""

    def __init__(self, template: TemplateVersion) -> None:
        request = template.request
        self._template = template
        self._mapper = Mapper(request)
        self._used = request.used
        self.names = frozenset(signature.name for signature in request.used)
        """Names of the predicates that the rules read."""
        self._windowed = {source.iri.rsplit("/", 1)[1] for source in request.streams}
        self._derived = frozenset(signature.name for signature in request.derived)
        seen = any(self.latest(kind) or self.doubts(kind) for kind in template.kinds)
        self.places = "places" in template.streams or seen
        """Whether the rules see places."""
        self.events = "events" in template.streams
        """Whether the rules see events."""
        self.reads_readings = bool(request.streams) or seen
        """Whether the rules see sensors' readings themselves."""

    def reads(self, *names: str) -> bool:
        """Whether the rules read any of some predicates."""
        return not self.names.isdisjoint(names)

    def may(self, permission: str) -> bool:
        """Whether the app is permitted to see something of its users."""
        return permission in self._template.permissions

    def latest(self, kind: str) -> bool:
        """Whether the rules read the latest values of a kind of observations."""
        known = self._template.kinds.get(kind)
        if kind in self._windowed or known is None:
            return False
        properties = known.read
        found = (self._mapper.predicate(iri.value) for _, iri, _ in properties)
        return any(Signature(name, 2) in self._used for name in found if name)

    def asks(self, name: str) -> bool:
        """Whether the rules read a predicate of the framework, and do not derive it themselves."""
        return name in self.names and name not in self._derived

    def doubts(self, kind: str) -> bool:
        """Whether the rules ask how far the sensors of a kind can be trusted."""
        return kind in self._template.kinds and any(map(self.asks, _DOUBT))

    def term(self, iri: str) -> str:
        """The term of ASP that stands for an IRI."""
        return quote(self._mapper.name(iri))

    def event(self, key: str) -> str:
        """The term of an event."""
        return self.term(EVENT + key)

    def place(self, key: str) -> str:
        """The term of a place."""
        return self.term(PLACE + key)

    def about(self, term: str) -> tuple[str, str]:
        """What the text of a term names: `event`, `place` or `term`, and its id or text."""
        iri = self._mapper.iri(term)
        for kind, base in (("event", EVENT), ("place", PLACE)):
            if iri is not None and iri.startswith(base):
                return kind, iri.removeprefix(base)
        return "term", term

    def atoms(self, entity: str, triples: Iterable[tuple[Iri, Term]]) -> list[str]:
        """The atoms that the rules read of predicates and objects of triples about an entity.

        Raises `ItemError` for a literal without a value in ASP.
        """
        found = []
        for iri, value in triples:
            name = self._mapper.predicate(iri.value)
            if name is not None and Signature(name, 2) in self._used:
                found.append(f"{name}({entity},{self._mapper.term(value, name)})")
        return found

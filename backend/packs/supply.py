"""What stands in the log as facts of a template: instances, users, events, places, time.

docs/apps.md lists the facts. They are kept by the entity they are about (an instance, an
event, a place), so that only instances concerned by a change are evaluated again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from backend.city.observations import BASE, PLACE, PROPERTIES, values
from backend.ingest.records import Reading, Standing
from backend.packs.notices import Owner
from backend.packs.ontology import PREFIXES
from backend.packs.template import TemplateVersion
from backend.packs.values import BadValuesError
from backend.space import OFF_ROUTE_M, Area, LocalTime, Relation, Space, in_span, is_open
from backend.space.geometry import Spot
from backend.times import iso
from reasoning.errors import ItemError
from reasoning.keyed.evaluation import KeyedEvaluation
from reasoning.program import Signature
from reasoning.rdf.mapping import XSD, Iri, Literal, Mapper, Term, quote

EVENT = BASE + "event/"
_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_EV, _CTX = PREFIXES["ev"], PREFIXES["ctx"]
_REACH_M = 1000
"""Where rules ask for distances but name no radius."""
_ROUTE = frozenset({"near_route", "ahead", "passed", "opposite"})
_AROUND = frozenset({"near_me", "distance"})
_CONTEXT = ("position", "route", "activity", "preferences")


Context = Mapping[str, Mapping[str, Any]]
"""What is known of a user, by subject."""


@dataclass(frozen=True)
class _Instance:
    """An instance of the template, ready for facts."""

    body: Mapping[str, Any]
    user: str
    key: str
    traveller: str
    radii: tuple[int, ...]
    areas: Mapping[str, list[Area]]
    spans: Mapping[str, list[tuple[int, int]]]
    route: list[list[float]] | None


@dataclass
class _Known:
    """What stands, by subject and key, as far as the template may see it."""

    context: dict[str, dict[str, Mapping[str, Any]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    points: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Longitude and latitude of the things that areas may hold."""
    hours: dict[str, str] = field(default_factory=dict)


class Supply:
    """Keeps a template's facts in step with what stands.

    `serves` says which users' instances are evaluated here. Instances whose values do not
    fit the template are left out, and why is in `faults`, by instance.
    """

    def __init__(
        self,
        template: TemplateVersion,
        evaluation: KeyedEvaluation,
        serves: Callable[[str], bool],
        zone: str,
    ) -> None:
        request = template.request
        self._template, self._evaluation, self._serves = template, evaluation, serves
        self._facts = evaluation.facts
        self._zone, self._time = zone, LocalTime(zone)
        self._mapper = Mapper(request)
        self._used = request.used
        self._names = {signature.name for signature in request.used}
        self._radii = template.radii
        self._space = Space(
            max(self._radii, default=_REACH_M),
            route=self._reads(_ROUTE) and self._may("route"),
            around=self._reads(_AROUND) and self._may("position"),
        )
        self._has_space = self._reads(_ROUTE | _AROUND | {"off_route"})
        self._windowed = {source.iri.rsplit("/", 1)[1] for source in request.streams}
        self._sees_places = self._reads({"place", "open"}) or any(map(self.reads, PROPERTIES))
        self._instances: dict[str, _Instance] = {}
        self._of_user: dict[str, set[str]] = defaultdict(set)
        self._of_traveller: dict[str, set[str]] = defaultdict(set)
        self._relations: dict[str, dict[str, Relation]] = defaultdict(dict)
        self._moved: set[str] = set()
        self._leaving: set[str] = set()
        """Travellers who may have no instance any more."""
        self._known = _Known()
        self._minute: int | None = None
        self.faults: dict[str, str] = {}
        self.owners: dict[str, Owner] = {}
        """Instance and user by key, those gone since `forget_gone` included."""

    # -- what the rules read --------------------------------------------------------

    def _reads(self, names: Iterable[str]) -> bool:
        return not self._names.isdisjoint(names)

    def _may(self, permission: str) -> bool:
        return permission in self._template.permissions

    def reads(self, kind: str) -> bool:
        """Whether the rules read the latest values of a kind of observations."""
        if kind in self._windowed or kind not in self._template.streams:
            return False
        properties = PROPERTIES.get(kind, {}).values()
        found = (self._mapper.predicate(iri.value) for iri, _ in properties)
        return any(Signature(name, 2) in self._used for name in found if name)

    # -- what stands ----------------------------------------------------------------

    def take(self, standing: Standing) -> None:
        """Something stands from now on, or does no longer."""
        subject, key, body = standing.subject, standing.key, standing.body
        if subject == "instance":
            self._instance(key, body)
        elif subject in _CONTEXT:
            if self._may(subject) and self._serves(key):
                self._context(subject, key, body)
        elif subject == "event":
            if "events" in self._template.streams:
                self._event(key, body)
        elif subject == "place" and self._sees_places:
            self._place(key, body)

    def reading(self, reading: Reading) -> None:
        """The latest values of a sensor; see `reads`."""
        entity, group = self._term(PLACE + reading.sensor), ("reading", reading.kind)
        try:
            self._facts.put(entity, group, self._atoms(entity, values(reading)))
            self.faults.pop(f"latest {reading.kind}", None)
        except ItemError as error:
            self._facts.put(entity, group, ())
            self.faults[f"latest {reading.kind}"] = str(error)

    def _instance(self, key: str, body: Mapping[str, Any] | None) -> None:
        known = self._instances.get(key)
        if known is not None and known.body == body:
            return  # told again
        self._withdraw(key)
        self.faults.pop(key, None)
        if body is None or not self._is_mine(body):
            return
        try:
            bound = self._template.bind(body["values"])
        except BadValuesError as fault:
            self.faults[key] = str(fault)
            return
        route = self._template.route(bound)
        instance = _Instance(
            body=body,
            user=body["user"],
            key=quote(key),
            traveller=f"#{key}" if route else body["user"],
            radii=tuple(sorted(self._radii | self._template.thresholds(bound))),
            areas={n: [Area.of(a) for a in v] for n, v in self._template.areas(bound).items()},
            spans=self._template.spans(bound),
            route=route,
        )
        self._instances[key] = instance
        self._of_user[instance.user].add(key)
        self._of_traveller[instance.traveller].add(key)
        facts = self._template.facts(key, bound, self._term)
        self._facts.put(
            instance.key,
            "values",
            [f"user({instance.key},{quote(instance.user)})", *facts],
            self._places_named(bound),
        )
        self.owners[instance.key] = Owner(key, instance.user)
        self._evaluation.add(instance.key)
        self._minute = None if instance.spans else self._minute
        self._begin(instance)

    def _is_mine(self, body: Mapping[str, Any]) -> bool:
        template = self._template
        wanted = (template.app, template.name, template.version)
        return (body["app"], body["template"], body["version"]) == wanted and self._serves(
            body["user"]
        )

    def _places_named(self, bound: Mapping[str, Any]) -> list[str]:
        return [self._term(PLACE + place) for _name, place, _kind in self._template.places(bound)]

    def _begin(self, instance: _Instance) -> None:
        """Let an instance see where its user is and what is there."""
        context = self._known.context.get(instance.user, {})
        if self._has_space:
            traveller = instance.traveller
            keys = self._of_traveller[traveller]
            widest = max((r for k in keys for r in self._instances[k].radii), default=_REACH_M)
            self._space.put_reach(traveller, widest)
            if len(keys) == 1:
                line = instance.route or (context.get("route") or {}).get("coordinates")
                self._space.put_route(traveller, line)
                self._space.put_position(traveller, context.get("position"))
            self._moved.add(traveller)
            for thing, relation in self._relations.get(traveller, {}).items():
                self._relate(instance, thing, relation)
        self._tell_context(instance, context)
        for thing, point in self._known.points.items() if instance.areas else ():
            self._enclose(instance, thing, point)

    def _withdraw(self, key: str) -> None:
        instance = self._instances.pop(key, None)
        if instance is None:
            return
        self._evaluation.remove(instance.key)
        self._facts.forget(instance.key)
        for index, name in (
            (self._of_user, instance.user),
            (self._of_traveller, instance.traveller),
        ):
            index[name].discard(key)
            if not index[name]:
                del index[name]
        self._leaving.add(instance.traveller)

    def _context(self, subject: str, user: str, body: Mapping[str, Any] | None) -> None:
        known = self._known.context[user]
        if body is not None and known.get(subject) == body:
            return  # told again
        if body is None:
            known.pop(subject, None)
            if not known:
                del self._known.context[user]
        else:
            known[subject] = body
        instances = [self._instances[key] for key in sorted(self._of_user.get(user, ()))]
        for instance in instances:
            self._tell_context(instance, known)
        if self._has_space and subject in ("position", "route"):
            for traveller in dict.fromkeys(i.traveller for i in instances):
                self._travel(traveller, subject, body)

    def _travel(self, traveller: str, subject: str, body: Mapping[str, Any] | None) -> None:
        self._moved.add(traveller)
        if subject == "position":
            self._space.put_position(traveller, body)
        elif not traveller.startswith("#"):
            self._space.put_route(traveller, None if body is None else body["coordinates"])

    def _tell_context(self, instance: _Instance, context: Context) -> None:
        """What is known of an instance's user, but for what is near."""
        me = instance.key
        has_route = instance.route or "route" in context
        found: dict[str, list[str]] = {
            "activity": self._atoms(me, _activity_triples(context)),
            "preferences": _preferences(me, context),
            "position": [f"has_position({me})"] if "position" in context else [],
            "route": [f"has_route({me})"] if has_route else [],
            "inside": self._i_am_inside(instance, context.get("position")),
        }
        for group, facts in found.items():
            self._facts.put(me, group, facts)

    def _i_am_inside(self, instance: _Instance, at: Mapping[str, Any] | None) -> list[str]:
        return [
            f"i_am_inside({instance.key},{quote(name)})"
            for name, areas in instance.areas.items()
            if at is not None and any(area.contains(at["lon"], at["lat"]) for area in areas)
        ]

    def _event(self, key: str, body: Mapping[str, Any] | None) -> None:
        entity = self._term(EVENT + key)
        if body is None:
            self._facts.put(entity, "event", ())
            self._thing(f"e{key}", entity, None)
            return
        place = body.get("place_id")
        facts = self._atoms(entity, _event_triples(body, self._template))
        self._facts.put(entity, "event", facts, [self._term(PLACE + place)] if place else ())
        self._thing(f"e{key}", entity, body.get("geometry"))

    def _place(self, key: str, body: Mapping[str, Any] | None) -> None:
        entity = self._term(PLACE + key)
        kind = [f"place({entity},{quote(body['kind'])})"] if body else []
        self._facts.put(entity, "place", kind if self._reads({"place"}) else ())
        hours = (body or {}).get("opening_hours")
        if hours:
            self._known.hours[entity] = hours
        else:
            self._known.hours.pop(entity, None)
        self._minute = None
        self._thing(f"p{key}", entity, body["geometry"] if body else None)

    def _thing(self, key: str, entity: str, geometry: Mapping[str, Any] | None) -> None:
        """A thing is at a place, or nowhere."""
        if self._reads(_ROUTE | _AROUND):
            directed = geometry is not None and geometry["type"] == "LineString"
            self._space.put_thing(key, geometry, directed)
        if self._reads({"inside"}):
            if geometry is None:
                self._known.points.pop(entity, None)
            else:
                self._known.points[entity] = _middle(geometry)
            for instance in self._instances.values():
                if instance.areas:
                    self._enclose(instance, entity, self._known.points.get(entity))

    def _enclose(self, instance: _Instance, entity: str, point: tuple[float, float] | None) -> None:
        facts = [
            f"inside({instance.key},{entity},{quote(name)})"
            for name, areas in instance.areas.items()
            if point is not None and any(area.contains(*point) for area in areas)
        ]
        self._facts.put(instance.key, ("inside", entity), facts, [entity] if facts else ())

    # -- what follows from where all are, and from the time -------------------------

    def settle(self, t_ms: int) -> None:
        """Bring the facts about space and time up to what stands at a time (Unix ms)."""
        if self._has_space:
            self._leave()
            for traveller, thing, relation in self._space.settle():
                if relation is None:
                    self._relations[traveller].pop(thing, None)
                else:
                    self._relations[traveller][thing] = relation
                for key in self._of_traveller.get(traveller, ()):
                    self._relate(self._instances[key], thing, relation)
            self._tell_off_route()
        if self._reads({"time_of_day", "weekday", "date", "during", "open"}):
            self._tell_time(t_ms)

    def _leave(self) -> None:
        """Forget travellers without instances; one that was replaced has another by now."""
        for traveller in self._leaving - self._of_traveller.keys():
            self._space.put_route(traveller, None)
            self._space.put_position(traveller, None)
            self._space.put_reach(traveller, None)
            self._relations.pop(traveller, None)
        self._leaving.clear()

    def _relate(self, instance: _Instance, thing: str, relation: Relation | None) -> None:
        entity = self._term((EVENT if thing[0] == "e" else PLACE) + thing[1:])
        facts = [] if relation is None else list(self._related(instance, entity, relation))
        self._facts.put(instance.key, ("near", thing), facts, [entity] if facts else ())

    def _related(self, instance: _Instance, entity: str, relation: Relation) -> Iterator[str]:
        """The facts about an instance's user and a thing, as far as the rules read them."""
        me, names = instance.key, self._names
        radii = instance.radii or (_REACH_M,)
        near = relation.route_m is not None and relation.route_m <= radii[-1]
        if near and "near_route" in names:
            yield from (
                f"near_route({me},{entity},{r})" for r in radii if (relation.route_m or 0) <= r
            )
        if near and "ahead" in names and relation.ahead_m is not None:
            yield f"ahead({me},{entity},{int(relation.ahead_m)})"
        if relation.behind and "passed" in names:
            yield f"passed({me},{entity})"
        if relation.opposite and "opposite" in names:
            yield f"opposite({me},{entity})"
        if relation.away_m is not None and relation.away_m <= radii[-1]:
            if "near_me" in names:
                yield from (f"near_me({me},{entity},{r})" for r in radii if relation.away_m <= r)
            if "distance" in names:
                yield f"distance({me},{entity},{int(relation.away_m)})"

    def _tell_off_route(self) -> None:
        for traveller in self._moved if "off_route" in self._names else ():
            away = self._space.off_route_m(traveller)
            for key in self._of_traveller.get(traveller, ()):
                me = self._instances[key].key
                off = away is not None and away > OFF_ROUTE_M
                self._facts.put(me, "off_route", [f"off_route({me})"] if off else ())
        self._moved.clear()

    def _tell_time(self, t_ms: int) -> None:
        """Facts that change with the minute."""
        if self._minute == t_ms // 60_000:
            return
        self._minute = t_ms // 60_000
        now = self._time.facts(t_ms)
        year, month, day = now.date
        told = {
            "time_of_day": f"time_of_day({now.minute})",
            "weekday": f"weekday({now.weekday})",
            "date": f"date({year},{month},{day})",
        }
        self._evaluation.everywhere("time", [f for name, f in told.items() if name in self._names])
        for instance in self._instances.values():
            if instance.spans:
                me = instance.key
                facts = [
                    f"during({me},{quote(name)})"
                    for name, spans in instance.spans.items()
                    if any(in_span(now.minute, span) for span in spans)
                ]
                self._facts.put(me, "during", facts)
        for entity, hours in self._known.hours.items() if "open" in self._names else ():
            is_now = is_open(hours, t_ms, self._zone)
            self._facts.put(entity, "open", [f"open({entity})"] if is_now else ())

    # -- terms ----------------------------------------------------------------------

    def has(self, instance: str) -> bool:
        """Whether there is an instance."""
        return instance in self._instances

    def forget_gone(self) -> None:
        """Forget whose the instances were that are no more."""
        self.owners = {k: o for k, o in self.owners.items() if o.instance in self._instances}

    def is_over(self, kind: str, name: str) -> bool:
        """Whether what a notice is about is an event that no longer stands."""
        return kind == "event" and not self._facts.groups(self._term(EVENT + name))

    def is_far(self, key: str, kind: str, name: str) -> bool:
        """Whether an event or place is no longer near an instance's user, or in its areas."""
        if kind == "term":
            return False
        entity = self._term((EVENT if kind == "event" else PLACE) + name)
        return entity not in self._facts.names(key)

    def about(self, term: str) -> tuple[str, str]:
        """What a term names: `event`, `place` or `term`, and its id or text."""
        iri = self._mapper.iri(term)
        for kind, base in (("event", EVENT), ("place", PLACE)):
            if iri is not None and iri.startswith(base):
                return kind, iri.removeprefix(base)
        return "term", term

    def _term(self, iri: str) -> str:
        return quote(self._mapper.name(iri))

    def _atoms(self, entity: str, triples: Iterable[tuple[Iri, Term]]) -> list[str]:
        """The atoms that the rules read of triples about an entity."""
        found = []
        for iri, value in triples:
            name = self._mapper.predicate(iri.value)
            if name is not None and Signature(name, 2) in self._used:
                found.append(f"{name}({entity},{self._mapper.term(value, name)})")
        return found


def _preferences(me: str, context: Context) -> list[str]:
    """The facts of what a user prefers."""
    return [
        f"preference({me},{quote(name)},{value if isinstance(value, int) else quote(value)})"
        for name, value in context.get("preferences", {}).items()
    ]


def _activity_triples(context: Context) -> Iterator[tuple[Iri, Term]]:
    """What a user is doing, if that is known (ontologies/context.ttl)."""
    if "activity" in context:
        yield Iri(_CTX + "activity"), Iri(_named(_CTX, context["activity"]["activity"]))


def _event_triples(
    body: Mapping[str, Any], template: TemplateVersion
) -> Iterator[tuple[Iri, Term]]:
    """An event as its rules see it (ontologies/event.ttl); its type with all above it."""
    kind = _named(_EV, body["type"])
    for iri in sorted(template.above(kind)):
        yield Iri(_RDF_TYPE), Iri(iri)
    yield Iri(_EV + "level"), Literal(str(body["level"]), XSD + "integer")
    if body.get("place_id"):
        yield Iri(_EV + "place"), Iri(PLACE + body["place_id"])
    yield Iri(_EV + "start"), Literal(iso(body["start_ms"]), XSD + "dateTime")
    yield Iri(_EV + "source"), Literal(body["source"])


def _named(namespace: str, name: str) -> str:
    """The IRI of a local name; a full IRI stays."""
    return name if ":" in name else namespace + name


def _middle(geometry: Mapping[str, Any]) -> tuple[float, float]:
    spot = Spot.of(geometry, directed=False)
    return spot.lon, spot.lat

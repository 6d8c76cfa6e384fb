"""What stands in the log as facts of a template: instances, users, events, places, readings.

docs/apps.md lists the facts. They are kept by the entity they are about (an instance, an
event, a place), so that only instances concerned by a change are evaluated again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from citywise.backend.city.observations import PLACE, latest_values, values
from citywise.backend.ingest.records import Reading, Standing
from citywise.backend.ingest.standing import CONTEXT, PERSONAL
from citywise.backend.opening import BadHoursError, check_hours
from citywise.backend.packs.calendar import Calendar
from citywise.backend.packs.doubting import Doubting
from citywise.backend.packs.instances import Instance, Instances
from citywise.backend.packs.nearness import REACH_M, Nearness
from citywise.backend.packs.ontology import PREFIXES
from citywise.backend.packs.sight import Context, Sight
from citywise.backend.packs.stance import POSITION, ROUTE, Stance
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.values import BadValuesError
from citywise.backend.packs.vocabulary import RDF
from citywise.backend.packs.zones import Zones
from citywise.backend.space.geometry import Spot
from citywise.backend.times import iso
from citywise.reasoning import Iri, ItemError, Literal
from citywise.reasoning.rdf.mapping import XSD, Term, quote
from citywise.reasoning.run.keyed import KeyedEvaluation

_EV, _CTX = PREFIXES["ev"], PREFIXES["ctx"]
UNREADABLE = "readings of"
"""How faults begin that are about readings."""
Body = Mapping[str, Any]


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
        self._template, self._evaluation, self._serves = template, evaluation, serves
        self._facts = evaluation.facts
        self.sight = Sight(template)
        self.instances = Instances()
        self._nearness = Nearness(self.sight, template.radii, self.instances, self._facts)
        self._zones = Zones(self.sight, self.instances, self._facts, template.names_places)
        self._calendar = Calendar(self.sight, self.instances, evaluation, zone)
        self.doubting = Doubting(template, self.sight, self._facts)
        self._known: dict[str, dict[str, Body]] = defaultdict(dict)
        """What is known of users, whether they have instances or not."""
        self._events: dict[str, dict[str, Any]] = {}
        """What events are called and where they are, by id."""
        self.faults: dict[str, str] = {}
        self.ended: dict[str, str] = {}
        """Why instances are no more, by id; the caller may clear it."""

    def take(self, standing: Standing) -> None:
        """Something stands from now on, or does no longer; what cannot be understood is left
        out, and the rest goes on."""
        subject, key = standing.subject, standing.key
        self.faults.pop(f"{subject} {key}", None)
        try:
            self._take(subject, key, standing.body)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one, others go on
            self._leave_out(subject, key, error)

    def _leave_out(self, subject: str, key: str, error: Exception) -> None:
        """As if it were gone, since part of it may have been taken; of what is about a person
        nothing is quoted."""
        told = "" if subject in PERSONAL else f": {error}"
        self.faults[f"{subject} {key}"] = f"left out: {type(error).__name__}{told}"
        with suppress(Exception):
            self._take(subject, key, None)

    def _take(self, subject: str, key: str, body: Body | None) -> None:
        if subject == "instance":
            self._instance(key, body)
        elif subject in CONTEXT:
            if self.sight.may(subject) and self._serves(key):
                self._context(subject, key, body)
        elif subject == "event" and self.sight.events:
            self._event(key, body)
        elif subject == "place" and self.sight.places:
            self._place(key, body)

    def reading(self, reading: Reading) -> None:
        """The latest values of a sensor."""
        entity, group = self.sight.place(reading.sensor), ("reading", reading.kind)
        try:
            kind = self._template.kinds.get(reading.kind)
            found = self.sight.atoms(entity, latest_values(reading.values, kind)) if kind else ()
            self._facts.put(entity, group, found)
            self.faults.pop(f"{UNREADABLE} {reading.kind}", None)
        except Exception as error:  # noqa: BLE001 - one reading must not stop the others
            self._facts.put(entity, group, ())
            known = isinstance(error, ItemError)
            told = str(error) if known else f"{type(error).__name__}: {error}"
            self.faults[f"{UNREADABLE} {reading.kind}"] = told

    def settle(self, t_ms: int) -> None:
        """Bring the facts about space and time up to what stands at a time (Unix ms)."""
        self._nearness.settle()
        self.doubting.settle(t_ms)
        self._calendar.settle(t_ms)

    # -- instances ------------------------------------------------------------------

    def _instance(self, key: str, body: Body | None) -> None:
        known = self.instances.get(key)
        if known is not None:
            if known.body == body:
                return  # told again
            self._end(known)
            self.ended[known.id] = "removed" if body is None else "migrated"
        self.faults.pop(key, None)
        if body is None or not self._is_ours(body):
            return
        self.ended.pop(key, None)
        try:
            bound = self._template.bind(body["values"])
        except BadValuesError as fault:
            self.faults[key] = str(fault)
            return
        self._begin(Instance.of(key, body, self._template, bound), bound)

    def _is_ours(self, body: Body) -> bool:
        template = self._template
        ours = (template.app, template.name, template.version)
        is_of_it = (body["app"], body["template"], body["version"]) == ours
        return is_of_it and self._serves(body["user"])

    def _begin(self, instance: Instance, bound: Mapping[str, Any]) -> None:
        """There is an instance: its values, its user's context, and what is near."""
        self.instances.add(instance)
        reads = self.sight.reads
        user = [f"user({instance.key},{quote(instance.user)})"] if reads("user") else []
        facts = self._template.facts(instance.id, bound, self.sight.term)
        places = [self.sight.place(place) for _name, place, _kind in self._template.places(bound)]
        self._facts.put(instance.key, "values", [*user, *facts], places)
        context = self._known.get(instance.user, {})
        self._nearness.begin(instance, context)
        self._zones.begin(instance)
        self._calendar.begin(instance)
        self._tell_context(instance, context)
        self._evaluation.add(instance.key)

    def _end(self, instance: Instance) -> None:
        self.instances.remove(instance)
        self._nearness.end(instance)
        self._zones.end(instance)
        self._evaluation.remove(instance.key)
        self._facts.forget(instance.key)

    # -- users ----------------------------------------------------------------------

    def _context(self, subject: str, user: str, body: Body | None) -> None:
        if self._known.get(user, {}).get(subject) == body:
            return  # told again
        known = self._known[user]
        if body is None:
            del known[subject]
        else:
            known[subject] = body
        if not known:
            del self._known[user]
        for traveller in dict.fromkeys(i.traveller for i in self.instances.of_user(user)):
            if subject in ("position", "route"):
                self._nearness.travel(traveller, subject, body)
        for instance in self.instances.of_user(user):
            self._tell_context(instance, known)

    def _tell_context(self, instance: Instance, context: Context) -> None:
        """What is known of an instance's user, but for what is near."""
        me, reads = instance.key, self.sight.reads
        has_position = reads("has_position") and "position" in context
        has_route = reads("has_route") and (instance.route or "route" in context)
        found: dict[str, list[str]] = {
            "activity": self.sight.atoms(me, _activity(context)),
            "preferences": _preferences(me, context) if reads("preference") else [],
            "position": [f"has_position({me})"] if has_position else [],
            "route": [f"has_route({me})"] if has_route else [],
        }
        for group, facts in found.items():
            self._facts.put(me, group, facts)
        self._zones.travel(instance, context.get("position"))

    # -- the city -------------------------------------------------------------------

    def _event(self, key: str, body: Body | None) -> None:
        entity = self.sight.event(key)
        place = body and body.get("place_id")
        facts: list[str] = []
        try:
            facts += self.sight.atoms(entity, self._event_triples(body)) if body else ()
        except ItemError as error:
            self.faults[f"event {key}"] = str(error)
        self._facts.put(entity, "event", facts, [self.sight.place(place)] if place else ())
        if body is None:
            self._events.pop(key, None)
        else:
            self._events[key] = _event_details(body)
        self._put_thing(f"e{key}", entity, body and body.get("geometry"))

    def _event_triples(self, body: Body) -> Iterator[tuple[Iri, Term]]:
        """An event as its rules see it (ontologies/event.ttl); its type with all above it."""
        kind = _named(_EV, body["type"])
        for iri in sorted(self._template.above(kind)):
            yield Iri(RDF + "type"), Iri(iri)
        yield Iri(_EV + "level"), Literal(str(body["level"]), XSD + "integer")
        if body.get("place_id"):
            yield Iri(_EV + "place"), Iri(PLACE + body["place_id"])
        yield Iri(_EV + "start"), Literal(iso(body["start_ms"]), XSD + "dateTime")
        yield Iri(_EV + "source"), Literal(body["source"])

    def _place(self, key: str, body: Body | None) -> None:
        entity = self.sight.place(key)
        facts = [f"place({entity},{quote(body['kind'])})"] if body else []
        facts = facts if self.sight.reads("place") else []
        try:
            facts += self.sight.atoms(entity, self._fields(body)) if body else ()
        except ItemError as error:
            self.faults[f"place {key}"] = str(error)
        self._facts.put(entity, "place", facts)
        self._calendar.put_hours(entity, self._hours(key, body) if body else None)
        self._put_thing(f"p{key}", entity, body and body["geometry"])
        self._zones.put_place(key, body and body["geometry"])
        self.doubting.put_place(key, body)

    def _fields(self, place: Body) -> Iterator[tuple[Iri, Term]]:
        """What a place's own kind says of it."""
        kind = self._template.kinds.places.get(place["kind"])
        return values(place, kind) if kind else iter(())

    def _hours(self, key: str, place: Body) -> str | None:
        """The opening hours of a place; none where they cannot be read."""
        hours: str | None = place.get("opening_hours")
        if hours and self.sight.reads("open"):
            try:
                check_hours(hours)
            except BadHoursError as error:
                self.faults[f"place {key}"] = str(error)
                return None
        return hours

    def _put_thing(self, thing: str, entity: str, geometry: Body | None) -> None:
        self._nearness.put_thing(thing, geometry)
        self._zones.put_thing(entity, geometry)

    # -- what notices are about -----------------------------------------------------

    def named(self, kind: str, name: str) -> Mapping[str, Any]:
        """What an event is called and where it is, as changes of notices carry it."""
        return self._events.get(name, {}) if kind == "event" else {}

    def is_over(self, kind: str, name: str) -> bool:
        """Whether what a notice is about is an event that no longer stands."""
        return kind == "event" and name not in self._events

    def is_far(self, key: str, kind: str, name: str) -> bool:
        """Whether an event or place is no longer near an instance's user, or in its areas."""
        if kind == "term":
            return False
        entity = self.sight.event(name) if kind == "event" else self.sight.place(name)
        return entity not in self._facts.names(key)

    def stance(self, name: str, about: str) -> Stance:
        """How the user of an instance stands to an event or a place as of the last `settle`."""
        instance = self.instances.get(name)
        assert instance is not None, f"no instance {name}"
        known = {*self._known.get(instance.user, ()), *(("route",) if instance.route else ())}
        needed = [
            subject
            for subject, names in (("route", ROUTE), ("position", POSITION))
            if self.sight.reads(*names) and not (subject == "route" and instance.route)
        ]
        letter = "e" if about in self._events else "p"
        return Stance(
            user=instance.user,
            about=about,
            stands=about in self._events or bool(self._facts.groups(self.sight.place(about))),
            hidden=tuple(s for s in needed if not self.sight.may(s)),
            unknown=tuple(s for s in needed if self.sight.may(s) and s not in known),
            radius_m=max(instance.radii, default=REACH_M),
            relation=self._nearness.relation(instance.traveller, f"{letter}{about}"),
        )


def _event_details(event: Body) -> dict[str, Any]:
    """Name and middle of an event, if it has a name."""
    if not event.get("name"):
        return {}
    spot = Spot.of(event["geometry"], directed=False)
    return {"about_name": event["name"], "lat": spot.lat, "lon": spot.lon}


def _preferences(me: str, context: Context) -> list[str]:
    """The facts of what a user prefers."""
    return [
        f"preference({me},{quote(name)},{value if isinstance(value, int) else quote(value)})"
        for name, value in context.get("preferences", {}).items()
    ]


def _activity(context: Context) -> Iterator[tuple[Iri, Term]]:
    """What a user is doing, if that is known (ontologies/context.ttl)."""
    if "activity" in context:
        yield Iri(_CTX + "activity"), Iri(_named(_CTX, context["activity"]["activity"]))


def _named(namespace: str, name: str) -> str:
    """The IRI of a local name; a full IRI stays."""
    return name if ":" in name else namespace + name

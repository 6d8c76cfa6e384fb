"""Who is near what, as facts of instances (docs/space.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from citywise.backend.packs.instances import Instance, Instances
from citywise.backend.packs.sight import Context, Sight
from citywise.backend.space import OFF_ROUTE_M, Relation, Space
from citywise.reasoning.run.keyed import StandingFacts

REACH_M = 1000
"""Where rules ask for distances but name no radius."""
_EVERYWHERE_M = 100_000
"""In the whole city and around it."""
_ROUTE = ("near_route", "ahead", "passed", "opposite")
_AROUND = ("near_me", "distance")


class Nearness:
    """Keeps the facts about ways, positions and things in step.

    Things are told by a letter, `e` for an event and `p` for a place, and their id.
    """

    def __init__(
        self, sight: Sight, radii: frozenset[int], instances: Instances, facts: StandingFacts
    ) -> None:
        self._sight, self._instances, self._facts = sight, instances, facts
        self._relates = sight.reads(*_ROUTE, *_AROUND)
        self._travels = self._relates or sight.reads("off_route")
        self._space = Space(
            max(radii, default=REACH_M),
            route=sight.reads(*_ROUTE) and sight.may("route"),
            around=sight.reads(*_AROUND) and sight.may("position"),
        )
        self._relations: dict[str, dict[str, Relation]] = defaultdict(dict)
        self._moved: set[str] = set()
        self._leaving: set[str] = set()

    def begin(self, instance: Instance, context: Context) -> None:
        """There is an instance from now on, whose user's context is known so far."""
        if not self._travels:
            return
        traveller = instance.traveller
        self._space.put_reach(traveller, self._reach(traveller))
        if len(list(self._instances.of_traveller(traveller))) == 1:
            route = context.get("route") or {}
            self._space.put_route(traveller, instance.route or route.get("coordinates"))
            self._space.put_position(traveller, context.get("position"))
        self._moved.add(traveller)
        for thing, relation in self._relations.get(traveller, {}).items():
            self._relate(instance, thing, relation)

    def end(self, instance: Instance) -> None:
        """There is an instance no longer; perhaps another takes its place at once."""
        self._leaving.add(instance.traveller)

    def travel(self, traveller: str, subject: str, body: Mapping[str, Any] | None) -> None:
        """A traveller has another position or way."""
        if not self._travels:
            return
        self._moved.add(traveller)
        if subject == "position":
            self._space.put_position(traveller, body)
        elif not traveller.startswith("#"):
            self._space.put_route(traveller, None if body is None else body["coordinates"])

    def put_thing(self, thing: str, geometry: Mapping[str, Any] | None) -> None:
        """A thing is somewhere, or nowhere."""
        if self._relates:
            directed = geometry is not None and geometry["type"] == "LineString"
            self._space.put_thing(thing, geometry, directed)

    def settle(self) -> None:
        """Tell what has changed."""
        if not self._travels:
            return
        self._leave()
        for traveller, thing, relation in self._space.settle():
            if relation is None:
                self._relations.get(traveller, {}).pop(thing, None)
            else:
                self._relations[traveller][thing] = relation
            for instance in self._instances.of_traveller(traveller):
                self._relate(instance, thing, relation)
        self._tell_off_route()

    def relation(self, traveller: str, thing: str) -> Relation | None:
        """How a traveller stands to a thing as of the last `settle`, however far it is.

        Nothing may have come since.
        """
        near = self._relations.get(traveller, {}).get(thing)
        if near is not None or not self._relates:
            return near
        self._space.put_reach(traveller, _EVERYWHERE_M)
        found = {(who, what): relation for who, what, relation in self._space.settle()}
        self._space.put_reach(traveller, self._reach(traveller))
        self._space.settle()
        return found.get((traveller, thing))

    def _reach(self, traveller: str) -> int:
        others = self._instances.of_traveller(traveller)
        return max((radius for other in others for radius in other.radii), default=REACH_M)

    def _leave(self) -> None:
        """Forget travellers without instances."""
        for traveller in sorted(self._leaving):
            if not any(self._instances.of_traveller(traveller)):
                self._space.put_route(traveller, None)
                self._space.put_position(traveller, None)
                self._space.put_reach(traveller, None)
                self._relations.pop(traveller, None)
        self._leaving.clear()

    def _relate(self, instance: Instance, thing: str, relation: Relation | None) -> None:
        sight = self._sight
        entity = sight.event(thing[1:]) if thing[0] == "e" else sight.place(thing[1:])
        facts = [] if relation is None else list(self._related(instance, entity, relation))
        self._facts.put(instance.key, ("near", thing), facts, [entity] if facts else ())

    def _related(self, instance: Instance, entity: str, relation: Relation) -> Iterator[str]:
        """The facts about an instance's user and a thing, as far as the rules read them."""
        me, names = instance.key, self._sight.names
        radii = instance.radii or (REACH_M,)
        route_m, away_m = relation.route_m, relation.away_m
        if route_m is not None and route_m <= radii[-1]:
            if "near_route" in names:
                yield from (f"near_route({me},{entity},{r})" for r in radii if route_m <= r)
            if "ahead" in names and relation.ahead_m is not None:
                yield f"ahead({me},{entity},{int(relation.ahead_m)})"
        if relation.behind and "passed" in names:
            yield f"passed({me},{entity})"
        if relation.opposite and "opposite" in names:
            yield f"opposite({me},{entity})"
        if away_m is not None and away_m <= radii[-1]:
            if "near_me" in names:
                yield from (f"near_me({me},{entity},{r})" for r in radii if away_m <= r)
            if "distance" in names:
                yield f"distance({me},{entity},{int(away_m)})"

    def _tell_off_route(self) -> None:
        for traveller in self._moved if self._sight.reads("off_route") else ():
            away = self._space.off_route_m(traveller)
            for instance in self._instances.of_traveller(traveller):
                off = away is not None and away > OFF_ROUTE_M
                fact = [f"off_route({instance.key})"] if off else []
                self._facts.put(instance.key, "off_route", fact)
        self._moved.clear()

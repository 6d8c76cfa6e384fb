"""What lies in the areas and near the places of instances, as facts (docs/space.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from citywise.backend.packs.instances import Instance, Instances
from citywise.backend.packs.sight import Sight
from citywise.backend.space import Area
from citywise.backend.space.areas import Here
from citywise.backend.space.around import Around, Place
from citywise.backend.space.boxes import Boxes
from citywise.backend.space.geometry import Floats, Spot
from citywise.reasoning.rdf.mapping import quote
from citywise.reasoning.run.keyed import StandingFacts

Geometry = Mapping[str, Any]


class _Zone(NamedTuple):
    """An area of an instance, and the fact of each thing in it: the entity stands between."""

    area: Area | Around
    begin: str
    end: str
    own: str | None
    """The place itself, of which nothing is told."""


class Zones:
    """Keeps the facts `inside`, `near` and `i_am_inside` in step.

    A parameter of an instance is an area, or names a place: then where that is may be known
    later than the instance, and may change.
    """

    def __init__(
        self, sight: Sight, instances: Instances, facts: StandingFacts, names_places: bool
    ) -> None:
        self._sight, self._instances, self._facts = sight, instances, facts
        self._things = sight.reads("inside", "near")
        self._users = sight.reads("i_am_inside")
        self._names_places = names_places and (self._things or self._users)
        self._points: dict[str, Here] = {}
        self._at: Floats | None = None
        """Where the points are on the map, by column, until one changes."""
        self._zones: dict[str, list[_Zone]] = {}
        self._boxes = Boxes(
            lambda: ((name, zone.area.box) for name, some in self._zones.items() for zone in some)
        )
        self._where: dict[str, Geometry] = {}
        """Of all places, where one may be named."""
        self._places: dict[str, Place] = {}
        """Of those that are named."""
        self._naming: dict[str, set[str]] = defaultdict(set)
        """The instances that name a place."""
        self._users_at: dict[str, Here] = {}

    def begin(self, instance: Instance) -> None:
        """There is an instance from now on."""
        for _parameter, place in instance.places:
            self._naming[place].add(instance.id)
        if self._things:
            self._enclose(instance)

    def end(self, instance: Instance) -> None:
        """There is an instance no longer."""
        self._zones.pop(instance.id, None)
        self._users_at.pop(instance.id, None)
        for _parameter, place in instance.places:
            self._naming[place].discard(instance.id)
            if not self._naming[place]:
                del self._naming[place]
                self._places.pop(place, None)

    def put_place(self, place: str, geometry: Geometry | None) -> None:
        """A place that parameters may name is somewhere, or nowhere."""
        if not self._names_places or self._where.get(place) == geometry:
            return
        if geometry is None:
            del self._where[place]
        else:
            self._where[place] = geometry
        self._places.pop(place, None)
        for name in sorted(self._naming.get(place, ())):
            instance = self._instances.get(name)
            assert instance is not None, f"no instance {name}"
            if self._things:
                self._enclose(instance)
            self._tell_user(instance)

    def put_thing(self, entity: str, geometry: Geometry | None) -> None:
        """A thing is somewhere, or nowhere."""
        if not self._things:
            return
        before, now = self._points.get(entity), _middle(geometry)
        if now == before:
            return
        self._at = None
        if now is None:
            del self._points[entity]
        else:
            self._points[entity] = now
        near = [self._boxes.near(point) for point in (before, now) if point is not None]
        for name in dict.fromkeys(chain(*near)):
            self._tell(name, entity)

    def travel(self, instance: Instance, position: Mapping[str, Any] | None) -> None:
        """An instance's user is somewhere, as far as is known."""
        if not self._users:
            return
        if position is None:
            self._users_at.pop(instance.id, None)
        else:
            self._users_at[instance.id] = Here.of(position["lon"], position["lat"])
        self._tell_user(instance)

    # -- areas ------------------------------------------------------------------------

    def _areas(self, instance: Instance) -> Iterator[tuple[str, Area | Around, str | None]]:
        """The areas of an instance: the parameter of each, and the place that it is."""
        for name, areas in instance.areas.items():
            yield from ((name, area, None) for area in areas)
        for name, key in instance.places:
            if (place := self._place(key)) is not None:
                yield name, Around.of(place), key

    def _place(self, key: str) -> Place | None:
        if key in self._where and key not in self._places:
            self._places[key] = Place.of(self._where[key])
        return self._places.get(key)

    def _zones_of(self, instance: Instance) -> Iterator[_Zone]:
        me = instance.key
        for name, area, key in self._areas(instance):
            own = None if key is None else self._sight.place(key)
            if self._sight.reads("inside"):
                yield _Zone(area, f"inside({me},", f",{quote(name)})", own)
            if isinstance(area, Around) and self._sight.reads("near"):
                for radius in instance.radii:
                    around = Around.of(area.place, radius)
                    yield _Zone(around, f"near({me},", f",{radius},{quote(name)})", own)

    def _enclose(self, instance: Instance) -> None:
        """Find what lies in an instance's areas, as they are now."""
        before, now = self._zones.get(instance.id, []), list(self._zones_of(instance))
        if now:
            self._zones[instance.id] = now
            self._boxes.add(instance.id, (zone.area.box for zone in now))
        else:
            self._zones.pop(instance.id, None)
        for entity in self._near([*before, *now]):
            self._tell(instance.id, entity)

    def _near(self, zones: Iterable[_Zone]) -> list[str]:
        """The things that may lie in some areas."""
        boxes = np.array([zone.area.box for zone in zones]).reshape(-1, 1, 4)
        if self._at is None:
            self._at = np.array([(at.x, at.y) for at in self._points.values()]).reshape(-1, 2)
        inside = (boxes[..., :2] <= self._at) & (self._at <= boxes[..., 2:])
        names = list(self._points)
        return [names[i] for i in np.flatnonzero(inside.all(axis=2).any(axis=0))]

    # -- facts ------------------------------------------------------------------------

    def _tell(self, name: str, entity: str) -> None:
        """Whether a thing is in the areas of an instance."""
        instance = self._instances.get(name)
        if instance is None:
            return
        point = self._points.get(entity)
        found = dict.fromkeys(
            f"{zone.begin}{entity}{zone.end}"
            for zone in self._zones.get(name, ())
            if point is not None and zone.own != entity and zone.area.holds(point)
        )
        self._facts.put(instance.key, ("inside", entity), found, [entity] if found else ())

    def _tell_user(self, instance: Instance) -> None:
        """Whether an instance's user is in its areas."""
        if not self._users or not (instance.areas or instance.places):
            return
        point = self._users_at.get(instance.id)
        found = dict.fromkeys(
            f"i_am_inside({instance.key},{quote(name)})"
            for name, area, _key in self._areas(instance)
            if point is not None and area.holds(point)
        )
        self._facts.put(instance.key, "inside", found)


def _middle(geometry: Geometry | None) -> Here | None:
    if geometry is None:
        return None
    spot = Spot.of(geometry, directed=False)
    return Here.of(spot.lon, spot.lat)

"""Answers of SensorThings: entities with links, expanded as far as is asked, in pages.

Source: OGC 18-088, clauses 9.2 (addresses) and 9.3 (options); control information is 9.2.1's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from sqlalchemy import Connection

from citywise.backend.sensorthings import observations
from citywise.backend.sensorthings.filters import Look, OptionError
from citywise.backend.sensorthings.model import LINKS, City, Entity, Json
from citywise.backend.sensorthings.options import Options, as_query

ROOT = "/sensorthings/v1.1"
_MOST_ENTITIES = 20_000
"""In one answer, with all that is expanded."""
_TIMES = {"Datastreams": ("phenomenonTime", "resultTime")}
"""Properties that are looked up when somebody asks, by collection."""


class Answers:
    """Makes the answers to one question; `base` is the address of the service."""

    def __init__(self, connection: Connection, city: City, base: str) -> None:
        self._connection, self._city, self._base = connection, city, base
        self._shown = 0

    def entity(self, found: Entity, options: Options) -> Json:
        """An entity as it is shown."""
        self._shown += 1
        if self._shown > _MOST_ENTITIES:
            raise OptionError(f"$expand: more than {_MOST_ENTITIES} entities; ask for fewer")
        links, own, body = LINKS[found.collection], self.address(found), self.body(found)
        names = [*body, *links, *_TIMES.get(found.collection, ()), "id", "@iot.id", "@iot.selfLink"]
        for name in (*options.select, *options.expand):
            if name not in names:
                raise OptionError(f"{found.collection} have no `{name}`")
        wanted = set(options.select)
        shown: Json = {}
        if not wanted or wanted & {"id", "@iot.id"}:
            shown["@iot.id"] = found.id
        if not wanted or "@iot.selfLink" in wanted:
            shown["@iot.selfLink"] = own
        for name, value in body.items():
            if not name.startswith("@") and (not wanted or name in wanted):
                shown[name] = value
        for link in links:
            if link in options.expand:
                shown |= self._expanded(found, link, options.expand[link])
            elif not wanted or link in wanted:
                shown[f"{link}@iot.navigationLink"] = f"{own}/{link}"
        return shown

    def reference(self, found: Entity) -> Json:
        """An entity as its address alone."""
        return {"@iot.selfLink": self.address(found)}

    def body(self, found: Entity) -> Json:
        """The properties of an entity: a Datastream has its times, too, a Sensor a whole link."""
        if found.collection == "Datastreams":
            return {**found.body, **self._city.times(int(found.id))}
        if found.collection == "Sensors":
            root = self._base.removesuffix(ROOT)
            return {**found.body, "metadata": root + found.body["metadata"]}
        return found.body

    def _expanded(self, found: Entity, link: str, options: Options) -> Json:
        address = f"{self.address(found)}/{link}"
        if not is_many(found.collection, link):
            (target,) = self._city.related(found, link) or (None,)
            return {link: None if target is None else self.entity(target, options)}
        answer = self.collection(found, link, options, address)
        told = {link: answer["value"]}
        for name in ("@iot.count", "@iot.nextLink"):
            if name in answer:
                told[f"{link}{name}"] = answer[name]
        return told

    def collection(
        self,
        source: Entity | None,
        name: str,
        options: Options,
        address: str,
        *,
        as_references: bool = False,
    ) -> Json:
        """A page of a collection, or of what a link of an entity leads to."""
        target = name if source is None else LINKS[source.collection][name]
        if target == "Observations":
            series = [*self._city.series] if source is None else self._city.series_of(source)
            found, total, has_more = observations.page(
                self._connection, self._city, series, options, self._fits(options)
            )
        else:
            every = list(
                self._city.all(target) if source is None else self._city.related(source, name)
            )
            matching = [entity for entity in every if self._fits(options)(entity)]
            self._sort(matching, options)
            end = options.skip + options.top
            found, has_more = matching[options.skip : end], len(matching) > end
            total = len(matching)
        answer: Json = {}
        if options.count:
            answer["@iot.count"] = total
        if has_more and options.top:
            told = as_query(options.told, options.skip + options.top)
            query = urlencode(told, safe="$,()'/:", quote_via=quote)
            answer["@iot.nextLink"] = f"{address}?{query}"
        answer["value"] = [
            self.reference(entity) if as_references else self.entity(entity, options)
            for entity in found
        ]
        return answer

    def address(self, found: Entity) -> str:
        """Where an entity is."""
        return f"{self._base}/{found.collection}({key(found.id)})"

    def _fits(self, options: Options) -> Callable[[Entity], bool]:
        condition = options.filter
        if condition is None:
            return lambda _entity: True
        return lambda entity: bool(condition.value(self._look(entity)))

    def _sort(self, found: list[Entity], options: Options) -> None:
        for expression, descends in reversed(options.order):
            found.sort(
                key=lambda entity: _rank(expression.value(self._look(entity))), reverse=descends
            )

    def _look(self, entity: Entity) -> Look:
        return lambda path: self._at([entity], path)

    def _at(self, entities: Sequence[Entity], path: Sequence[str]) -> Any:
        """The value at a path; a list where it leads through several entities."""
        head, rest = path[0], path[1:]
        collection = entities[0].collection
        if head in LINKS[collection] and LINKS[collection][head] != "Observations":
            targets = [t for e in entities for t in self._city.related(e, head)]
            if not targets or not rest:
                return None
            return self._at(targets, rest)
        values = [_within(self._member(entity, head), rest) for entity in entities]
        return values[0] if len(values) == 1 else values

    def _member(self, entity: Entity, name: str) -> Any:
        if name in ("id", "@iot.id"):
            return entity.id
        if name in _TIMES.get(entity.collection, ()):
            return self._city.times(int(entity.id)).get(name)
        return entity.body.get(name)


def is_many(collection: str, link: str) -> bool:
    """Whether a link leads to several entities."""
    return LINKS[collection][link] == link


def key(identity: int | str) -> str:
    """An id as it stands in an address."""
    if isinstance(identity, int):
        return str(identity)
    return quote("'" + identity.replace("'", "''") + "'", safe="':.~")


def _within(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _rank(value: Any) -> tuple[int, Any]:
    """An order of all values: nothing, numbers, texts, and what has none."""
    if value is None:
        return 0, 0
    if isinstance(value, bool | int | float):
        return 1, value
    return (2, value) if isinstance(value, str) else (3, str(value))

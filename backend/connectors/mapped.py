"""The connector that a mapping file drives."""

from __future__ import annotations

import re
import threading
from datetime import tzinfo
from decimal import Decimal
from typing import Any, ClassVar

from pyproj import Transformer
from pyproj.exceptions import CRSError

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Desk, Draft
from citywise.backend.connectors.events import event
from citywise.backend.connectors.found import Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import geojson, point, position
from citywise.backend.connectors.mapping import (
    EventMapping,
    Mapping,
    MappingError,
    ObservationMapping,
    PlaceMapping,
    Source,
    Things,
    Time,
    Where,
    zone,
)
from citywise.backend.connectors.message import Message
from citywise.backend.connectors.readers import Reader, Thing, paths_of, reader
from citywise.backend.connectors.values import is_absent, number, whole

_PART = re.compile(r"\{(\w+)\}")
_WKT = re.compile(r"\s*POINT\s*Z?\s*\(\s*(\S+)\s+(\S+)[^)]*\)\s*", re.IGNORECASE)
_MOST_LEVEL = 5
_DISPENSABLE = ("name", "fields", "extra", "each")
"""What of a thing may be missing while the rest is taken."""


class Mapped(Connector):
    """What a mapping file says of a source's messages."""

    name: ClassVar[str] = "mapping"
    title: ClassVar[str] = "a format of one's own, described by a mapping file"

    def __init__(self, desk: Desk, mapping: Mapping) -> None:
        super().__init__(desk)
        self._mapping = mapping
        self._topic = _topic(mapping.topic)
        self._reader: Reader = reader(mapping)
        self._columns = tuple(paths_of(mapping, without=("each",)))
        for one in mapping.observation:
            if (kind := desk.kinds.get(one.kind)) is None:
                raise MappingError(
                    f"`kind`: there is no kind `{one.kind}`; see citywise check, --kinds"
                )
            if unknown := [name for name in one.fields if name not in kind.fields]:
                known = ", ".join(kind.fields)
                raise MappingError(f"`fields.{unknown[0]}`: `{one.kind}` has {known}")

    def things(self, message: Message) -> Finds:
        parts: dict[str, str] = {}
        if self._topic is not None:
            found = self._topic.fullmatch(message.topic or "")
            if found is None:
                yield Unknown(message.topic or "message without topic", message.within)
                return
            parts = found.groupdict()
        whole = self._reader.whole(message.checked())
        yield from (refused(fault) for fault in whole.lacking(self._columns))
        for place in self._mapping.place:
            yield from self._all(whole, place, lambda t, p=place: self._place(p, t, parts))
        at_ms = message.at_ms
        for one in self._mapping.observation:
            yield from self._all(whole, one, lambda t, o=one: self._observation(o, t, parts, at_ms))
        for told in self._mapping.event:
            yield from self._all(whole, told, lambda t, e=told: self._event(e, t, parts, at_ms))

    @staticmethod
    def _all(whole: Thing, mapping: Things, made: Any) -> Finds:
        """What is made of each thing; of none where what all of them need cannot be there, such
        as the column of their time: they would seem to be of now."""
        if whole.lacking(paths_of(mapping, _DISPENSABLE)):
            return
        for thing in whole.every(mapping.each):
            try:
                yield from made(thing)
            except Fault as fault:
                yield refused(fault)

    def _observation(
        self, mapping: ObservationMapping, thing: Thing, parts: dict[str, str], at_ms: int | None
    ) -> Finds:
        sensor = self.desk.sensor(*_named(mapping.sensor, thing, parts))
        observed = _moment(mapping.time, thing, parts, self.desk.zone)
        draft = Draft(self.desk, sensor, at_ms if observed is None else observed, thing.at)
        kind = self.desk.kinds[mapping.kind]
        for field, source in mapping.fields.items():
            try:
                raw, at = _value(source, thing, parts)
            except Fault as fault:
                draft.refuse(fault)
            else:
                draft.fill((kind, field), raw, source.unit, at)
        for label, source in mapping.extra.items():
            draft.keep(label, _value(source, thing, parts)[0])
        yield from draft.finish(mapping.kind)

    def _place(self, mapping: PlaceMapping, thing: Thing, parts: dict[str, str]) -> Finds:
        found = self.desk.sensor(*_named(mapping.id, thing, parts))
        called = _text(mapping.name, thing, parts)
        fields = {name: _value(source, thing, parts)[0] for name, source in mapping.fields.items()}
        geometry = _where(mapping.where, thing, parts)
        kinds = [kind for kind in mapping.sensors if kind in self.desk.kinds]
        yield from self.desk.place(found, called, geometry, kinds, fields=fields)

    def _event(
        self, mapping: EventMapping, thing: Thing, parts: dict[str, str], at_ms: int | None
    ) -> Finds:
        raw, at = _value(mapping.level, thing, parts)
        level = number(raw, at)
        if not (level.denominator == 1 and 1 <= level <= _MOST_LEVEL):
            raise Fault("range", at, f"found the level {raw}, expected 1 to {_MOST_LEVEL}")
        yield event(
            self.desk, *_named(mapping.id, thing, parts),
            type_name=_text(mapping.type, thing, parts) or "CityEvent", severity=int(level),
            geometry=_where(mapping.where, thing, parts),
            start_ms=_moment(mapping.start, thing, parts, self.desk.zone),
            end_ms=_moment(mapping.end, thing, parts, self.desk.zone), now_ms=at_ms,
            name=_text(mapping.name, thing, parts),
        )  # fmt: skip


def _topic(pattern: str | None) -> re.Pattern[str] | None:
    """A topic's pattern: `{name}` and `+` are one part, `#` is all that follows."""
    if pattern is None:
        return None
    text = re.escape(pattern).replace(r"\{", "{").replace(r"\}", "}")
    text = _PART.sub(r"(?P<\1>[^/]+)", text)
    return re.compile(text.replace(r"\+", "[^/]+").replace(r"\#", ".*").replace("#", ".*"))


def _raw(source: Source, thing: Thing, parts: dict[str, str]) -> tuple[Any, str]:
    if source.topic is not None:
        return parts.get(source.topic), thing.at
    if source.path is None:
        return source.value, thing.at
    within = thing.root if source.whole else thing
    if isinstance(source.path, str):
        return within.value(source.path)
    found = [within.value(path) for path in source.path]
    told = [str(raw) for raw, _at in found if not is_absent(raw)]
    return (" ".join(told) if len(told) == len(found) else None), found[0][1] if found else thing.at


def _value(source: Source, thing: Thing, parts: dict[str, str]) -> tuple[Any, str]:
    """A value as the mapping has it, and where it stands."""
    raw, at = _raw(source, thing, parts)
    raw = _meant(source, raw)
    if source.minus is not None and not is_absent(raw):
        less, less_at = thing.value(source.minus)
        less = _meant(source, less)
        if is_absent(less):
            return None, at
        difference = number(raw, at) - number(less, less_at)
        raw = Decimal(difference.numerator) / Decimal(difference.denominator)
    return raw, at


def _meant(source: Source, raw: Any) -> Any:
    if isinstance(raw, str) and source.comma:
        raw = raw.replace(".", "").replace(",", ".") if "," in raw else raw
    key = str(raw).lower() if isinstance(raw, bool) else str(raw)
    if key in source.values:
        return source.values[key]
    return None if _is_one_of(raw, source.absent) else raw


def _is_one_of(raw: Any, absent: tuple[Any, ...]) -> bool:
    if not absent or isinstance(raw, list | dict):
        return False
    for one in absent:
        try:
            if raw == one or str(raw).strip() == str(one):
                return True
            if not isinstance(one, bool | str) and number(raw, "") == number(Decimal(str(one)), ""):
                return True
        except Fault:
            continue
    return False


def _text(source: Source | None, thing: Thing, parts: dict[str, str]) -> str | None:
    if source is None:
        return None
    raw, _at = _value(source, thing, parts)
    return None if is_absent(raw) or isinstance(raw, list | dict) else whole(str(raw))


def _named(source: Source, thing: Thing, parts: dict[str, str]) -> tuple[str | None, str]:
    """A name, and where it stands."""
    return _text(source, thing, parts), _raw(source, thing, parts)[1]


def _moment(
    source: Time | None, thing: Thing, parts: dict[str, str], default: tzinfo | None
) -> int | None:
    if source is None:
        return None
    raw, at = _value(source, thing, parts)
    if is_absent(raw):
        return None
    where = zone(source.zone) if source.zone is not None else default
    if source.form == "iso" or source.form == "epoch":
        return times.instant(raw, at, where)
    return times.named(str(raw), source.form, at, where)


def _where(where: Where, thing: Thing, parts: dict[str, str]) -> dict[str, Any]:
    if where.geometry is not None:
        told, at = _value(where.geometry, thing, parts)
        if is_absent(told):
            raise Fault("no-geometry", at, "it names no coordinates")
        if isinstance(told, str) and (found := _WKT.fullmatch(told)):
            return _point(found[1], found[2], at, where.crs)
        shape = geojson(told, at) if where.crs is None else told
        if where.crs is not None:
            if not isinstance(shape, dict) or shape.get("type") != "Point":
                raise Fault("geometry", at, "only points are taken in another reference system")
            pair = [*(shape.get("coordinates") or ()), None, None]
            return _point(pair[0], pair[1], at, where.crs)
        return shape
    assert where.lon is not None
    assert where.lat is not None
    lon, at = _value(where.lon, thing, parts)
    lat, _at = _value(where.lat, thing, parts)
    if is_absent(lon) or is_absent(lat):
        raise Fault("no-geometry", at, "it names no coordinates")
    return _point(lon, lat, at, where.crs)


def _point(lon: Any, lat: Any, at: str, crs: str | None) -> dict[str, Any]:
    if crs is None:
        return point(position(lon, lat, at))
    x, y = number(lon, at), number(lat, at)
    east, north = _transformers.of(crs).transform(float(x), float(y))
    return point(position(round(east, 7), round(north, 7), at))


class _Transformers(threading.local):
    """From reference systems to longitude and latitude; for each thread (under gevent: each
    greenlet) its own, as PROJ's state is its thread's and ends with it. For that reason pyproj
    is loaded with this module, and not by who first needs it."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def of(self, crs: str) -> Any:
        """The one from a system; raises `MappingError`."""
        if crs not in self._known:
            try:
                self._known[crs] = Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
            except CRSError as error:
                message = f"`crs`: found {crs!r}, expected one like EPSG:25832"
                raise MappingError(message) from error
        return self._known[crs]


_transformers = _Transformers()

"""A request's events when its past has changed: as they are now, and what that changes in the
store (docs/decisions/city-revision.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, or_, select

from citywise.backend.city.announcements import News
from citywise.backend.city.events import UNREVISED
from citywise.backend.city.observations import observed_ms
from citywise.backend.pipeline.evaluation import Again, Row
from citywise.backend.pipeline.ledger import alike, announced, is_news, ordered
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import EventRow

_MOST_CAUSES = 5
_TOLD = ("level", "start_ms", "end_ms")
_COMPARED = (*_TOLD, "confirmed_ms", "key")
_ALL_TIME = 1 << 62
Event = dict[str, Any]


def told(again: Again, rows: Iterable[Row], scale: int) -> Row:
    """The row of kind `revised`: the events of a request since the state in which it began again,
    after `rows`, the changes that it found up to where it had answered before.

    `scale` is the milliseconds of the request's unit of time.
    """
    assert again.closed is not None
    request, begun = again.run.name, again.begin.state
    events = {
        key: {
            "id": key,
            "type": event.type,
            "level": event.level,
            "place_id": event.place,
            "start_ms": observed_ms(event.opened_by),
            "confirmed_ms": observed_ms(event.confirmed_by),
            "end_ms": None,
            "request": request,
            "causes": {},
            "place": None,
            **UNREVISED,
            "key": key,
        }
        for key, event in again.open.items()
    }
    for row in ordered(row for row in rows if row.kind == "change"):
        event, _news = announced(events.get(row.body["id"]), row)
        events[event["key"]] = event
    answered_ms = again.closed * scale
    body = {
        "since_ms": None if begun.closed is None else begun.closed * scale,
        "open": sorted(again.open),
        "events": [events[key] for key in sorted(events)],
        "because": [cause.to_json() for cause in again.found.causes(answered_ms + scale - 1)],
    }
    return Row(request, answered_ms, "revised", body)


def corrections(connection: Connection, row: Row) -> list[News]:
    """What a row of kind `revised` changes in the store: rows of events to write, each with its
    announcement; those that differ in nothing that is told come without one."""
    body = row.body
    known = _stored(connection, row)
    standing = [event for event in known if event["withdrawn_ms"] is None]
    pairs, gone, new = _matched(standing, body["events"])
    found: list[News] = []
    for old in gone:
        over = {"withdrawn_ms": row.t_ms, "end_ms": old["end_ms"] or old["start_ms"]}
        found.append(News(row.t_ms, "event.withdrawn", _revised(row, old, over)))
    for old, event in pairs:
        found += _corrected(row, old, event)
    taken = {event["id"]: event for event in known}
    alike = _ids(connection, [event["key"] for event in new])
    taken |= {name: {} for name in alike if name not in taken}
    for event in new:
        found += _opened(row, event, taken)
    return found


def _stored(connection: Connection, row: Row) -> list[Event]:
    """The events that the request had since its state, also those that it had not any more."""
    since_ms = row.body["since_ms"]
    query = select(EventRow.__table__).where(EventRow.request == row.request)
    opened = EventRow.opened_ms.is_not(None)
    if since_ms is not None:
        opened = EventRow.opened_ms > since_ms
    found = {one["id"]: dict(one) for one in connection.execute(query.where(opened)).mappings()}
    keys = [*row.body["open"], *(event["key"] for event in row.body["events"])]
    for some in chunks(keys):
        for one in connection.execute(query.where(EventRow.key.in_(some))).mappings():
            found[one["id"]] = dict(one)
    return [found[name] for name in sorted(found)]


def _ids(connection: Connection, keys: Sequence[str]) -> list[str]:
    """Ids that are taken, of those that events with these keys could get."""
    found: list[str] = []
    for some in chunks(keys):
        alike = or_(*(EventRow.id.startswith(key, autoescape=True) for key in some))
        found += connection.scalars(select(EventRow.id).where(alike))
    return found


def _matched(
    old: Sequence[Event], new: Sequence[Event]
) -> tuple[list[tuple[Event, Event]], list[Event], list[Event]]:
    """Which event is which: those of one key; else of one type and place that overlap. Then the
    events that are no more, and those that are new."""
    by_key = {event["key"]: event for event in new}
    pairs = [(event, by_key.pop(event["key"])) for event in old if event["key"] in by_key]
    paired = {event["id"] for event, _new in pairs}
    left = [event for event in old if event["id"] not in paired]
    here: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in sorted(by_key.values(), key=_start):
        here[event["type"], event["place_id"]].append(event)
    gone: list[Event] = []
    for event in sorted(left, key=_start):
        others = here[event["type"], event["place_id"]]
        other = next((one for one in others if _overlap(event, one)), None)
        if other is None:
            gone.append(event)
        else:
            others.remove(other)
            pairs.append((event, other))
    return pairs, gone, [event for others in here.values() for event in others]


def _start(event: Event) -> int:
    return int(event["start_ms"])


def _overlap(one: Event, other: Event) -> bool:
    ends = [each["end_ms"] if each["end_ms"] is not None else _ALL_TIME for each in (one, other)]
    return bool(max(one["start_ms"], other["start_ms"]) <= min(ends))


def _corrected(row: Row, old: Event, event: Event) -> list[News]:
    """An event that was told otherwise."""
    after = {name: event[name] for name in _COMPARED}
    if all(old[name] == after[name] for name in _COMPARED):
        return []
    causes = {**old["causes"], **event["causes"]}
    if event["end_ms"] is None:
        causes.pop("ended", None)
    after |= {"causes": causes, "opened_ms": event["opened_ms"] or old["opened_ms"]}
    if any(old[name] != after[name] for name in _TOLD) or is_news(old, after):
        return [News(row.t_ms, "event.corrected", _revised(row, old, after))]
    return [News(row.t_ms, None, {**old, **after})]


def _opened(row: Row, event: Event, taken: dict[str, Event]) -> list[News]:
    """An event that nobody was told of; one that was withdrawn is there again."""
    before = next((e for e in taken.values() if e and _is_again(e, event)), None)
    name = before["id"] if before else next(n for n in alike(event["key"]) if n not in taken)
    now = {**event, "id": name, "withdrawn_ms": None}
    after = _revised(row, before or now, now)
    taken[name] = after
    opened = News(row.t_ms, "event.opened", {**after, "end_ms": None})
    if event["end_ms"] is None:
        return [opened]
    return [opened, News(row.t_ms, "event.cleared", after)]


def _is_again(old: Event, event: Event) -> bool:
    return old["key"] == event["key"] and old["withdrawn_ms"] is not None


def _revised(row: Row, old: Event, after: Mapping[str, Any]) -> Event:
    """An event after a revision, with the readings that made it: those of its place, if any."""
    because: list[Mapping[str, Any]] = row.body["because"]
    own = [cause for cause in because if cause["sensor"] == old["place_id"]]
    number = (old["revised"] or {}).get("number", 0) + 1
    was_there = old is not after and old["withdrawn_ms"] is None
    revised = {
        "number": number,
        "because": (own or because)[:_MOST_CAUSES],
        "was": {name: old[name] for name in _TOLD} if was_there else None,
    }
    return {**old, **after, "revised": revised}

"""What operators do with events by hand: open, change and end them, and undo that.

Every act is noted in the audit log in its own transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, select

from citywise.backend.ingest.payloads import LineString, Place, Point, of_event
from citywise.backend.notices import announcing
from citywise.backend.operations import byhand
from citywise.backend.operations.byhand import LIVE, ByHand
from citywise.backend.operations.drafts import Changes, Draft
from citywise.backend.operations.errors import (
    BadTimesError,
    EventExistsError,
    EventOverError,
    UnknownEventError,
    UnknownPlaceError,
)
from citywise.backend.people import audit
from citywise.backend.store import clocks
from citywise.backend.store.models import EventRow, OperatorEventRow, PlaceRow
from citywise.backend.times import iso, parse_ms, to_ms

OPENED, CHANGED, ENDED = "event.opened", "event.changed", "event.ended"
IMPORTED = "events.imported"
_FOREVER = 2**62
_MOST_ALIKE = 50


class Done(NamedTuple):
    """An event after an act, and the act's number in the audit log."""

    event: ByHand
    audit: int


class Imported(NamedTuple):
    """The events that one act opened or planned, how many there were already, and the act's
    number; None where it opened none."""

    events: list[ByHand]
    known: int
    audit: int | None


def open_event(connection: Connection, draft: Draft, actor: str) -> Done:
    """Open an event now, or plan it.

    Raises `UnknownPlaceError`, `BadTimesError` or `EventExistsError`.
    """
    announcing.begin(connection)
    event = _open(connection, draft, clocks.read(connection).now_ms)
    return _recorded(connection, actor, OPENED, None, event)


def import_events(connection: Connection, drafts: Sequence[Draft], actor: str) -> Imported:
    """Open or plan all of some events, as one act; those that there are already are left.

    Raises `UnknownPlaceError` or `BadTimesError`, whose field says of which.
    """
    announcing.begin(connection)
    now_ms = clocks.read(connection).now_ms
    opened: list[ByHand] = []
    for number, draft in enumerate(drafts):
        try:
            opened.append(_open(connection, draft, now_ms))
        except EventExistsError:
            continue
        except BadTimesError as error:
            field = f"events.{number}.{error.field}"
            raise BadTimesError(field, str(error), error.code) from None
    known = len(drafts) - len(opened)
    if not opened:
        return Imported([], known, None)
    first, *others = (event.place["name"] for event in opened)
    target = f"{first} (+ {len(others)})" if others else first
    after = {"events": [event.id for event in opened]}
    return Imported(opened, known, audit.record(connection, actor, IMPORTED, target, None, after))


def _open(connection: Connection, draft: Draft, now_ms: int) -> ByHand:
    event = _planned(connection, draft, now_ms)
    event = replace(event, id=_unique(connection, event))
    _refuse_twin(connection, event)
    byhand.plan(connection, event)
    return byhand.begin(connection, event, now_ms) if event.start_ms <= now_ms else event


def change_event(connection: Connection, identity: str, changes: Changes, actor: str) -> Done:
    """Change an event that is planned or open.

    Raises `UnknownEventError`, `EventOverError`, `BadTimesError` or `EventExistsError`.
    """
    announcing.begin(connection)
    now_ms = clocks.read(connection).now_ms
    before = _live(connection, identity)
    after = _changed(before, changes)
    if after.start_ms != before.start_ms and before.state != "planned":
        raise BadTimesError("start", "the event has begun; end it and open another", "has-begun")
    _check_times(after, now_ms)
    _refuse_twin(connection, after)
    after = byhand.alter(connection, after, now_ms)
    if after.state == "planned" and after.start_ms <= now_ms:
        after = byhand.begin(connection, after, now_ms)
    return _recorded(connection, actor, CHANGED, before, after)


def end_event(connection: Connection, identity: str, actor: str) -> Done:
    """End an event now; one that is still planned is withdrawn.

    Raises `UnknownEventError` or `EventOverError`.
    """
    announcing.begin(connection)
    now_ms = clocks.read(connection).now_ms
    before = _live(connection, identity)
    after = byhand.finish(connection, before, now_ms, end_ms=now_ms)
    return _recorded(connection, actor, ENDED, before, after)


@audit.undoable(OPENED)
def _withdraw(connection: Connection, action: audit.Action) -> None:
    event = _acted_on(connection, action)
    if event.state not in LIVE:
        raise audit.NotUndoableError("id", f"event {event.id!r} is over: {event.state}")
    now_ms = clocks.read(connection).now_ms
    byhand.finish(connection, event, now_ms, end_ms=now_ms, withdrawn=True)


@audit.undoable(IMPORTED)
def _withdraw_all(connection: Connection, action: audit.Action) -> None:
    """Those that are over by now, or were ended, stay so."""
    announcing.begin(connection)
    now_ms = clocks.read(connection).now_ms
    events = [byhand.find(connection, identity) for identity in action.after["events"]]
    live = [event for event in events if event.state in LIVE]
    if not live:
        raise audit.NotUndoableError("id", "all of these events are over")
    for event in live:
        byhand.finish(connection, event, now_ms, end_ms=now_ms, withdrawn=True)


@audit.undoable(CHANGED)
def _change_back(connection: Connection, action: audit.Action) -> None:
    event = _acted_on(connection, action)
    if event.to_json() != action.after:
        raise audit.NotUndoableError(
            "id", f"event {event.id!r} has changed since; change it as you want it"
        )
    before = action.before
    place = {**event.place, "name": before["name"]}
    start_ms, until_ms = parse_ms(before["start"]), _ms(before["until"])
    event = replace(event, level=before["level"], place=place, start_ms=start_ms, until_ms=until_ms)
    _refuse_twin_on_undo(connection, event)
    byhand.alter(connection, event, clocks.read(connection).now_ms)


@audit.undoable(ENDED)
def _open_again(connection: Connection, action: audit.Action) -> None:
    event = _acted_on(connection, action)
    if event.to_json() != action.after:
        raise audit.NotUndoableError("id", f"event {event.id!r} has changed since: {event.state}")
    _refuse_twin_on_undo(connection, event)
    byhand.reopen(connection, event, clocks.read(connection).now_ms)


def _acted_on(connection: Connection, action: audit.Action) -> ByHand:
    announcing.begin(connection)
    try:
        return byhand.find(connection, action.target)
    except UnknownEventError as error:
        raise audit.NotUndoableError("id", str(error)) from None


def _recorded(
    connection: Connection, actor: str, act: str, before: ByHand | None, after: ByHand
) -> Done:
    earlier = before and before.to_json()
    number = audit.record(connection, actor, act, after.id, earlier, after.to_json())
    return Done(after, number)


def _planned(connection: Connection, draft: Draft, now_ms: int) -> ByHand:
    place_id, place = _place(connection, draft)
    event = ByHand(
        id="",
        type=draft.type,
        level=draft.level,
        place_id=place_id,
        place=place,
        start_ms=to_ms(draft.start) if draft.start else now_ms,
        until_ms=to_ms(draft.until) if draft.until else None,
        state="planned",
        end_ms=None,
        updated_ms=now_ms,
    )
    _check_times(event, now_ms)
    return event


def _place(connection: Connection, draft: Draft) -> tuple[str, dict[str, Any]]:
    """Id and description of where an event is."""
    if draft.geometry is not None:
        assert draft.name is not None
        return _spot(draft.geometry, draft.name)
    row = PlaceRow
    columns = (row.kind, row.name, row.lat, row.lon, row.body)
    found = connection.execute(select(*columns).where(row.id == draft.place_id)).one_or_none()
    if found is None or draft.place_id is None:
        raise UnknownPlaceError(f"there is no place {draft.place_id!r}; look at /api/v1/places")
    kind, name, lat, lon, body = found
    described = {"kind": kind, "name": draft.name or name, "lat": lat, "lon": lon}
    return draft.place_id, {**described, "geometry": of_event(body["geometry"])}


def _spot(geometry: Point | LineString, name: str) -> tuple[str, dict[str, Any]]:
    """The same of a geometry where no place is; it gets an id of its own."""
    drawn = geometry.model_dump(mode="json")
    digest = hashlib.sha256(orjson.dumps(drawn)).hexdigest()[:16]
    spot = Place(id=f"spot-{digest}", kind="road", name=name, geometry=geometry, sensors=())
    lon, lat = spot.middle
    return spot.id, {"kind": None, "name": name, "lat": lat, "lon": lon, "geometry": drawn}


def _changed(event: ByHand, changes: Changes) -> ByHand:
    given = changes.model_fields_set
    if "level" in given:
        event = replace(event, level=changes.level)
    if "name" in given:
        event = replace(event, place={**event.place, "name": changes.name})
    if "start" in given and changes.start is not None:
        event = replace(event, start_ms=to_ms(changes.start))
    if "until" in given:
        event = replace(event, until_ms=to_ms(changes.until) if changes.until else None)
    return event


def _check_times(event: ByHand, now_ms: int) -> None:
    if event.until_ms is None:
        return
    if event.until_ms <= now_ms:
        message = f"not after the present, {iso(now_ms)} (stream time)"
        raise BadTimesError("until", message, "is-past")
    if event.until_ms <= event.start_ms:
        message = f"not after the start, {iso(event.start_ms)}"
        raise BadTimesError("until", message, "not-after-start")


def _unique(connection: Connection, event: ByHand) -> str:
    """Type, place and beginning name an event; another one of the same gets a number."""
    start = iso(event.start_ms).replace("-", "").replace(":", "")
    name = f"{event.type}-{event.place_id}-{start}"
    names = [name, *(f"{name}-{number}" for number in range(2, _MOST_ALIKE))]
    taken: set[str] = set()
    for table in (OperatorEventRow, EventRow):
        taken |= set(connection.scalars(select(table.id).where(table.id.in_(names))))
    free = (found for found in names if found not in taken)
    try:
        return next(free)
    except StopIteration:
        raise EventExistsError(f"there have been {_MOST_ALIKE - 1} like {name!r}") from None


def _refuse_twin(connection: Connection, event: ByHand) -> None:
    """Two events of one type at one place at one time would be one told twice."""
    for other in byhand.at_place(connection, event.type, event.place_id):
        apart = (other.until_ms or _FOREVER) <= event.start_ms or (
            event.until_ms or _FOREVER
        ) <= other.start_ms
        if other.id != event.id and not apart:
            until = f" until {iso(other.until_ms)}" if other.until_ms else ""
            raise EventExistsError(
                f"there is {other.id!r} at this place, {other.state} from "
                f"{iso(other.start_ms)}{until}; change that one, or end it first"
            )


def _refuse_twin_on_undo(connection: Connection, event: ByHand) -> None:
    try:
        _refuse_twin(connection, event)
    except EventExistsError as error:
        raise audit.NotUndoableError("id", str(error)) from None


def _live(connection: Connection, identity: str) -> ByHand:
    event = byhand.find(connection, identity)
    if event.state not in LIVE:
        raise EventOverError(f"event {identity!r} is over: {event.state}; open a new one")
    return event


def _ms(text: str | None) -> int | None:
    return None if text is None else parse_ms(text)

"""Events that other detectors report over MQTT, as events of the city.

What stands in the log is what apps' rules see; here they become rows of `events`, for maps, lists
and plans, and are announced as those are that our own requests conclude.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Engine, select

from citywise.backend.city.announcements import News, tell
from citywise.backend.city.events import DETECTOR, UNREVISED
from citywise.backend.ingest.standing import Entry, EventState
from citywise.backend.store.models import EventRow, longest
from citywise.backend.store.outbox import begin
from citywise.backend.store.upsert import upsert

Row = dict[str, Any]
_SAME = ("type", "level", "place_id", "start_ms", "end_ms", "place")


def keep(engine: Engine, entries: Iterable[Entry], now_ms: int) -> None:
    """Keep what was reported of events up to `now_ms` (stream time, Unix ms), and announce what
    is new in it; reported again, it changes nothing."""
    latest = {entry.key: entry.body for entry in entries if entry.subject == "event"}
    if not latest:
        return
    with engine.begin() as connection:
        begin(connection)
        known = _stored_events(connection, latest)
        news = [
            found
            for key, body in latest.items()
            if (found := _news(key, body, known.get(key), now_ms)) is not None
        ]
        upsert(connection, EventRow, [dict(one.event) for one in news])
        tell(connection, news)


def _stored_events(connection: Connection, keys: Iterable[str]) -> dict[str, Row]:
    rows = connection.execute(select(EventRow.__table__).where(EventRow.id.in_(list(keys))))
    return {row["id"]: dict(row) for row in rows.mappings()}


def _news(key: str, body: Mapping[str, Any] | None, before: Row | None, now_ms: int) -> News | None:
    """What a report changes; nothing about events that we conclude ourselves."""
    if before is not None and before["request"] != DETECTOR:
        return None
    is_open = before is not None and before["end_ms"] is None
    if body is None:
        if before is None or not is_open:
            return None
        over = {"confirmed_ms": now_ms, "end_ms": max(now_ms, before["start_ms"])}
        return News(now_ms, "event.cleared", {**before, **over})
    after = _row(key, EventState.model_validate(body, strict=False), now_ms)
    if before is not None and all(before[name] == after[name] for name in _SAME):
        return None
    return News(now_ms, "event.updated" if is_open else "event.opened", after)


def _row(key: str, event: EventState, now_ms: int) -> Row:
    lon, lat = event.geometry.middle
    return {
        "id": key,
        "type": event.type[: longest(EventRow, "type")],
        "level": event.level,
        "place_id": event.place_id or key[: longest(EventRow, "place_id")],
        "start_ms": event.start_ms,
        "confirmed_ms": max(now_ms, event.start_ms),
        "end_ms": None,
        "request": DETECTOR,
        "causes": {"opened": [], "source": event.source},
        "place": {
            "name": event.name or event.place_id or key,
            "kind": None,
            "lat": lat,
            "lon": lon,
            "geometry": event.geometry.model_dump(mode="json"),
        },
        **UNREVISED,
    }

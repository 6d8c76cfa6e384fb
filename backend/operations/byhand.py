"""Events opened by hand, from before they begin until they are over.

Each step changes the row, the city's event, and announces that. Who takes one has called
`begin` of `backend.notices.announcing` first, so that of two who act at once the second sees
what the first did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from citywise.backend.city.announcements import News, announce
from citywise.backend.city.events import OPERATOR, ChangeKind
from citywise.backend.operations.errors import UnknownEventError
from citywise.backend.store.models import EventRow, OperatorEventRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import iso, iso_or_none

State = Literal["planned", "open", "ended", "withdrawn"]
STATES: tuple[State, ...] = ("planned", "open", "ended", "withdrawn")
LIVE: tuple[State, ...] = ("planned", "open")
_PLACE = ("kind", "name", "lat", "lon")


@dataclass(frozen=True)
class ByHand:
    """An event that an operator opened; times are stream time in Unix milliseconds.

    `place` is its own: `{name, kind, lat, lon, geometry}`; `until_ms`: when it ends by
    itself; `end_ms`: when it ended.
    """

    id: str
    type: str
    level: int
    place_id: str
    place: dict[str, Any]
    start_ms: int
    until_ms: int | None
    state: State
    end_ms: int | None
    updated_ms: int

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "id": self.id,
            "type": self.type,
            "level": self.level,
            "state": self.state,
            "name": self.place["name"],
            "place": {"id": self.place_id, **{key: self.place[key] for key in _PLACE}},
            "geometry": self.place["geometry"],
            "start": iso(self.start_ms),
            "until": iso_or_none(self.until_ms),
            "end": iso_or_none(self.end_ms),
            "updated": iso(self.updated_ms),
        }

    def city_event(self) -> dict[str, Any]:
        """The row of `events`; what is over was confirmed until its end."""
        seen_ms = max(self.start_ms, self.updated_ms)
        return {
            "id": self.id,
            "type": self.type,
            "level": self.level,
            "place_id": self.place_id,
            "start_ms": self.start_ms,
            "confirmed_ms": seen_ms if self.end_ms is None else self.end_ms,
            "end_ms": self.end_ms,
            "request": OPERATOR,
            "causes": {"opened": []},
            "place": self.place,
        }


def find(connection: Connection, identity: str) -> ByHand:
    """The event of an id; raises `UnknownEventError`."""
    query = select(OperatorEventRow.__table__).where(OperatorEventRow.id == identity)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise UnknownEventError(f"event {identity!r} was not opened by hand, or there is none")
    return ByHand(**row)


def listed(connection: Connection, states: Sequence[str], most: int) -> list[ByHand]:
    """Events in these states, the newest start first."""
    row = OperatorEventRow
    query = select(row.__table__).where(row.state.in_(states)).limit(most)
    found = connection.execute(query.order_by(row.start_ms.desc(), row.id)).mappings()
    return [ByHand(**values) for values in found]


def at_place(connection: Connection, type_: str, place_id: str) -> list[ByHand]:
    """Those of a type at a place that are planned or open."""
    row = OperatorEventRow
    here = row.type == type_, row.place_id == place_id, row.state.in_(LIVE)
    found = connection.execute(select(row.__table__).where(*here)).mappings()
    return [ByHand(**values) for values in found]


def due(connection: Connection, now_ms: int, most: int) -> list[str]:
    """Ids of those that are to begin or to end by themselves at `now_ms` or before."""
    row = OperatorEventRow
    begins = (row.state == "planned") & (row.start_ms <= now_ms)
    ends = (row.state == "open") & (row.until_ms <= now_ms)
    query = select(row.id).where(begins | ends).order_by(row.start_ms).limit(most)
    return list(connection.scalars(query))


def plan(connection: Connection, event: ByHand) -> None:
    """Note a new event, which is still to begin."""
    connection.execute(insert(OperatorEventRow).values(asdict(event)))


def begin(connection: Connection, event: ByHand, now_ms: int) -> ByHand:
    """A planned event opens."""
    opened = _step(connection, replace(event, state="open", updated_ms=now_ms))
    _tell(connection, opened, "event.opened", now_ms)
    return opened


def finish(
    connection: Connection, event: ByHand, now_ms: int, *, end_ms: int, withdrawn: bool = False
) -> ByHand:
    """An event is over since `end_ms`; one that had not begun is withdrawn, and nobody is
    told."""
    if event.state == "planned":
        return _step(connection, replace(event, state="withdrawn", updated_ms=now_ms))
    state: State = "withdrawn" if withdrawn else "ended"
    end_ms = max(end_ms, event.start_ms)
    ended = _step(connection, replace(event, state=state, end_ms=end_ms, updated_ms=now_ms))
    _tell(connection, ended, "event.cleared", now_ms)
    return ended


def reopen(connection: Connection, event: ByHand, now_ms: int) -> ByHand:
    """An event that was ended goes on, or is planned again; an end that has passed is not
    set any more."""
    until = event.until_ms if event.until_ms is None or event.until_ms > now_ms else None
    state: State = "open" if event.end_ms is not None else "planned"
    again = replace(event, state=state, end_ms=None, until_ms=until, updated_ms=now_ms)
    _step(connection, again)
    if state == "open":
        _tell(connection, again, "event.opened", now_ms)
    return again


def alter(connection: Connection, changed: ByHand, now_ms: int) -> ByHand:
    """An event is `changed`; people are told of it if it is open."""
    changed = _step(connection, replace(changed, updated_ms=now_ms))
    if changed.state == "open":
        _tell(connection, changed, "event.updated", now_ms)
    return changed


def _step(connection: Connection, after: ByHand) -> ByHand:
    row = OperatorEventRow
    connection.execute(update(row).where(row.id == after.id).values(asdict(after)))
    return after


def _tell(connection: Connection, event: ByHand, kind: ChangeKind, now_ms: int) -> None:
    row = event.city_event()
    upsert(connection, EventRow, [row])
    announce(connection, [News(now_ms, kind, row)])

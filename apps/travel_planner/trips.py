"""Trips that people follow: what is kept of them, sealed, and what is told of them.

A row names the user, the kind and the times; all that tells where somebody goes is in a box
that only the user's key opens (`backend.ingest.keyring`), so that forgetting the key forgets
the trips in every copy of the database.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import orjson
from sqlalchemy import Connection, Select, delete, func, insert, select

from citywise.apps.travel_planner.tables import TripRow
from citywise.backend.app import Settings, outbox, times, upsert
from citywise.backend.app import boxes as sealing

Kind = Literal["travel", "parking"]
State = Literal["following", "arrived", "ended"]
Change = Literal[
    "started",
    "moved",
    "proposed",
    "accepted",
    "declined",
    "snoozed",
    "undone",
    "released",
    "outlook",
    "arrived",
    "ended",
]
Body = Mapping[str, Any]

APP = "travel_planner"
TRIP = "trip"
"""Kind of the announcements in the outbox, and what boxes are sealed for."""
TEMPLATES: Mapping[Kind, str] = {"travel": "ahead", "parking": "garage"}
_INSTANCES: Mapping[Kind, str] = {"travel": "trip", "parking": "parking"}
KEPT_MS = 24 * 3_600_000
"""So long an ended trip is kept, in stream time, so that ending it can be undone."""
MOST_ENDED = 20
"""Ended trips that are kept of one person."""
MOST_DECLINED = 50


@dataclass(frozen=True)
class Position:
    """Where somebody says to be: degrees, metres, km/h; `at_ms` by their own clock, if they
    say when it was; `heard_ms` in stream time."""

    lat: float
    lon: float
    heard_ms: int
    at_ms: int | None = None
    heading: float | None = None
    accuracy_m: float | None = None
    speed_kmh: float | None = None


@dataclass(frozen=True)
class Content:
    """What is in a trip's box. Plans, previous ones and proposals are routes or garages as
    the planner answers them (docs/api.md)."""

    request: Body
    plan: Body
    origin: Body
    """From which answer it was chosen: `{"plan", "choice"}`."""
    to: Body
    """Where it leads: `{"lat", "lon", "name"}`."""
    language: str = "en"
    previous: Body | None = None
    """The plan before the last proposal was accepted."""
    accepted: Body | None = None
    """What was accepted then: its `causes` and `gains` as in `declined`, and `spent` as it was."""
    spent: Body = field(default_factory=dict)
    """What plans before this one took, by criterion."""
    paused_ms: int = 0
    """So long it was not followed since it began, stream time."""
    proposal: Body | None = None
    number: int = 0
    """Of the last proposal: how many there were."""
    snoozed_until_ms: int | None = None
    """Stream time until which the proposal is not to be shown."""
    declined: tuple[Body, ...] = ()
    """What was declined, newest last: `{"cause", "level", "gains" by criterion, "at_ms"}`."""
    position: Position | None = None
    along_m: float | None = None
    """How far along the plan's line the position is, and how far from it."""
    off_m: float | None = None
    outlook: Body | None = None
    """What the rest takes under the conditions of a time, see `following.Outlook`."""


@dataclass(frozen=True)
class Trip:
    """A trip of a user; times are stream time, Unix ms."""

    id: str
    user: str
    kind: Kind
    state: State
    created_ms: int
    updated_ms: int
    ended_ms: int | None
    content: Content = field(repr=False)

    @property
    def instance(self) -> str:
        """The template instance that watches for it."""
        return instance_id(self.user, self.kind)

    def with_content(self, now_ms: int, **changes: Any) -> Trip:
        """The trip with other content from stream time `now_ms` on."""
        content = replace(self.content, **changes)
        return replace(self, content=content, updated_ms=now_ms)


def instance_id(user: str, kind: Kind) -> str:
    """Of the template instance that watches for a user's trip of a kind."""
    return f"{user}.{_INSTANCES[kind]}"


def new_id() -> str:
    """An id that nobody can guess."""
    return f"tr_{secrets.token_hex(12)}"


# --- Boxes ---------------------------------------------------------------------------------------


def boxes_of(settings: Settings) -> sealing.Boxes:
    """The boxes of a system's trips, as this process opens them."""
    return sealing.boxes_for(settings, TRIP)


def _content(body: dict[str, Any]) -> Content:
    """A content as JSON had it; of another release only what is still known."""
    known = {one.name: body[one.name] for one in fields(Content) if one.name in body}
    if (position := known.get("position")) is not None:
        known["position"] = Position(**position)
    return Content(**{**known, "declined": tuple(known.get("declined", ()))})


# --- Rows ----------------------------------------------------------------------------------------


def find(connection: Connection, boxes: sealing.Boxes, trip_id: str) -> Trip | None:
    """The trip of an id; None where there is none (any more)."""
    return next(iter(_read(connection, boxes, _ROWS.where(TripRow.id == trip_id))), None)


def of_user(connection: Connection, boxes: sealing.Boxes, user: str) -> list[Trip]:
    """A user's trips: those being followed first, then the newest."""
    mine = _ROWS.where(TripRow.user == user).order_by(TripRow.created_ms.desc(), TripRow.id)
    return sorted(_read(connection, boxes, mine), key=lambda trip: trip.state != "following")


def followed(connection: Connection, boxes: sealing.Boxes, user: str) -> list[Trip]:
    """The trips that a user follows."""
    mine = _ROWS.where(TripRow.user == user, TripRow.state == "following")
    return _read(connection, boxes, mine.order_by(TripRow.id))


_ROWS = select(TripRow.__table__)


def _read(connection: Connection, boxes: sealing.Boxes, query: Select[Any]) -> list[Trip]:
    rows = connection.execute(query).mappings().all()
    contents = [
        None if text is None else _content(orjson.loads(text))
        for text in boxes.open([row["box"] for row in rows])
    ]
    names = [one.name for one in fields(Trip) if one.name != "content"]
    return [
        Trip(**{name: row[name] for name in names}, content=content)
        for row, content in zip(rows, contents, strict=True)
        if content is not None
    ]


def save(connection: Connection, boxes: sealing.Boxes, trip: Trip) -> Trip:
    """Write a trip, in a transaction that has called `announcing.begin`; raises `BoxError`."""
    row = {one.name: getattr(trip, one.name) for one in fields(Trip) if one.name != "content"}
    [box] = boxes.close([(trip.user, orjson.dumps(asdict(trip.content)))])
    upsert(connection, TripRow, [{**row, "instance": trip.instance, "box": box}])
    return trip


def tell(connection: Connection, trip: Trip, change: Change, now_ms: int) -> None:
    """Announce a change of a trip to its user: nothing of where it goes."""
    row = {
        "t_ms": now_ms,
        "kind": TRIP,
        "body": {"trip": trip.id, "kind": trip.kind, "change": change},
        "created_ms": times.wall_ms(),
        "user": trip.user,
    }
    connection.execute(insert(outbox.OutboxRow), [row])


def ended(trip: Trip, state: State, now_ms: int) -> Trip:
    """A trip that is over; a proposal that was open is none any more."""
    content = replace(trip.content, proposal=None, snoozed_until_ms=None)
    return replace(trip, state=state, updated_ms=now_ms, ended_ms=now_ms, content=content)


def trim(connection: Connection, now_ms: int) -> int:
    """Remove trips that ended a day ago (stream time); returns how many there were."""
    old = TripRow.ended_ms < now_ms - KEPT_MS
    return connection.execute(delete(TripRow).where(old)).rowcount


def trim_of(connection: Connection, user: str) -> None:
    """Remove a user's oldest ended trips where there are more than are kept."""
    mine = (TripRow.user == user, TripRow.ended_ms.is_not(None))
    if (connection.scalar(select(func.count()).where(*mine)) or 0) > MOST_ENDED:
        newest = select(TripRow.id).where(*mine).order_by(TripRow.ended_ms.desc(), TripRow.id)
        kept = connection.scalars(newest.limit(MOST_ENDED)).all()
        connection.execute(delete(TripRow).where(*mine, TripRow.id.not_in(kept)))


# --- To take along -------------------------------------------------------------------------------


def export(connection: Connection, settings: Settings, user: str) -> list[dict[str, Any]]:
    """All that is kept of a user's trips, times in ISO 8601."""
    found = of_user(connection, boxes_of(settings), user)
    return [_exported(trip) for trip in found]


def _exported(trip: Trip) -> dict[str, Any]:
    return {
        "id": trip.id,
        "kind": trip.kind,
        "state": trip.state,
        "created": times.iso(trip.created_ms),
        "updated": times.iso(trip.updated_ms),
        "ended": times.iso_or_none(trip.ended_ms),
        **orjson.loads(orjson.dumps(asdict(trip.content))),
    }


def declined_with(content: Content, entries: Sequence[Body]) -> tuple[Body, ...]:
    """What was declined and now this, each cause once, bounded."""
    new = {one["cause"] for one in entries}
    kept = (one for one in content.declined if one["cause"] not in new)
    return (*kept, *entries)[-MOST_DECLINED:]

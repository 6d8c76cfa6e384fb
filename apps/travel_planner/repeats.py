"""Repeating trips as they are kept: sealed as trips are, so that only their user can be told."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from typing import Any

import orjson
from sqlalchemy import Connection, Select, delete, select

from citywise.apps.travel_planner.repeat_times import Pattern, Stage, next_day, next_look, run
from citywise.apps.travel_planner.tables import RepeatRow
from citywise.apps.travel_planner.trips import Body, boxes_of
from citywise.backend.app import Settings, times, upsert
from citywise.backend.app import boxes as sealing

MOST = 30
"""Repeating trips of one person."""


@dataclass(frozen=True)
class Course:
    """How far the next run of a trip is: all of it is made anew when the trip is changed."""

    day: str | None = None
    """The day of the run; None: there is none."""
    looked: Stage = "waiting"
    """What was told of it, or was not worth a word."""
    departs_ms: int | None = None
    arrives_ms: int | None = None
    plan: Body | None = None
    """The way that was told for this day."""


@dataclass(frozen=True)
class Content:
    """What is in the box of a repeating trip."""

    pattern: Pattern
    request: Body
    """As `POST /plans/travel` takes it, without a time."""
    name: str
    language: str = "en"
    told: Body | None = None
    """What its user was told last (`repeat_news.Told`), on whatever day."""
    number: int = 0
    """How often something was told."""
    done: str | None = None
    """The day of its last run."""
    course: Course = field(default_factory=Course)


@dataclass(frozen=True)
class Repeat:
    """A trip that a user makes again and again; times are stream time, Unix ms."""

    id: str
    user: str
    created_ms: int
    updated_ms: int
    due_ms: int | None
    content: Content = field(repr=False)


def new(user: str, content: Content, now_ms: int) -> Repeat:
    """A repeating trip from now on."""
    made = Repeat(f"rt_{secrets.token_hex(12)}", user, now_ms, now_ms, None, content)
    return begun(made, content, now_ms)


def begun(repeat: Repeat, content: Content, now_ms: int) -> Repeat:
    """A repeating trip with other content: its next run is found anew. The one that one is on
    stays as it is, if the trip still has it."""
    pattern, course = content.pattern, content.course
    done = None if content.done is None else date.fromisoformat(content.done)
    if done is not None and run(pattern, done).anchor_ms > now_ms:
        done = None  # It is made later on that day now.
    day = next_day(pattern, now_ms, done)
    if day is None:
        course, due = Course(), None
    elif course.day == day.isoformat():
        found = run(pattern, day, course.departs_ms, course.arrives_ms)
        due = next_look(pattern, found, course.looked, now_ms)
    else:
        course = Course(day.isoformat())
        due = next_look(pattern, run(pattern, day), "waiting", now_ms)
    changed = replace(content, course=course)
    return replace(repeat, content=changed, updated_ms=now_ms, due_ms=due)


# --- Rows ----------------------------------------------------------------------------------------

_ROWS = select(RepeatRow.__table__)
_KEPT = [one.name for one in fields(Repeat) if one.name != "content"]


def find(connection: Connection, boxes: sealing.Boxes, repeat_id: str) -> Repeat | None:
    """The repeating trip of an id; None where there is none."""
    return next(iter(_read(connection, boxes, _ROWS.where(RepeatRow.id == repeat_id))), None)


def of_user(connection: Connection, boxes: sealing.Boxes, user: str) -> list[Repeat]:
    """A user's repeating trips, the oldest first."""
    mine = _ROWS.where(RepeatRow.user == user).order_by(RepeatRow.created_ms, RepeatRow.id)
    return _read(connection, boxes, mine)


def due(connection: Connection, boxes: sealing.Boxes, now_ms: int, most: int) -> list[Repeat]:
    """Those to be looked at, the longest due first."""
    query = _ROWS.where(RepeatRow.due_ms <= now_ms).order_by(RepeatRow.due_ms, RepeatRow.id)
    return _read(connection, boxes, query.limit(most))


def are_any(connection: Connection) -> bool:
    """Whether any is to be looked at, now or later."""
    query = select(RepeatRow.id).where(RepeatRow.due_ms.is_not(None)).limit(1)
    return connection.scalar(query) is not None


def _read(connection: Connection, boxes: sealing.Boxes, query: Select[Any]) -> list[Repeat]:
    rows = connection.execute(query).mappings().all()
    texts = boxes.open([row["box"] for row in rows])
    return [
        Repeat(**{name: row[name] for name in _KEPT}, content=_content(orjson.loads(text)))
        for row, text in zip(rows, texts, strict=True)
        if text is not None
    ]


def _content(body: dict[str, Any]) -> Content:
    """A content as JSON had it; of another release only what is still known."""
    lists = {"weekdays", "dates", "skipped"}
    pattern = {key: tuple(v) if key in lists else v for key, v in body["pattern"].items()}
    inner = {"pattern": _known(Pattern, pattern), "course": _known(Course, body["course"])}
    found: Content = _known(Content, {**body, **inner})
    return found


def _known(kind: Any, body: dict[str, Any]) -> Any:
    return kind(**{one.name: body[one.name] for one in fields(kind) if one.name in body})


def save(connection: Connection, boxes: sealing.Boxes, repeat: Repeat) -> Repeat:
    """Write a repeating trip, in a transaction that has called `outbox.begin`."""
    [box] = boxes.close([(repeat.user, orjson.dumps(asdict(repeat.content)))])
    row = {name: getattr(repeat, name) for name in _KEPT}
    upsert(connection, RepeatRow, [{**row, "box": box}])
    return repeat


def remove(connection: Connection, found: Sequence[Repeat]) -> None:
    """Remove repeating trips."""
    ids = [one.id for one in found]
    connection.execute(delete(RepeatRow).where(RepeatRow.id.in_(ids)))


def export(connection: Connection, settings: Settings, user: str) -> list[dict[str, Any]]:
    """All that is kept of a user's repeating trips, times in ISO 8601."""
    return [
        {
            "id": one.id,
            "created": times.iso(one.created_ms),
            "updated": times.iso(one.updated_ms),
            "due": times.iso_or_none(one.due_ms),
            **orjson.loads(orjson.dumps(asdict(one.content))),
        }
        for one in of_user(connection, boxes_of(settings), user)
    ]

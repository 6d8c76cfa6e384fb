"""Readings and events of the past: by kind, place and time; as JSON, CSV or Parquet."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, request, send_file
from sqlalchemy import Connection, or_, select
from sqlalchemy.orm import Session

from citywise.backend import history
from citywise.backend.api import access, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.objects import event_from
from citywise.backend.api.problems import ProblemError, bad_parameter, not_found
from citywise.backend.api.shown import shown_kinds
from citywise.backend.api.state import state
from citywise.backend.history import RAW, SPANS, Kept, Point, Question
from citywise.backend.history.export import at_most, columns_of, rows, write_csv, write_parquet
from citywise.backend.kinds import Kind
from citywise.backend.store import clocks
from citywise.backend.store.models import EventRow, PlaceRow
from citywise.backend.times import iso

blueprint = Blueprint("history", __name__)
MOST = 10_000
"""Points, or events, in one answer of JSON."""
MOST_EXPORTED = 1_000_000
_DAY_MS = 86_400_000
_FRESH_S = 60
"""So long a cache may answer for a moment: what is late or corrected may change it."""
_LEAST_S = 3600
"""What was said so long before a moment still says something of it."""
_AREA = ("place", "bbox", "near", "radius_m")
_FORMATS = ("json", "csv", "parquet")
_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
_EVENT_COLUMNS = {
    "id": "text", "type": "text", "level": "count", "place_id": "text", "place_name": "text",
    "lat": "number", "lon": "number", "start": "time", "confirmed": "time", "end": "time",
}  # fmt: skip


@dataclass(frozen=True)
class _Span:
    """From when until when is asked (Unix ms); the end is not in it."""

    begin_ms: int
    end_ms: int
    now_ms: int


@blueprint.get("/history/readings")
@access.city
def list_history() -> Response:
    """Values of a kind, or their roll-ups, series by series."""
    names = ("kind", "field", "span", "from", "until", "format", "limit", "cursor", *_AREA)
    parameters.only(*names)
    kind = _kind()
    fields = parameters.choices("field", kind.fields) or None
    form = _choice("format", _FORMATS, "json")
    with state().engine.connect() as connection:
        span = _times(connection)
        span_s = _span_s(kind, span)
        sensors = _sensors(connection)
    asked = Question(kind.kind, span.begin_ms, span.end_ms, sensors, fields, span_s)
    if form == "json":
        return _page(asked, kind, span)

    def table(connection: Connection) -> Iterator[Mapping[str, Any]]:
        return rows(history.points(connection, asked, MOST_EXPORTED + 1), kind.kind, span_s)

    return _file(form, kind.kind, columns_of(span_s), table)


@blueprint.get("/history/events")
@access.city
def list_past_events() -> Response:
    """Events that share an instant with a span of time, by type and place."""
    parameters.only("type", "from", "until", "format", "limit", *_AREA)
    types, form = parameters.choices("type"), _choice("format", _FORMATS, "json")
    limit = parameters.integer("limit", MOST, 1, MOST) or MOST
    with Session(state().engine) as session:
        span = _times(session.connection())
        places = _sensors(session.connection())
        query = select(EventRow, PlaceRow).join(
            PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True
        )
        overlaps = or_(EventRow.end_ms.is_(None), EventRow.end_ms >= span.begin_ms)
        query = query.where(overlaps, EventRow.start_ms < span.end_ms)
        query = query.where(EventRow.withdrawn_ms.is_(None))
        if types:
            query = query.where(EventRow.type.in_(types))
        wanted = None if places is None else set(places)
        if wanted is not None and len(wanted) <= history.MOST_NAMED:
            query, wanted = query.where(EventRow.place_id.in_(wanted)), None
        most = limit if form == "json" else MOST_EXPORTED
        found: list[tuple[EventRow, PlaceRow | None]] = []
        for event, place in session.execute(query.order_by(EventRow.start_ms, EventRow.id)):
            if wanted is None or event.place_id in wanted:
                found.append((event, place))
                if len(found) > most:
                    break
        events = [event_from(event, place) for event, place in found]
        lines = [_event_line(event, place) for event, place in found]
    if form != "json":
        return _file(form, "events", _EVENT_COLUMNS, lambda _connection: iter(lines))
    body = {"now": iso(span.now_ms), "from": iso(span.begin_ms), "until": iso(span.end_ms)}
    return as_json({**body, "events": events[:limit], "whole": len(events) <= limit})


@blueprint.get("/history/moment")
@access.city
def show_moment() -> Response:
    """What each sensor had said last at a time: what a map shows of the past."""
    parameters.only("at", "kind")
    kinds = shown_kinds()
    names = parameters.choices("kind", kinds) or [*kinds]
    at_ms = parameters.instant("at")
    if at_ms is None:
        raise bad_parameter("at", "name a time of the past")

    engine, terms = state().engine, state().settings.history
    with engine.connect() as connection:
        now_ms = clocks.read(connection).now_ms
    if at_ms > now_ms:
        raise bad_parameter("at", f"lies after now, which is {iso(now_ms)}")

    def make() -> dict[str, Any]:
        found = {}
        with engine.connect() as connection:
            for name in names:
                how_long = history.kept(kinds[name], terms)
                found[name] = _moment(connection, kinds[name], at_ms, how_long, now_ms)
        return {name: moment for name, moment in found.items() if moment["places"]}

    answer = as_json({"now": iso(now_ms), "at": iso(at_ms), "kinds": aside(make)})
    answer.headers["Cache-Control"] = f"private, max-age={_FRESH_S}"
    return answer


def _moment(
    connection: Connection, kind: Kind, at_ms: int, how_long: Kept, now_ms: int
) -> dict[str, Any]:
    """The readings of a kind at a time: of each place its age in seconds, and the values of the
    fields; by the finest span that is kept of that time."""
    spans = {"raw": RAW, **SPANS}
    kept = [name for name, span_s in spans.items() if at_ms >= how_long.since(span_s, now_ms)]
    if not kept:
        return {"places": {}}
    name, span_s, fields = kept[0], spans[kept[0]], [*kind.fields]
    since_ms = at_ms - 1000 * max(round(kind.silent_s), _LEAST_S, 2 * span_s)
    begun_ms = at_ms - 1000 * span_s  # What is over by then: a span has what comes after it, too.
    last: dict[str, list[Point]] = {}
    for point in history.last_before(connection, kind.kind, begun_ms, since_ms, span_s):
        last.setdefault(point.sensor, []).append(point)
    places = {sensor: _said(points, kind, begun_ms) for sensor, points in last.items()}
    return {"span": name, "fields": fields, "places": places}


def _said(points: list[Point], kind: Kind, at_ms: int) -> list[Any]:
    """Age and values of what a sensor said last; what it said of a field before is no more."""
    newest = max(point.at_ms for point in points)
    values = {p.field: _value(p, kind) for p in points if p.at_ms == newest}
    return [round((at_ms - newest) / 1000), *map(values.get, kind.fields)]


def _value(point: Point, kind: Kind) -> Any:
    """A value as a reading of the kind has it."""
    value = point.mean if point.value is None else point.value
    match kind.fields[point.field].type if point.field in kind.fields else None:
        case "boolean":
            return value >= 0.5 if isinstance(value, float) else value
        case "integer":
            return round(value) if isinstance(value, float) else value
    return round(value, 3) if isinstance(value, float) else value


def _event_line(event: EventRow, place: PlaceRow | None) -> Mapping[str, Any]:
    shown = event_from(event, place)["place"]
    return {
        "id": event.id, "type": event.type, "level": event.level, "place_id": event.place_id,
        "place_name": shown["name"], "lat": shown["lat"], "lon": shown["lon"],
        "start": event.start_ms, "confirmed": event.confirmed_ms, "end": event.end_ms,
    }  # fmt: skip


# -- what is asked --------------------------------------------------------------------


def _kind() -> Kind:
    kinds = shown_kinds()
    name = request.args.get("kind")
    if name is None:
        raise bad_parameter("kind", f"name one of {', '.join(kinds)}")
    if name not in kinds:
        raise not_found(f"kind {name!r}")
    return kinds[name]


def _choice(name: str, known: Iterable[str], usual: str) -> str:
    found = parameters.choices(name, known)
    if len(found) > 1:
        raise bad_parameter(name, "give one")
    return found[0] if found else usual


def _times(connection: Connection) -> _Span:
    """What `from` and `until` say; the last day where they do not."""
    now_ms = clocks.read(connection).now_ms
    begin, end = parameters.span()
    end = now_ms + 1 if end is None else end
    return _Span(end - _DAY_MS if begin is None else begin, end, now_ms)


def _span_s(kind: Kind, span: _Span) -> int:
    """The span that is asked for; `auto`: the finest that is still kept and no longer than a
    chart can show."""
    name = _choice("span", ("auto", "raw", *SPANS), "auto")
    if name != "auto":
        return SPANS.get(name, RAW)
    found = history.fitting(span.begin_ms, span.end_ms, kind.period_s)
    how_long = history.kept(kind, state().settings.history)
    spans = [s for s in (RAW, *SPANS.values()) if s >= found]
    return next((s for s in spans if span.begin_ms >= how_long.since(s, span.now_ms)), found)


def _sensors(connection: Connection) -> list[str] | None:
    """The ids of the places that are asked for; None: all."""
    named = [parameters.checked_identifier("place", p) for p in parameters.choices("place")]
    box, near = _numbers("bbox", 4), _numbers("near", 2)
    radius = _numbers("radius_m", 1)
    if (near is None) != (radius is None):
        raise bad_parameter("near", "`near` (lat,lon) and `radius_m` belong together")
    if box is None and near is None:
        return named or None
    within = history.places_within(
        connection,
        None if box is None else (box[0], box[1], box[2], box[3]),
        None if near is None or radius is None else (near[0], near[1], radius[0]),
    )
    return [place for place in within if not named or place in named]


def _numbers(name: str, count: int) -> list[float] | None:
    text = request.args.get(name)
    if text is None:
        return None
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) != count or not all(map(math.isfinite, found)):
        raise bad_parameter(name, f"{text!r} is not {count} numbers separated by commas")
    return found


# -- what is answered -----------------------------------------------------------------


def _page(asked: Question, kind: Kind, span: _Span) -> Response:
    limit = parameters.integer("limit", MOST, 1, MOST) or MOST
    after = _cursor()
    with state().engine.connect() as connection:
        found = list(history.points(connection, asked, limit + 1, after))
    series: dict[int, dict[str, Any]] = {}
    for point in found[:limit]:
        known = series.get(point.series)
        if known is None:
            unit = kind.fields[point.field].unit if point.field in kind.fields else None
            head: dict[str, Any] = {
                "place_id": point.sensor,
                "field": point.field,
                "unit": unit,
                "points": [],
            }
            known = series[point.series] = head
        known["points"].append(_point(point, asked.span_s))
    last = found[limit - 1] if len(found) > limit else None
    return as_json(
        {
            "now": iso(span.now_ms),
            "kind": kind.kind,
            "span": next((n for n, s in SPANS.items() if s == asked.span_s), "raw"),
            "from": iso(span.begin_ms),
            "until": iso(span.end_ms),
            "series": list(series.values()),
            "next": last and f"{last.at_ms}~{last.series}",
        }
    )


def _cursor() -> tuple[int, int] | None:
    found = parameters.cursor()
    if found is None:
        return None
    if not found[1].isdecimal() or len(found[1]) > 15:
        raise bad_parameter("cursor", "is not one given as `next` before")
    return found[0], int(found[1])


def _point(point: Point, span_s: int) -> dict[str, Any]:
    if span_s == RAW:
        return {"t": iso(point.at_ms), "value": point.value}
    numbers = {"count": point.number, "min": point.low, "mean": point.mean, "max": point.high}
    return {"t": iso(point.at_ms), **numbers}


def _file(
    form: str,
    name: str,
    columns: Mapping[str, str],
    table: Callable[[Connection], Iterable[Mapping[str, Any]]],
) -> Response:
    """A table as a file to download, made where it holds up nobody else."""
    engine = state().engine

    def make() -> Any:
        with tempfile.TemporaryDirectory() as folder, engine.connect() as connection:
            path = Path(folder) / "table"
            found = at_most(table(connection), MOST_EXPORTED)
            if form == "csv":
                write_csv(path, columns, found)
            else:
                write_parquet(path, columns, found)
            return path.open("rb")  # it can be read when its name is gone

    try:
        made = aside(make)
    except OverflowError as error:
        detail = f"{error}; ask for a shorter time, fewer places or a longer `span`"
        raise ProblemError(422, "too-many-rows", "Too many rows", detail) from None
    return send_file(
        made, _TYPES[form], as_attachment=True, download_name=f"citywise-{name}.{form}"
    )

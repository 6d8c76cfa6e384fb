"""Committing a batch: answers, readings, cursors and announcements in one transaction.

A request's rows are applied only if its cursor stands where the batch began, so a batch
that Spark repeats after a crash changes nothing (docs/delivery.md).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import Counter, Histogram
from sqlalchemy import Connection, Engine, delete, func, insert, or_, select, update

from citywise.backend.city.announcements import News, announce
from citywise.backend.ingest.records import record_position
from citywise.backend.notices import book
from citywise.backend.notices.announcing import begin
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.ledger import alike, announced, ordered
from citywise.backend.pipeline.revised import corrections
from citywise.backend.pipeline.running import RunningTemplates, is_template
from citywise.backend.store import letters
from citywise.backend.store.models import (
    CursorRow,
    EventRow,
    MessageTraceRow,
    OutboxRow,
    ReadingRow,
    TraceRow,
)
from citywise.backend.store.outage import is_outage
from citywise.backend.store.outbox import newest
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.pipeline")
EVALUATIONS = Counter("citywise_evaluations", "Windows evaluated", ["request"])
EVALUATION_SECONDS = Histogram("citywise_evaluation_seconds", "Time of an evaluation", ["request"])
FAILURES = Counter("citywise_evaluation_failures", "Evaluations without an answer", ["request"])
TASKS = Counter("citywise_tasks", "Tasks by what they began with", ["request", "began"])
TASK_SECONDS = Counter(
    "citywise_task_seconds", "Time in the workers, of all parts together", ["request", "step"]
)
CHANGES = Counter("citywise_event_changes", "Events opened, updated, cleared", ["kind"])
_NOTICES_KEPT_MS = 30 * 86_400_000
_TEMPLATE = {"position": None, "keys": 0, "notices": 0, "changed": None}
"""What only traces of templates have, and what others have instead."""


class PositionError(Exception):
    """A batch begins where no committed answer ends; see docs/delivery.md."""


def _is_of_rows(error: Exception) -> bool:
    """Whether rows may be at fault for an error; else the batch is done again."""
    return not isinstance(error, PositionError) and not is_outage(error)


class Results:
    """The pipeline's side of the store."""

    def __init__(self, engine: Engine, bounds: letters.Bounds = letters.DEFAULT) -> None:
        self._engine = engine
        self._bounds = bounds
        self._templates = RunningTemplates()

    def commit(self, rows: Iterable[Row], traceparent: str | None = None) -> dict[str, str | None]:
        """Apply a batch; says of the city's requests that were evaluated in it why the last
        evaluation had no answer, or None. What it announces belongs to a trace, if there is one.
        What is wrong with an app is the app's: what cannot be kept of its notices is left out
        and told of."""
        by_request: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_request[row.request].append(row)
        try:
            return self._commit(by_request, traceparent)
        except Exception as error:
            if not _is_of_rows(error) or not any(map(is_template, by_request)):
                raise
            LOG.exception("a batch cannot be committed; leaving out what is at fault")
            return self._commit_apart(by_request)

    def _commit_apart(self, by_request: Mapping[str, Sequence[Row]]) -> dict[str, str | None]:
        """The city's requests, then each template without the notices that cannot be kept."""
        own = {name: rows for name, rows in by_request.items() if not is_template(name)}
        errors = self._commit(own) if own else {}
        for request in by_request.keys() - own.keys():
            errors |= self._commit({request: self._without_faults(by_request[request])})
        return errors

    def _without_faults(self, rows: Sequence[Row]) -> list[Row]:
        """The rows of a template without the notices of instances that cannot be kept."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            found[row.body["instance"] if row.kind == "notice" else ""].append(row)
        kept = found.pop("", [])
        for instance, notices in found.items():
            if (fault := self._fault(notices)) is None:
                kept += notices
            else:
                error = f"notices of instance {instance} cannot be kept: {fault}"
                trace = {"items": 0, "atoms": 0, "seconds": 0.0, "error": error}
                kept.append(Row(notices[-1].request, notices[-1].t_ms, "trace", trace))
        return kept

    def _fault(self, notices: Sequence[Row]) -> str | None:
        """Why notices cannot be kept; nothing is."""
        with self._engine.connect() as connection:
            begin(connection)
            try:
                book.apply(connection, notices)
            except Exception as error:
                if not _is_of_rows(error):
                    raise
                return f"{type(error).__name__}: {error}"
            finally:
                connection.rollback()
        return None

    def _commit(
        self, by_request: Mapping[str, Sequence[Row]], traceparent: str | None = None
    ) -> dict[str, str | None]:
        errors: dict[str, str | None] = {}
        with self._engine.begin() as connection:
            begin(connection)
            before = newest(connection) if traceparent else 0
            applied = [r for r, found in by_request.items() if _claim(connection, r, found)]
            own = [row for r in applied for row in by_request[r]]
            _Book(connection).revise([row for row in own if row.kind == "revised"])
            _Book(connection).apply([row for row in own if row.kind == "change"])
            for request in applied:
                if _cursor(by_request[request]).get("anew"):
                    book.end(connection, request)
            notices = [row for r in applied for row in by_request[r] if row.kind == "notice"]
            book.apply(connection, notices)
            for request in applied:
                errors |= _details(connection, request, by_request[request], self._bounds)
            if traceparent:
                own_ones = update(OutboxRow).where(OutboxRow.id > before)
                connection.execute(own_ones.values(traceparent=traceparent))
        return errors

    def forget_others(self, requests: Sequence[str]) -> None:
        """Remove the cursors of requests that are no longer configured, and of template versions
        that run no more: nobody moves them, and the log would be kept for them for ever."""
        with self._engine.begin() as connection:
            begin(connection)
            running = [template.request for template in self._templates.read(connection)]
            kept = [*requests, *running]
            connection.execute(delete(CursorRow).where(CursorRow.request.not_in(kept)))
            book.end_others(connection, running)

    def trim(self, keep_seconds: float) -> None:
        """Remove traces, announcements and dead letters older than `keep_seconds`, and notices
        that were closed a month ago."""
        before = wall_ms() - round(keep_seconds * 1000)
        with self._engine.begin() as connection:
            connection.execute(delete(TraceRow).where(TraceRow.created_ms < before))
            connection.execute(delete(OutboxRow).where(OutboxRow.created_ms < before))
            connection.execute(delete(MessageTraceRow).where(MessageTraceRow.created_ms < before))
            letters.forget(connection, before)
            answered = connection.scalar(select(func.max(CursorRow.answered_ms)))
            if answered is not None:
                book.trim(connection, answered - _NOTICES_KEPT_MS)


def _claim(connection: Connection, request: str, rows: Sequence[Row]) -> bool:
    """Move the request's cursor; False if this batch has been committed before."""
    body = _cursor(rows)
    values = {k: body[k] for k in ("position", "resume_from", "answered_ms", "state")}
    values["updated_ms"] = wall_ms()
    moved = connection.execute(
        update(CursorRow)
        .where(CursorRow.request == request, CursorRow.position == body["start"])
        .values(values)
    )
    if moved.rowcount == 1:
        return True
    position = connection.scalar(select(CursorRow.position).where(CursorRow.request == request))
    if position is None:
        connection.execute(insert(CursorRow).values(request=request, **values))
        return True
    if position >= body["position"]:
        return False
    raise PositionError(
        f"request `{request}`: the batch begins at {body['start']} but answers are committed "
        f"up to {position}; stop the pipeline and start it again to continue from there"
    )


def _cursor(rows: Sequence[Row]) -> Mapping[str, Any]:
    """What the rows of a request say of its cursor."""
    return next(row.body for row in rows if row.kind == "cursor")


class _Book:
    """Applies changes to the events table and writes their announcements."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._taken: set[str] = set()
        """Ids of events that are called otherwise now."""

    def apply(self, changes: Sequence[Row]) -> None:
        if not changes:
            return
        events = self._load({row.body["id"] for row in changes})
        news: list[News] = []
        for row in ordered(changes):
            event, is_news = announced(events.get(row.body["id"]), row)
            if row.body["id"] not in events:
                event["id"] = next(name for name in alike(event["id"]) if name not in self._taken)
            events[row.body["id"]] = event
            if is_news:
                CHANGES.labels(row.body["kind"]).inc()
                news.append(News(row.t_ms, row.body["kind"], event))
        upsert(self._connection, EventRow, list(events.values()))
        announce(self._connection, news)

    def revise(self, revised: Sequence[Row]) -> None:
        """Correct the events of requests whose past has changed, before what comes after."""
        for row in revised:
            news = corrections(self._connection, row)
            latest = {found.event["id"]: found.event for found in news}
            upsert(self._connection, EventRow, list(latest.values()))
            told = [found for found in news if found.kind is not None]
            for found in told:
                CHANGES.labels(found.kind).inc()
            announce(self._connection, told)
            gone = {
                found.event["id"]: found.event["revised"]["because"]
                for found in told
                if found.kind == "event.withdrawn"
            }
            book.take_back(self._connection, gone, row.t_ms)

    def _load(self, keys: set[str]) -> dict[str, dict[str, Any]]:
        """Events by what requests call them."""
        row = EventRow
        query = select(row.__table__).where(or_(row.key.in_(keys), row.id.in_(keys)))
        rows = [dict(found) for found in self._connection.execute(query).mappings()]
        rows = [found for found in rows if found["withdrawn_ms"] is None]
        self._taken = {found["id"] for found in rows if found["key"] not in (None, found["id"])}
        return {found["key"] or found["id"]: found for found in rows}


def _details(
    connection: Connection, request: str, rows: Sequence[Row], bounds: letters.Bounds
) -> dict[str, str | None]:
    """Readings, traces and dead letters of one request."""
    now = wall_ms()
    cursor = _cursor(rows)
    latest = [{**r.body, "change": cursor["position"]} for r in rows if r.kind == "reading"]
    upsert(connection, ReadingRow, list(_new_latest(connection, latest)), newest="observed_ms")
    traces = [row for row in rows if row.kind == "trace"]
    if traces:
        connection.execute(insert(TraceRow), [_trace(row, now) for row in traces])
    found = [_letter(row, now) for row in rows if row.kind in ("late", "refused")]
    letters.keep(connection, found, bounds, update=False)
    _measure(request, cursor)
    EVALUATIONS.labels(request).inc(len(traces))
    for row in traces:
        EVALUATION_SECONDS.labels(request).observe(row.body["seconds"])
    failed = [row.body["error"] for row in traces if row.body["error"]]
    FAILURES.labels(request).inc(len(failed))
    return {request: traces[-1].body["error"]} if traces and not is_template(request) else {}


def _new_latest(
    connection: Connection, latest: Iterable[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Latest readings; of one that is withdrawn nothing is known."""
    row = ReadingRow
    for reading in latest:
        if reading["body"] is None:
            named = (row.kind == reading["kind"]) & (row.place_id == reading["place_id"])
            before = connection.scalar(select(row.body).where(named)) or {}
            yield {**reading, "body": dict.fromkeys(before)}
        else:
            yield reading


def _measure(request: str, cursor: Mapping[str, Any]) -> None:
    """Count what the tasks of a request say about themselves (those of the readings do not)."""
    if "warm" in cursor:
        TASKS.labels(request, "warm" if cursor["warm"] else "rebuilt").inc()
    for step, seconds in cursor.get("seconds", {}).items():
        TASK_SECONDS.labels(request, step).inc(seconds)


def _trace(row: Row, now: int) -> dict[str, Any]:
    return {
        "request": row.request,
        "t_ms": row.t_ms,
        "items": row.body["items"],
        "atoms": row.body["atoms"],
        "seconds": row.body["seconds"],
        "error": row.body["error"],
        "created_ms": now,
        **{name: row.body.get(name, default) for name, default in _TEMPLATE.items()},
    }


def _letter(row: Row, now: int) -> dict[str, Any]:
    return {
        "key": f"{row.request}-{row.body['position']}",
        "received_ms": now,
        "topic": f"log:{record_position(row.body['position'])}",
        "reason": row.kind,
        "detail": row.body["detail"],
        "size": len(row.body["payload"]),
        "payload": row.body["payload"],
        "source": row.request[-64:],
    }

"""Traces: what each evaluation of a request did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flask import Blueprint, Response
from sqlalchemy import ColumnElement, or_, select, true
from sqlalchemy.orm import Session

from citywise.backend.api import access, identity, instance_ids, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.problems import not_found
from citywise.backend.api.state import state
from citywise.backend.people.principal import Principal
from citywise.backend.store import clocks
from citywise.backend.store.models import LARGEST_ID, TraceRow
from citywise.backend.times import iso

blueprint = Blueprint("traces", __name__)

_NAMES = ("request", "templates", "from", "until", "failed", "changed", "idle", "limit", "before")


def trace_object(row: TraceRow, asker: Principal) -> dict[str, Any]:
    """A trace as the API shows it to who asks."""
    return {
        "id": row.id,
        "request": row.request,
        "t": iso(row.t_ms),
        "items": row.items,
        "atoms": row.atoms,
        "seconds": row.seconds,
        "position": row.position,
        "keys": row.keys,
        "notices": row.notices,
        "error": None if row.error is None else instance_ids.without_others(row.error, asker),
        "changed": _changed(row.changed or {}, asker),
        "evaluated": iso(row.created_ms),
    }


def _changed(changed: Mapping[str, list[Any]], asker: Principal) -> dict[str, list[Any]]:
    """Some of the instances evaluated and notices changed: those that `asker` may know of."""
    instances, notices = changed.get("instances", []), changed.get("notices", [])
    return {
        "instances": [each for each in instances if instance_ids.is_shown(each, asker)],
        "notices": [each for each in notices if instance_ids.is_shown(each["instance"], asker)],
    }


@blueprint.get("/traces")
@access.role("developer")
def list_traces() -> Response:
    """Traces, newest first."""
    parameters.only(*_NAMES)
    limit = parameters.integer("limit", 100, 1, 1000) or 100
    query = select(TraceRow).where(true(), *_conditions())
    query = query.order_by(TraceRow.id.desc()).limit(limit + 1)
    with Session(state().engine) as session:
        now = iso(clocks.read(session).now_ms)
        asker = identity.person()
        traces = [trace_object(row, asker) for row in session.scalars(query)]
    more, traces = len(traces) > limit, traces[:limit]
    return as_json({"now": now, "traces": traces, "next": traces[-1]["id"] if more else None})


def _conditions() -> Iterator[ColumnElement[bool]]:
    begin, end = parameters.span()
    before = parameters.integer("before", None, 1, 2**62)
    requests = parameters.choices("request")
    if begin is not None:
        yield TraceRow.t_ms >= begin
    if end is not None:
        yield TraceRow.t_ms <= end
    if before is not None:
        yield TraceRow.id < before
    if requests:
        yield TraceRow.request.in_(requests)
    if (templates := parameters.boolean("templates")) is not None:
        # `app/template@version`; the city's own requests have no slash in their names.
        of_template = TraceRow.request.contains("/")
        yield of_template if templates else ~of_template
    yield from _outcomes()


def _outcomes() -> Iterator[ColumnElement[bool]]:
    failed, changed = parameters.boolean("failed"), parameters.boolean("changed")
    if failed is not None:
        yield TraceRow.error.is_not(None) if failed else TraceRow.error.is_(None)
    if changed is not None:
        yield TraceRow.notices > 0 if changed else TraceRow.notices == 0
    if (idle := parameters.boolean("idle")) is not None:
        had = or_(TraceRow.keys > 0, TraceRow.items > 0, TraceRow.error.is_not(None))
        yield ~had if idle else had


@blueprint.get("/traces/<int:trace_id>")
@access.role("developer")
def show_trace(trace_id: int) -> Response:
    """One trace."""
    parameters.only()
    with Session(state().engine) as session:
        row = session.get(TraceRow, trace_id) if trace_id <= LARGEST_ID else None
        if row is None:
            raise not_found(f"trace {trace_id}; they are kept for a bounded time")
        return as_json(trace_object(row, identity.person()))

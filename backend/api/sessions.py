"""CityPulse's sessions: instances whose user is the session, forgotten when it is silent."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, delete, select, update
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend.api import problems
from citywise.backend.context.critical import APP, TEMPLATE
from citywise.backend.ingest import inlet
from citywise.backend.ingest.standing import CONTEXT, Entry
from citywise.backend.people.ids import is_session
from citywise.backend.store.exclusion import CONTEXT_OF, exclude
from citywise.backend.store.models import InstanceRow, WishesRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

MOST_SESSIONS = 10_000
TELLS = "position"
"""All that a session may tell of its user's context."""
KEPT_MS = 24 * 3600 * 1000
"""A session of which nothing was heard for so long is forgotten."""
_SWEEP_S = 600.0
_PREFIX = "citypulse-"

log = logging.getLogger(__name__)


def new_id() -> str:
    """The id of a session that there is not yet."""
    return f"{_PREFIX}{uuid.uuid4().hex}"


def find(connection: Connection, session: str) -> dict[str, Any]:
    """A session's row; a problem where there is none."""
    query = select(InstanceRow.__table__).where(InstanceRow.id == session)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise _unknown(session)
    return dict(row)


def save(
    connection: Connection, session: str, version: int, values: Mapping[str, Any], created_ms: int
) -> None:
    """Let a session be told of something from now on."""
    standing = {
        "app": APP,
        "template": TEMPLATE,
        "version": version,
        "user": session,
        "values": values,
    }
    times = {"created_ms": created_ms, "updated_ms": wall_ms()}
    upsert(connection, InstanceRow, [{"id": session, **standing, "title": None, **times}])
    inlet.write(connection, [("instance", session, standing)])


def move(connection: Connection, session: str, position: Mapping[str, Any]) -> Entry:
    """A session's user is somewhere: what stands in the log from now on."""
    exclude(connection, CONTEXT_OF, session)
    hear(connection, session)
    entry = Entry(TELLS, session, {**position, "heading": None, "along_m": None})
    inlet.write(connection, [entry])
    return entry


def hear(connection: Connection, session: str) -> None:
    """Note that a session tells something; a problem where there is none (any more)."""
    heard = update(InstanceRow).where(InstanceRow.id == session).values(updated_ms=wall_ms())
    if not connection.execute(heard).rowcount:
        raise _unknown(session)


def forget(connection: Connection, session: str, silent_since: int | None = None) -> None:
    """End a session; if a time (Unix ms) is given, only one that was silent since."""
    wanted = [InstanceRow.id == session]
    if silent_since is not None:
        wanted.append(InstanceRow.updated_ms < silent_since)
    exclude(connection, CONTEXT_OF, session)
    if connection.execute(delete(InstanceRow).where(*wanted)).rowcount:
        connection.execute(delete(WishesRow).where(WishesRow.user == session))
        gone = [("instance", session, None), *((subject, session, None) for subject in CONTEXT)]
        inlet.write(connection, gone)


def forget_silent(connection: Connection) -> int:
    """End the sessions of which nothing was heard for long; how many there were."""
    since = wall_ms() - KEPT_MS
    silent = _ids(connection, InstanceRow.updated_ms < since)
    for session in silent:
        forget(connection, session, since)
    return len(silent)


def make_room(connection: Connection) -> None:
    """End silent sessions; a problem where there are too many others."""
    forget_silent(connection)
    count = len(_ids(connection))
    if count >= MOST_SESSIONS:
        raise problems.ProblemError(
            503,
            "too-many-sessions",
            "Too many sessions",
            f"{count} sessions are open; end those that are over with DELETE, or try again later",
        )


def sweep(engine: Engine) -> None:
    """End silent sessions now and then, for ever, in a thread of its own."""
    threading.Thread(target=_sweep, args=(engine,), name="sessions", daemon=True).start()


def _sweep(engine: Engine) -> None:
    while True:
        try:
            with engine.begin() as connection:
                forget_silent(connection)
        except SQLAlchemyError:
            log.exception("cannot end silent sessions; trying again in %.0f s", _SWEEP_S)
        time.sleep(_SWEEP_S)


def _ids(connection: Connection, *only: ColumnElement[bool]) -> list[str]:
    """The sessions there are, in one order for all: each is excluded in turn to end it."""
    named = InstanceRow.id.startswith(_PREFIX, autoescape=True)
    query = select(InstanceRow.id).where(named, *only).order_by(InstanceRow.id)
    return [name for name in connection.execute(query).scalars() if is_session(name)]


def _unknown(session: str) -> problems.ProblemError:
    return problems.not_found(f"session {session!r}; send a ContextualEventRequest")

"""What a user does now, as told over HTTP; it goes into the log as what phones tell does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from flask import Blueprint, Response
from sqlalchemy import Connection, select

from citywise.backend.api import (
    access,
    identity,
    limits,
    parameters,
    problems,
    sessions,
)
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.state import state
from citywise.backend.ingest import inlet, records
from citywise.backend.ingest.frames import LogError
from citywise.backend.ingest.standing import CONTEXT, ContextUpdate, Entry, context_entries
from citywise.backend.packs.activities import unknown_activity
from citywise.backend.people.ids import is_session
from citywise.backend.store.exclusion import CONTEXT_OF, exclude
from citywise.backend.store.models import InletRow

blueprint = Blueprint("context", __name__)
UNREADABLE = (LogError, OSError, sqlite3.Error)
"""What reading the log, or the keys to it, may raise."""
NOTHING = b""
"""What a phone sends to be forgotten."""


@blueprint.get("/users/<user>/context")
@access.person(right="context", session=True)
def show_context(user: str) -> Response:
    """What is known of a user; not the values, which are the business of the user's apps."""
    parameters.only()
    user = identity.whose(user)
    try:
        there = known(user)
    except UNREADABLE as error:
        raise problems.log_unreadable(error) from None
    gone = [subject for subject in CONTEXT if subject not in there]
    return as_json({"user": user, "known": there, "missing": gone})


@blueprint.put("/users/<user>/context")
@access.person(right="context", session=True)
@limits.counted("context")
def put_context(user: str) -> Response:
    """Tell all that is known of a user: what is absent is forgotten."""
    user, told = _sent_entries(user)
    absent = [
        entry for entry in context_entries(user, NOTHING) if entry.subject not in _subjects(told)
    ]
    return _accept(user, [*told, *absent])


@blueprint.patch("/users/<user>/context")
@access.person(right="context", session=True)
@limits.counted("context")
def patch_context(user: str) -> Response:
    """Tell what is new about a user: what is absent stays, null is forgotten."""
    return _accept(*_sent_entries(user))


@blueprint.delete("/users/<user>/context")
@access.person(right="context", session=True)
@limits.counted("context")
def delete_context(user: str) -> Response:
    """Forget all that was told about a user."""
    parameters.only()
    user = identity.whose(user)
    return _accept(user, context_entries(user, NOTHING))


def _sent_entries(text: str) -> tuple[str, list[Entry]]:
    """Of whom something is told, and what."""
    parameters.only()
    user = identity.whose(text)
    limits.weigh()
    told = parameters.body(ContextUpdate)
    if told.activity is not None and (fault := unknown_activity(told.activity)):
        raise problems.invalid([{"path": "activity", "message": fault}])
    return user, told.entries(user)


def known(user: str) -> list[str]:
    """What is known of a user, of `CONTEXT`: as the log has it and what is on its way there.

    Raises one of `UNREADABLE` where the log cannot be read.
    """
    # First what waits: it may be in the log by the time that is read, but never in neither.
    rows = select(InletRow.subject, InletRow.body.is_not(None)).order_by(InletRow.id)
    with state().engine.connect() as connection:
        waiting = connection.execute(rows.where(InletRow.key == user)).all()
    folder = state().settings.log_dir
    there = dict.fromkeys(aside(lambda: records.context_of(folder, user)), True)
    for subject, told in waiting:
        there[subject] = told
    return [subject for subject in CONTEXT if there.get(subject)]


def missing(user: str, wanted: Sequence[str]) -> list[str] | None:
    """What of `wanted` is not known of a user; None where that cannot be said now."""
    try:
        there = known(user) if wanted else []
    except UNREADABLE:
        return None
    return [subject for subject in wanted if subject not in there]


def _subjects(entries: Iterable[Entry]) -> set[str]:
    return {entry.subject for entry in entries}


def _accept(user: str, entries: list[Entry]) -> Response:
    """Hand the entries to the ingest; the answer says what was told and what forgotten."""
    told = {entry.subject: entry.body for entry in entries if entry.body is not None}
    with state().engine.begin() as connection:
        exclude(connection, CONTEXT_OF, user)
        if is_session(user):
            entries = _of_session(connection, user, entries)
        identity.refuse_without_consent(connection, user, told)
        inlet.write(connection, entries)
    gone = [subject for subject in CONTEXT if subject in _subjects(entries) and subject not in told]
    return as_json({"user": user, "told": told, "forgotten": gone}, status=202)


def _of_session(connection: Connection, session: str, entries: list[Entry]) -> list[Entry]:
    """What a session may tell of some entries; a problem if it tells more, or is over."""
    sessions.hear(connection, session)
    message = f"a session tells its {sessions.TELLS} only"
    own = [entry for entry in entries if entry.subject == sessions.TELLS]
    if more := [e.subject for e in entries if e.body is not None and e not in own]:
        raise problems.invalid([{"path": subject, "message": message} for subject in more])
    return own

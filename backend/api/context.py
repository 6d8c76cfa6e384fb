"""What a user does now, as told over HTTP; it goes into the log as what phones tell does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from flask import Blueprint, Response
from sqlalchemy import select

from backend.api import instance_bodies, parameters, problems
from backend.api.answers import as_json
from backend.api.aside import aside
from backend.api.state import state
from backend.ingest import inlet, log, records
from backend.ingest.frames import LogError
from backend.ingest.standing import CONTEXT, ContextUpdate, Entry, context_entries
from backend.packs.activities import unknown_activity
from backend.store.exclusion import CONTEXT_OF, exclude
from backend.store.models import InletRow

blueprint = Blueprint("context", __name__)
NOTHING = b""
"""What a phone sends to be forgotten."""


@blueprint.get("/users/<user>/context")
def show_context(user: str) -> Response:
    """What is known of a user; not the values, which are the business of the user's apps."""
    parameters.only()
    parameters.checked_identifier("user", user)
    try:
        there = known(user)
    except (LogError, OSError) as error:
        raise problems.ProblemError(
            503, "log-unreadable", "Log unreadable", f"{error}; try again later"
        ) from None
    gone = [subject for subject in CONTEXT if subject not in there]
    return as_json({"user": user, "known": there, "missing": gone})


@blueprint.put("/users/<user>/context")
def put_context(user: str) -> Response:
    """Tell all that is known of a user: what is absent is forgotten."""
    told = _told(user)
    absent = [
        entry for entry in context_entries(user, NOTHING) if entry.subject not in _subjects(told)
    ]
    return _accept(user, [*told, *absent])


@blueprint.patch("/users/<user>/context")
def patch_context(user: str) -> Response:
    """Tell what is new about a user: what is absent stays, null is forgotten."""
    return _accept(user, _told(user))


@blueprint.delete("/users/<user>/context")
def delete_context(user: str) -> Response:
    """Forget all that was told about a user."""
    parameters.only()
    parameters.checked_identifier("user", user)
    return _accept(user, context_entries(user, NOTHING))


def _told(user: str) -> list[Entry]:
    parameters.only()
    parameters.checked_identifier("user", user)
    told = instance_bodies.read(ContextUpdate)
    if told.activity is not None and (fault := unknown_activity(told.activity)):
        raise problems.invalid([{"path": "activity", "message": fault}])
    return told.entries(user)


def known(user: str) -> list[str]:
    """What is known of a user, of `CONTEXT`: as the log has it and what is on its way there.

    Raises `LogError` or `OSError` where the log cannot be read.
    """
    # First what waits: it may be in the log by the time that is read, but never in neither.
    rows = select(InletRow.subject, InletRow.body.is_not(None)).order_by(InletRow.id)
    with state().engine.connect() as connection:
        waiting = connection.execute(rows.where(InletRow.key == user)).all()
    folder = state().settings.log_dir
    there = aside(lambda: _standing(folder, user))
    for subject, told in waiting:
        there[subject] = told
    return [subject for subject in CONTEXT if there.get(subject)]


def _standing(folder: Path, user: str) -> dict[str, bool]:
    end = log.durable_end(folder)
    since = records.standing_since(folder, end)
    entries = records.read_standing(folder, since, end)
    return {
        entry.subject: entry.body is not None
        for entry in entries
        if entry.key == user and entry.subject in CONTEXT
    }


def missing(user: str, wanted: Sequence[str]) -> list[str] | None:
    """What of `wanted` is not known of a user; None where that cannot be said now."""
    try:
        there = known(user) if wanted else []
    except (LogError, OSError):
        return None
    return [subject for subject in wanted if subject not in there]


def _subjects(entries: Iterable[Entry]) -> set[str]:
    return {entry.subject for entry in entries}


def _accept(user: str, entries: list[Entry]) -> Response:
    """Hand the entries to the ingest; the answer says what was told and what forgotten."""
    with state().engine.begin() as connection:
        exclude(connection, CONTEXT_OF, user)
        inlet.write(connection, entries)
    told = {entry.subject: entry.body for entry in entries if entry.body is not None}
    gone = [subject for subject in CONTEXT if subject in _subjects(entries) and subject not in told]
    return as_json({"user": user, "told": told, "forgotten": gone}, status=202)

"""What a user does now, as told over HTTP; it goes into the log as what phones tell does."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Blueprint, Response

from backend.api import instance_bodies, parameters
from backend.api.answers import as_json
from backend.api.state import state
from backend.ingest import inlet
from backend.ingest.standing import CONTEXT, ContextUpdate, Entry, context_entries

blueprint = Blueprint("context", __name__)
NOTHING = b""
"""What a phone sends to be forgotten."""


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
    return instance_bodies.read(ContextUpdate).entries(user)


def _subjects(entries: Iterable[Entry]) -> set[str]:
    return {entry.subject for entry in entries}


def _accept(user: str, entries: list[Entry]) -> Response:
    """Hand the entries to the ingest; the answer says what was told and what forgotten."""
    with state().engine.begin() as connection:
        inlet.write(connection, entries)
    told = {entry.subject: entry.body for entry in entries if entry.body is not None}
    gone = [subject for subject in CONTEXT if subject in _subjects(entries) and subject not in told]
    return as_json({"user": user, "told": told, "forgotten": gone}, status=202)

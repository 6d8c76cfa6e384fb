"""A page, and an address of the API."""

from flask import Blueprint, Response
from pydantic import BaseModel, Field
from sqlalchemy import func, select

from citywise.backend.app import access, as_json, identity, page, parameters, state, upsert

from .tables import NOTES

api = Blueprint("python_api", __name__)
pages = Blueprint("python_pages", __name__)


class Note(BaseModel):
    """What somebody writes."""

    note: str = Field(min_length=1, max_length=200)


@api.put("/python/note")
@access.person()
def write() -> Response:
    """Keep a note of whoever asks."""
    body = parameters.body(Note)
    with state().engine.begin() as connection:
        row = {"user": identity.own_id(), "note": body.note}
        upsert(connection, NOTES, [row], keys=["user"])
    return as_json(body.model_dump())


@pages.get("/python")
@access.city
def show() -> Response:
    """templates/notes.html, with the menu entry `python` marked."""
    with state().engine.connect() as connection:
        number = connection.scalar(select(func.count()).select_from(NOTES))
    return page("notes", section="python", number=number)

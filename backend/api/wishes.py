"""How a user wishes to be told: threshold, quiet hours, cool-down, muted kinds, channels."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request
from pydantic import ValidationError
from sqlalchemy import Connection

from citywise.backend.api import access, identity, parameters, problems
from citywise.backend.api.answers import as_json
from citywise.backend.api.body_faults import faults
from citywise.backend.api.state import state
from citywise.backend.notices import answers
from citywise.backend.notices.announcing import begin
from citywise.backend.notices.attention import DEFAULT, Wishes
from citywise.backend.notices.listeners import wishes_of
from citywise.backend.store import clocks

blueprint = Blueprint("wishes", __name__)


@blueprint.get("/me/wishes")
@access.person(right="notices", session=True)
def show_wishes() -> Response:
    """The wishes of a user; who has said nothing has those that hold nothing back."""
    user = _whose()
    with state().engine.connect() as connection:
        return _wishes_response(_kept_wishes(connection, user))


@blueprint.put("/me/wishes")
@access.person(right="notices", session=True)
def put_wishes() -> Response:
    """Replace the wishes of a user; what is absent is as if nothing had been said."""
    user, told = _whose(), parameters.json_object()
    with state().engine.begin() as connection:
        begin(connection)
        return _keep(connection, user, told)


@blueprint.patch("/me/wishes")
@access.person(right="notices", session=True)
def patch_wishes() -> Response:
    """Replace those of a user's wishes that are given."""
    user, told = _whose(), parameters.json_object()
    with state().engine.begin() as connection:
        begin(connection)
        return _keep(connection, user, {**_json(_kept_wishes(connection, user)), **told})


def _whose() -> str:
    parameters.only("user")
    return identity.whose(request.args.get("user"))


def _keep(connection: Connection, user: str, told: dict[str, Any]) -> Response:
    try:
        wishes = Wishes.model_validate(told)
    except ValidationError as error:
        raise problems.invalid(faults(error, Wishes.model_fields)) from None
    answers.wish(connection, user, wishes, clocks.read(connection).now_ms)
    return _wishes_response(wishes)


def _kept_wishes(connection: Connection, user: str) -> Wishes:
    return wishes_of(connection, [user]).get(user, DEFAULT)


def _json(wishes: Wishes) -> dict[str, Any]:
    return wishes.model_dump(mode="json", by_alias=True)


def _wishes_response(wishes: Wishes) -> Response:
    return as_json(_json(wishes))

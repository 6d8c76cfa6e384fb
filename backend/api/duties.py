"""Duties of people: given and ended by an operator, seen and left by who has them."""

from __future__ import annotations

from typing import Annotated

from flask import Blueprint, Response, request
from pydantic import Field
from sqlalchemy import Connection, select

from citywise.backend.api import access, identity, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.problems import fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.kinds import Identifier
from citywise.backend.kinds.kind import NAME
from citywise.backend.packs import duties
from citywise.backend.packs.duties import Duty
from citywise.backend.people import accounts, audit
from citywise.backend.people.errors import UnknownAccountError
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import AccountRow, PlaceRow

blueprint = Blueprint("duties", __name__)


class _Duty(StrictBody):
    """A role of a person, at a place or at all."""

    role: Annotated[str, Field(pattern=NAME)]
    user: Annotated[str, Field(min_length=1, max_length=64)]
    place: Identifier | None = None


@blueprint.get("/operator/duties")
@access.role("admin")
def list_duties() -> Response:
    """All duties that people have, and the roles that templates tell."""
    parameters.only()
    with state().engine.connect() as connection:
        found, roles = duties.of_all(connection), duties.roles(connection)
        places = _names(connection, PlaceRow, {duty.place for duty in found})
        people = _names(connection, AccountRow, {duty.user for duty in found})
    offered = [{"role": role, "kind": kind} for role, kind in roles]
    shown = [
        {**_duty_json(duty), "person": people.get(duty.user), "place_name": places.get(duty.place)}
        for duty in found
    ]
    return as_json({"duties": shown, "roles": offered})


@blueprint.put("/operator/duties")
@access.role("admin")
def give_duty() -> Response:
    """Give somebody a duty."""
    parameters.only()
    body = parameters.body(_Duty)
    with state().engine.begin() as connection:
        try:
            user = accounts.known(connection, body.user).id
        except UnknownAccountError as error:
            raise invalid([fault("user", str(error))]) from None
        duty = Duty(body.role, body.place or "", user)
        duties.give(connection, duty)
        audit.record(connection, identity.own_id(), "duty.given", user, None, _duty_json(duty))
    return as_json(_duty_json(duty))


@blueprint.delete("/operator/duties")
@access.role("admin")
def end_duty() -> Response:
    """End a duty."""
    parameters.only("role", "place", "user")
    duty = Duty(_argument("role"), _argument("place"), _argument("user"))
    with state().engine.begin() as connection:
        if not duties.end(connection, duty):
            raise not_found("such a duty")
        audit.record(connection, identity.own_id(), "duty.ended", duty.user, _duty_json(duty), None)
    return Response(status=204)


@blueprint.get("/me/duties")
@access.person()
def my_duties() -> Response:
    """The duties of who asks."""
    parameters.only()
    with state().engine.connect() as connection:
        found = duties.of_all(connection, identity.own_id())
    return as_json({"duties": [_duty_json(duty) for duty in found]})


@blueprint.delete("/me/duties")
@access.person()
def leave_duty() -> Response:
    """Leave a duty: its instances go, and their notices are closed."""
    parameters.only("role", "place")
    duty = Duty(_argument("role"), _argument("place"), identity.own_id())
    with state().engine.begin() as connection:
        if not duties.end(connection, duty):
            raise not_found("such a duty of yours")
    return Response(status=204)


def _names(
    connection: Connection, table: type[PlaceRow] | type[AccountRow], ids: set[str]
) -> dict[str, str]:
    """What places or people are called, as far as they are known."""
    found: dict[str, str] = {}
    for some in chunks(ids):
        rows = connection.execute(select(table.id, table.name).where(table.id.in_(some)))
        found |= {row.id: row.name for row in rows}
    return found


def _argument(name: str) -> str:
    return request.args.get(name, "")[:64]


def _duty_json(duty: Duty) -> dict[str, str | None]:
    return {"role": duty.role, "place": duty.place or None, "user": duty.user}

"""The places that somebody saved: home, work, and others."""

from __future__ import annotations

from flask import Blueprint, Response
from pydantic import ValidationError

from citywise.backend.api import access, identity, parameters, problems
from citywise.backend.api.answers import as_json
from citywise.backend.api.body_faults import faults
from citywise.backend.api.state import state
from citywise.backend.privacy import saved_places
from citywise.backend.privacy.saved_places import SavedPlaces

blueprint = Blueprint("saved_places", __name__)


@blueprint.get("/me/places")
@access.person()
def show_saved_places() -> Response:
    """The places that who asks has saved."""
    parameters.only()
    with state().engine.connect() as connection:
        return _places_response(saved_places.of(connection, state().settings, identity.own_id()))


@blueprint.put("/me/places")
@access.person()
def put_saved_places() -> Response:
    """Replace them all."""
    parameters.only()
    user, told = identity.own_id(), parameters.json_object()
    try:
        saved = SavedPlaces.model_validate(told)
    except ValidationError as error:
        raise problems.invalid(faults(error, SavedPlaces.model_fields)) from None
    with state().engine.begin() as connection:
        saved_places.save(connection, state().settings, user, saved)
    return _places_response(saved)


def _places_response(saved: SavedPlaces) -> Response:
    return as_json(saved.model_dump(mode="json"))

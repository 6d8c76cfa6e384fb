"""Kinds of observations and places: what there are, and those that an operator makes."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response
from pydantic import Field
from sqlalchemy import Connection, select

from citywise.backend.api import access, identity, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.objects import kind_object
from citywise.backend.api.problems import ProblemError, fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.kinds import Kind, Kinds, PlaceKind, files, installed, migrating
from citywise.backend.kinds.rdf import shapes, vocabulary
from citywise.backend.kinds.registry import name_of
from citywise.backend.people import audit
from citywise.backend.store.models import PlaceRow
from citywise.reasoning import Finding

blueprint = Blueprint("kinds", __name__)
_FORMS = ("kind", "place")


class _Text(StrictBody):
    """The text of a kind's file."""

    toml: str = Field(max_length=100_000)


@blueprint.get("/kinds")
@access.city
def list_kinds() -> Response:
    """The kinds of observations and of places that there are (docs/kinds.md)."""
    parameters.only()
    return as_json(as_list())


def as_list() -> dict[str, Any]:
    """All kinds, each with where it is from."""
    with state().engine.connect() as connection:
        kinds, origins = state().known_kinds.read(connection), installed.origins(connection)
    shown = [_kind_json(kind, origins) for kind in kinds.values()]
    places = [_kind_json(kind, origins) for kind in kinds.places.values()]
    return {"kinds": shown, "places": places}


@blueprint.get("/kinds.ttl")
@access.city
def kinds_as_turtle() -> Response:
    """The vocabulary and the shapes of the kinds of observations."""
    parameters.only()
    kinds = state().kinds()
    return Response(f"{vocabulary(kinds)}\n{shapes(kinds)}", content_type="text/turtle")


@blueprint.post("/operator/kinds/check")
@access.role("admin")
def check_kind() -> Response:
    """What is to be said of the text of a kind's file; nothing is kept."""
    parameters.only()
    kind, findings = _read(parameters.body(_Text).toml, state().kinds())
    shown = None if kind is None else _kind_json(kind, {})
    return as_json({"findings": [_finding(found) for found in findings], "kind": shown})


@blueprint.put("/operator/kinds")
@access.role("admin")
def put_kind() -> Response:
    """Make a kind, or change one that an operator made; the ingest knows it within seconds."""
    parameters.only()
    kind, findings = _read(parameters.body(_Text).toml, state().kinds())
    if kind is None:
        raise invalid([fault("toml", _line(found), found.code) for found in findings])
    with state().engine.begin() as connection:
        before = _replaced_kind(connection, kind)
        if before is not None and before != kind:
            _refuse_other_types(before, kind)
            kind = kind.model_copy(update={"version": max(kind.version, before.version + 1)})
        installed.put(connection, kind)
        action = "kind.made" if before is None else "kind.changed"
        audit.record(
            connection, identity.own_id(), action, name_of(kind), _body(before), _body(kind)
        )
        origins = installed.origins(connection)
    return as_json(_kind_json(kind, origins), status=201 if before is None else 200)


@blueprint.delete("/operator/kinds/<form>/<name>")
@access.role("admin")
def remove_kind(form: str, name: str) -> Response:
    """Remove a kind that an operator made and that no place carries or is of."""
    parameters.only()
    with state().engine.begin() as connection:
        kinds = installed.read(connection)
        known = kinds.get(name) if form == "kind" else kinds.places.get(name)
        if form not in _FORMS or known is None:
            raise not_found(f"{form} {name}")
        places = list(connection.scalars(select(PlaceRow.body)))
        using = [place["id"] for place in places if name in _names(form, place)]
        if using:
            detail = f"`{name}` is used by the place `{using[0]}`; remove that first"
            raise ProblemError(409, "kind-in-use", "Kind in use", detail)
        if not installed.remove(connection, form, name):
            raise _of_file(name)
        audit.record(connection, identity.own_id(), "kind.removed", name, _body(known), None)
    return Response(status=204)


def _read(text: str, kinds: Kinds) -> tuple[Kind | PlaceKind | None, list[Finding]]:
    findings: list[Finding] = []
    kind = files.parse(text, "kind", findings)
    if isinstance(kind, Kind):
        findings += kinds.with_kinds(kind).unknown_places("kind", kind)
    return kind, findings


def _replaced_kind(connection: Connection, kind: Kind | PlaceKind) -> Kind | PlaceKind | None:
    """The kind of that name that an operator made; a problem where a file has one."""
    kinds, name = installed.read(connection), name_of(kind)
    known = kinds.get(name) if isinstance(kind, Kind) else kinds.places.get(name)
    form = "kind" if isinstance(kind, Kind) else "place"
    if known is not None and installed.origins(connection).get(f"{form}/{name}") != "operator":
        raise _of_file(name)
    return known


def _refuse_other_types(before: Kind | PlaceKind, after: Kind | PlaceKind) -> None:
    """What was measured must stay what it was: rules and history go by it."""
    for name in before.fields.keys() & after.fields.keys():
        one, other = before.fields[name], after.fields[name]
        if (one.type, one.scale, one.unit) != (other.type, other.scale, other.unit):
            stays = "its type, unit and step stay as they are"
            message = f'fields.{name}: {stays}; add another field with `was = "{name}"`'
            raise invalid([fault("toml", message, "kind-changed")])
    if isinstance(before, Kind) and isinstance(after, Kind):
        found = [fault("toml", said, "kind-changed") for said in migrating.faults(before, after)]
        if found:
            raise invalid(found)


def _of_file(name: str) -> ProblemError:
    detail = f"`{name}` stands in a file; change it there, and start the system again"
    return ProblemError(409, "kind-of-file", "Kind of a file", detail)


def _kind_json(kind: Kind | PlaceKind, origins: dict[str, str]) -> dict[str, Any]:
    form = "kind" if isinstance(kind, Kind) else "place"
    body = kind_object(kind) if isinstance(kind, Kind) else kind.model_dump(mode="json")
    return {**body, "origin": origins.get(f"{form}/{name_of(kind)}", "files")}


def _body(kind: Kind | PlaceKind | None) -> dict[str, Any] | None:
    return None if kind is None else kind.model_dump(mode="json", exclude_defaults=True)


def _names(form: str, place: dict[str, Any]) -> list[str]:
    """The kinds of a form that a place names."""
    return list(place.get("sensors", ())) if form == "kind" else [place["kind"]]


def _finding(found: Finding) -> dict[str, Any]:
    place = found.location
    return {
        "line": place.line,
        "column": place.column,
        "severity": found.severity,
        "code": found.code,
        "message": found.message,
    }


def _line(found: Finding) -> str:
    return f"line {found.location.line}: {found.message}"

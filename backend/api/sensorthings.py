"""SensorThings 1.1 over HTTP, to read (docs/sensorthings.md)."""

from __future__ import annotations

import re
from typing import Any

import orjson
from flask import Blueprint, Response, request
from sqlalchemy import Connection

from citywise.backend.api import access, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.problems import ProblemError, not_found
from citywise.backend.api.shown import shown_kinds
from citywise.backend.api.state import state
from citywise.backend.sensorthings import observations
from citywise.backend.sensorthings.answers import ROOT, Answers, is_many
from citywise.backend.sensorthings.filters import OptionError
from citywise.backend.sensorthings.model import LINKS, City, Entity, Json
from citywise.backend.sensorthings.options import NAMES, Options, read

blueprint = Blueprint("sensorthings", __name__, url_prefix=ROOT)
_PART = re.compile(r"([A-Za-z]+)(?:\((\d{1,15}|'(?:[^']|'')*')\))?")
_READ = "http://www.opengis.net/spec/iot_sensing/1.1/req"
_CONFORMANCE = (
    "datamodel", "resource-path/resource-path-to-entities", "request-data",
)  # fmt: skip


@blueprint.get("")
@blueprint.get("/")
@access.city
def show_service() -> Response:
    """The collections that there are."""
    parameters.only()
    found = [{"name": name, "url": f"{_base()}/{name}"} for name in LINKS]
    conformance = [f"{_READ}/{part}" for part in _CONFORMANCE]
    return as_json({"serverSettings": {"conformance": conformance}, "value": found})


@blueprint.get("/<path:address>")
@access.city
def show_resource(address: str) -> Response:
    """A collection, an entity, one of its links or one of its properties."""
    for name in request.args:
        if name.startswith("$") and name not in NAMES:
            detail = f"{name}: this service has no such option; it has {', '.join(NAMES)}"
            raise ProblemError(501, "not-implemented", "Not Implemented", detail)
    parameters.only(*NAMES)
    kinds, base, told = shown_kinds(), _base(), dict(request.args)
    engine = state().engine

    def answer() -> Any:
        with engine.connect() as connection:
            city = City(connection, kinds)
            return _Resource(connection, city, base).answer(address, read(told))

    try:
        found = aside(answer)
    except OptionError as error:
        raise ProblemError(400, "bad-parameter", "Bad parameter", str(error)) from None
    if found is None:
        return Response(status=204)
    if isinstance(found, bytes):
        return Response(found, content_type="text/plain; charset=utf-8")
    return as_json(found)


class _Resource:
    """Follows an address, part by part."""

    def __init__(self, connection: Connection, city: City, base: str) -> None:
        self._connection, self._city, self._base = connection, city, base
        self._answers = Answers(connection, city, base)

    def answer(self, address: str, options: Options) -> Json | bytes | None:
        """What is at an address; None: a property that has no value."""
        parts = _parts(address)
        as_references = parts[-1] == "$ref"
        if as_references:
            parts, address = parts[:-1], address.removesuffix("/$ref")
        at: Entity | None = None
        for index, part in enumerate(parts):
            is_last = index == len(parts) - 1
            match = _PART.fullmatch(part)
            if match is None:
                raise not_found(f"resource {address!r}")
            name, key = match.groups()
            if at is not None and name not in LINKS[at.collection]:
                if as_references:
                    raise not_found(f"resource {address!r}")
                return self._property(at, parts[index:])
            if at is None and name not in LINKS:
                raise not_found(f"collection {name!r}")
            if key is None and (at is None or is_many(at.collection, name)):
                if not is_last:
                    raise not_found(f"resource {address!r}")
                whole = f"{self._base}/{address}"
                return self._answers.collection(
                    at, name, options, whole, as_references=as_references
                )
            at = self._entity(at, name, key)
        if at is None:
            raise not_found(f"resource {address!r}")
        if as_references:
            return self._answers.reference(at)
        return self._answers.entity(at, options)

    def _entity(self, at: Entity | None, name: str, key: str | None) -> Entity:
        """The entity of a key in a collection, or that a link leads to."""
        found: Entity | None = None
        if key is None:
            assert at is not None
            found = next(iter(self._city.related(at, name)), None)
        else:
            target = name if at is None else LINKS[at.collection][name]
            wanted: int | str = int(key) if key.isdecimal() else key[1:-1].replace("''", "'")
            if target == "Observations":
                found = observations.one(self._connection, self._city, str(wanted))
                series = None if at is None else self._city.series_of(at)
                if found and series is not None and found.body["@series"] not in series:
                    found = None
            else:
                found = self._city.one(target, wanted)
                if at is not None and found not in self._city.related(at, name):
                    found = None
        if found is None:
            raise not_found(f"entity {name}({key or ''})")
        return found

    def _property(self, at: Entity, parts: list[str]) -> Json | bytes | None:
        """One property of an entity; with `$value` as it is. None: it is null."""
        name, rest = parts[0], parts[1:]
        body = {**self._answers.body(at), "id": at.id}
        if name.startswith("@") or name not in body or rest not in ([], ["$value"]):
            raise not_found(f"property {'/'.join(parts)!r}")
        value = body[name]
        if value is None:
            return None
        if rest:
            return value.encode() if isinstance(value, str) else orjson.dumps(value)
        return {name: value}


def _parts(address: str) -> list[str]:
    """The parts of an address between slashes that are in no quotes."""
    return re.findall(r"(?:[^/']|'[^']*')+", address)


def _base() -> str:
    root = state().settings.web.public_url or request.host_url.rstrip("/")
    return root + ROOT

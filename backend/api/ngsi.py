"""NGSI-LD over HTTP: entities by id and by query (docs/ngsi-ld.md).

Source: ETSI GS CIM 009 V1.8.1, clauses 6.4 (entities), 6.5 (one entity), 6.3 (errors, paging).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import orjson
from flask import Blueprint, Response, request
from sqlalchemy.orm import Session

from citywise.backend.api import access, parameters
from citywise.backend.api.aside import aside
from citywise.backend.api.problems import ProblemError, bad_parameter, response
from citywise.backend.api.shown import shown_kinds
from citywise.backend.api.state import state
from citywise.backend.ngsi import places, query
from citywise.backend.ngsi.entities import CORE, Entity, context
from citywise.backend.ngsi.query import QueryError
from citywise.backend.ngsi.reading import Reader
from citywise.backend.ngsi.representation import (
    Form,
    concise,
    feature,
    normalized,
    only,
    simplified,
)

blueprint = Blueprint("ngsi", __name__, url_prefix="/ngsi-ld")
MOST = 1000
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+\Z")
_USUAL = 20
_ERRORS = "https://uri.etsi.org/ngsi-ld/errors/"
_NAMES = {
    400: "BadRequestData",
    404: "ResourceNotFound",
    409: "AlreadyExists",
    422: "OperationNotSupported",
}
JSON, LD, GEO = "application/json", "application/ld+json", "application/geo+json"
_FORMS: dict[str, Form] = {
    "normalized": normalized,
    "concise": concise,
    "simplified": simplified,
    "keyValues": simplified,
}
_SHOWN = ("attrs", "pick", "omit", "options", "format", "geometryProperty", "lang")
_GEO = ("georel", "geometry", "coordinates", "geoproperty")
_QUERY = ("id", "idPattern", "type", "q", "limit", "offset", "count", "local", *_GEO, *_SHOWN)


@blueprint.errorhandler(ProblemError)
def as_ngsi(error: ProblemError) -> Response:
    """An error with the type that NGSI-LD gives it."""
    if error.status in _NAMES:
        error.members["type"] = _ERRORS + _NAMES[error.status]
    return response(error)


@blueprint.get("/context.jsonld")
@access.city
def show_context() -> Response:
    """What the terms of our entities mean."""
    return Response(orjson.dumps(context(shown_kinds())), content_type=LD)


@blueprint.get("/v1/types")
@access.city
def list_types() -> Response:
    """The types of entities that there are."""
    parameters.only("details", "local")
    with Session(state().engine) as session:
        found = Reader(session, shown_kinds()).types()
    body = {"id": "urn:ngsi-ld:EntityTypeList:citywise", "type": "EntityTypeList"}
    return _answer({**body, "typeList": found}, _accepted())


@blueprint.get("/v1/entities/<path:entity_id>")
@access.city
def show_entity(entity_id: str) -> Response:
    """One entity."""
    parameters.only("type", "local", *_SHOWN)
    form, media = _form(), _accepted()
    if not _URI.match(entity_id):  # clause 5.7.1.4
        raise bad_parameter("id", f"{entity_id!r} is no URI, such as urn:ngsi-ld:Garage:n1")
    with Session(state().engine) as session:
        found = Reader(session, shown_kinds()).one(entity_id)
    types = _types()
    if found is not None and types is not None and found["type"] not in types:
        found = None
    if found is not None:
        found = _choice()(found)
    if found is None:
        detail = f"there is no entity {entity_id!r}, or it has none of the attributes"
        raise ProblemError(404, "not-found", "Not Found", detail)
    return _answer(_shown(found, form, media), media)


@blueprint.get("/v1/entities")
@access.city
def query_entities() -> Response:
    """The entities that a query is for, by id, a page at a time."""
    parameters.only(*_QUERY)
    form, media = _form(), _accepted()
    limit = parameters.integer("limit", _USUAL, 0, MOST)
    offset = parameters.integer("offset", 0, 0, 10**9) or 0
    assert limit is not None
    wants_count = parameters.boolean("count")
    if limit == 0 and not wants_count:
        raise bad_parameter("limit", "0 is for counting only: add count=true")
    found = list(_matching())
    page = found[offset : offset + limit]
    body: Any = [_shown(entity, form, media) for entity in page]
    if media == GEO:
        body = {"type": "FeatureCollection", "features": body}
    answer = _answer(body, media)
    if wants_count:
        answer.headers["NGSILD-Results-Count"] = str(len(found))
    for link in _pages(len(found), limit, offset):
        answer.headers.add("Link", link)
    return answer


def _matching() -> list[Entity]:
    """The entities that the whole query is for, each with the attributes that are asked for."""
    types, ids = _types(), parameters.choices("id")
    tests = []
    try:
        if (text := request.args.get("q")) is not None:
            tests.append(query.parse(text))
        if (pattern := request.args.get("idPattern")) is not None:
            matches = query.matcher(pattern)
            tests.append(lambda entity: matches(entity["id"]))
        if (near := _geo()) is not None:
            tests.append(places.parse(*near))
    except QueryError as error:
        raise bad_parameter("q", str(error)) from None
    if not (ids or types or tests or "attrs" in request.args or parameters.boolean("local")):
        detail = "too wide: name at least one of id, type, attrs, q and georel, or local=true"
        raise bad_parameter("type", detail)
    engine, kinds, choice = state().engine, shown_kinds(), _choice()

    def work() -> list[Entity]:
        with Session(engine) as session:
            reader = Reader(session, kinds)
            if ids:
                several = [entity for name in sorted(set(ids)) if (entity := reader.one(name))]
                entities = [one for one in several if types is None or one["type"] in types]
            else:
                entities = list(reader.all(types))
        fitting = (entity for entity in entities if all(test(entity) for test in tests))
        return [chosen for entity in fitting if (chosen := choice(entity)) is not None]

    return aside(work)


def _geo() -> tuple[str, str, str, str] | None:
    told = [request.args.get(name) for name in _GEO[:3]]
    if not any(told):
        return None
    if not all(told):
        raise bad_parameter("georel", "georel, geometry and coordinates belong together")
    georel, geometry, coordinates = map(str, told)
    return georel, geometry, coordinates, request.args.get("geoproperty", "location")


def _types() -> set[str] | None:
    """The types that are asked for, by their short names; None: all. A `*` is all, too."""
    text = request.args.get("type")
    if text is None or text == "*":
        return None
    names = text.replace("|", ",").strip("()").split(",")
    if ";" in text or not all(names):
        raise bad_parameter("type", f"{text!r}: expected types separated by commas")
    return {name.rpartition("#")[2].rpartition("/")[2] for name in names}


def _choice() -> Callable[[Entity], Entity | None]:
    """What leaves of an entity the attributes that are asked for; None where it has none."""
    attributes, picked = parameters.choices("attrs"), parameters.choices("pick")
    omitted = parameters.choices("omit")

    def chosen(entity: Entity) -> Entity | None:
        found = only(entity, attributes or None)
        if found is not None and picked:
            found = only(found, picked)
        return found and {name: value for name, value in found.items() if name not in omitted}

    return chosen


def _form() -> Form:
    names = [*parameters.choices("options"), *parameters.choices("format")]
    wanted = [name for name in names if name not in ("count", "sysAttrs")]
    for name in wanted:
        if name not in _FORMS:
            known = ", ".join(_FORMS)
            raise bad_parameter("options", f"{name!r} is not one of {known}")
    return _FORMS[wanted[-1]] if wanted else normalized


def _accepted() -> str:
    wanted = request.accept_mimetypes
    found = wanted.best_match([JSON, LD, GEO]) if wanted else JSON
    if found is None:
        detail = f"expected Accept: {JSON}, {LD} or {GEO}"
        raise ProblemError(406, "not-acceptable", "Not Acceptable", detail)
    return found


def _shown(entity: Entity, form: Form, media: str) -> Entity:
    if media == GEO:
        return feature(entity, form, request.args.get("geometryProperty", "location"))
    return _with_context(form(entity)) if media == LD else form(entity)


def _contexts() -> list[str]:
    return [f"{base()}/ngsi-ld/context.jsonld", CORE]


def _with_context(entity: Entity) -> Entity:
    return {**entity, "@context": _contexts()}


def base() -> str:
    """The address of the pages, as clients reach them."""
    return state().settings.web.public_url or request.host_url.rstrip("/")


def _answer(body: Any, media: str) -> Response:
    """The body; where its context is not in it, a header says where that is."""
    if media == LD and isinstance(body, dict):
        body = _with_context(body)
    answer = Response(orjson.dumps(body), content_type=media)
    if media != LD:
        relation = 'rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"'
        answer.headers.add("Link", f"<{_contexts()[0]}>; {relation}")
    answer.vary.add("Accept")
    return answer


def _pages(total: int, limit: int, offset: int) -> list[str]:
    """Where the pages before and after this one are."""
    found = {}
    if limit and offset > 0:
        found["prev"] = max(0, offset - limit)
    if limit and offset + limit < total:
        found["next"] = offset + limit
    told = [(n, v) for n, v in request.args.items(multi=True) if n not in ("limit", "offset")]
    return [
        f"<{request.path}?{urlencode([*told, ('limit', limit), ('offset', where)])}>; "
        f'rel="{relation}"; type="{_accepted()}"'
        for relation, where in found.items()
    ]

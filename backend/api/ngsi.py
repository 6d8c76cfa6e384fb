"""NGSI-LD over HTTP: entities by id and by query (docs/ngsi-ld.md).

Source: ETSI GS CIM 009 V1.8.1, clauses 6.4 (entities), 6.5 (one entity), 6.3 (errors, paging).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode

import orjson
from flask import Blueprint, Response, request

from citywise.backend.api import access, parameters
from citywise.backend.api.aside import aside
from citywise.backend.api.problems import ProblemError, bad_parameter, response
from citywise.backend.api.shown import shown_kinds
from citywise.backend.api.state import state
from citywise.backend.ngsi import places, query
from citywise.backend.ngsi.entities import CORE, OF_PLACE, Entity, context
from citywise.backend.ngsi.query import QueryError
from citywise.backend.ngsi.reading import Reader
from citywise.backend.ngsi.representation import (
    Form,
    concise,
    feature,
    normalized,
    only,
    picked,
    simplified,
    with_system,
    without_system,
)

blueprint = Blueprint("ngsi", __name__, url_prefix="/ngsi-ld")
MOST = 1000
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+\Z")
_NAME = re.compile(r"[@\w:/#.+~%-]+")
_PLAIN = re.compile(r"\bbody\s*=\s*\"?json\b", re.IGNORECASE)
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
        error.members.setdefault("type", _ERRORS + _NAMES[error.status])
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
    _only("local")
    with state().engine.connect() as connection:
        found = Reader(connection, shown_kinds()).types()
    body = {"id": "urn:ngsi-ld:EntityTypeList:citywise", "type": "EntityTypeList"}
    return _answer({**body, "typeList": found}, _accepted())


@blueprint.get("/v1/entities/<path:entity_id>")
@access.city
def show_entity(entity_id: str) -> Response:
    """One entity."""
    _only("type", "local", *_SHOWN)
    form, media = _form(), _accepted()
    if not _URI.match(entity_id):  # clause 5.7.1.4
        raise bad_parameter("id", f"{entity_id!r} is no URI, such as urn:ngsi-ld:Garage:n1")
    with state().engine.connect() as connection:
        found = Reader(connection, shown_kinds()).one(entity_id)
    types = _types()
    if found is not None and types is not None and found["type"] not in types:
        found = None
    if found is not None:
        found = _choice()(found)
    if found is None:
        detail = f"there is no entity {entity_id!r}, or it has none of the attributes"
        raise ProblemError(404, "not-found", "Not Found", detail)
    return _answer(_entity_json(found, form, media), media)


@blueprint.get("/v1/entities")
@access.city
def query_entities() -> Response:
    """The entities that a query is for, by id, a page at a time."""
    _only(*_QUERY)
    form, media = _form(), _accepted()
    limit = parameters.integer("limit", _USUAL, 0, MOST)
    offset = parameters.integer("offset", 0, 0, 10**9) or 0
    assert limit is not None
    wants_count = parameters.boolean("count")
    if limit == 0 and not wants_count:
        raise bad_parameter("limit", "0 is for counting only: add count=true")
    total, page = _matching(limit, offset)
    body: Any = [_entity_json(entity, form, media) for entity in page]
    if media == GEO:
        body = {"type": "FeatureCollection", "features": body}
    elif media == LD:
        body = [_with_context(entity) for entity in body]
    answer = _answer(body, media)
    if wants_count:
        answer.headers["NGSILD-Results-Count"] = str(total)
    for link in _pages(total, limit, offset):
        answer.headers.add("Link", link)
    return answer


def _matching(limit: int, offset: int) -> tuple[int, list[Entity]]:
    """How many entities the query is for, and those of a page, with the members asked for."""
    types, ids = _types(), parameters.choices("id")
    tests, read = [], set[str]()
    try:
        if (text := request.args.get("q")) is not None:
            asked = query.parse(text)
            tests.append(asked.test)
            read |= asked.names
        if (pattern := request.args.get("idPattern")) is not None:
            matches = query.matcher(pattern)
            tests.append(lambda entity: matches(entity["id"]))
        if (near := _geo()) is not None:
            tests.append(places.parse(*near))
            read.add(near[3])
    except QueryError as error:
        raise bad_parameter("q", str(error)) from None
    if not (ids or types or tests or "attrs" in request.args or parameters.boolean("local")):
        detail = "too wide: name at least one of id, type, attrs, q and georel, or local=true"
        raise bad_parameter("type", detail)
    engine, kinds, choice = state().engine, shown_kinds(), _choice()
    takes_all = not {"attrs", "pick", "omit"} & set(request.args)
    is_plain = takes_all and not (ids or tests)
    placed = not takes_all or bool(read & OF_PLACE)

    def work() -> tuple[int, list[Entity]]:
        entities: Iterable[Entity]
        with engine.connect() as connection:
            reader = Reader(connection, kinds)
            if is_plain and (names := reader.ids(types)) is not None:
                told = (reader.one(name) for name in names[offset : offset + limit])
                page = [shown for one in told if one and (shown := choice(one)) is not None]
                return len(names), page
            if ids:
                several = [entity for name in sorted(set(ids)) if (entity := reader.one(name))]
                entities = [one for one in several if types is None or one["type"] in types]
            else:
                entities = reader.all(types, placed=placed)
            found = [entity for entity in entities if all(test(entity) for test in tests)]
            if takes_all:  # only what is shown needs to be whole
                whole = reader.placed(found[offset : offset + limit])
                return len(found), [one for entity in whole if (one := choice(entity))]
        chosen = [one for entity in found if (one := choice(entity)) is not None]
        return len(chosen), chosen[offset : offset + limit]

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
    """What leaves of an entity the members that are asked for; None where it has none."""
    attributes, wanted, omitted = map(_names, ("attrs", "pick", "omit"))
    if attributes and (wanted or omitted):
        raise bad_parameter("attrs", "it cannot stand beside pick or omit")
    if both := set(wanted) & set(omitted):
        raise bad_parameter("omit", f"{min(both)!r} stands in pick, too")
    timed = with_system if "sysAttrs" in parameters.choices("options") else without_system

    def chosen(entity: Entity) -> Entity | None:
        found = only(entity, attributes or None)
        if found is None:
            return None
        found = timed(found)
        if wanted:
            return picked(found, wanted)
        return picked(found, found.keys() - set(omitted)) if omitted else found

    return chosen


def _names(name: str) -> list[str]:
    """The members that a parameter lists."""
    found = [part for text in request.args.getlist(name) for part in text.split(",")]
    for part in found:
        if not _NAME.fullmatch(part):
            raise bad_parameter(name, f"{part!r} is no name; they stand separated by commas")
    return found


def _form() -> Form:
    names = [*parameters.choices("options"), *parameters.choices("format")]
    wanted = [name for name in names if name not in ("count", "sysAttrs")]
    for name in wanted:
        if name not in _FORMS:
            known = ", ".join(_FORMS)
            raise bad_parameter("options", f"{name!r} is not one of {known}")
    return _FORMS[wanted[-1]] if wanted else normalized


def _accepted() -> str:
    """The format that is preferred; of several alike the first of ours (clause 6.3.4)."""
    wanted = request.accept_mimetypes
    found = max((JSON, LD, GEO), key=wanted.quality) if wanted else JSON
    if wanted and not wanted.quality(found):
        detail = f"expected Accept: {JSON}, {LD} or {GEO}"
        raise ProblemError(406, "not-acceptable", "Not Acceptable", detail)
    return found


def _entity_json(entity: Entity, form: Form, media: str) -> Entity:
    if media == GEO:
        return feature(entity, form, request.args.get("geometryProperty", "location"))
    return form(entity)


def _contexts() -> list[str]:
    return [f"{base()}/ngsi-ld/context.jsonld", CORE]


def _with_context(entity: Entity) -> Entity:
    return {**entity, "@context": _contexts()}


def base() -> str:
    """The address of the pages, as clients reach them."""
    return state().settings.web.public_url or request.host_url.rstrip("/")


def _answer(body: Any, media: str) -> Response:
    """The body; where its context is not in it, a header says where that is."""
    wants_plain = media == GEO and _PLAIN.search(request.headers.get("Prefer", ""))
    is_within = media != JSON and not wants_plain
    if is_within and isinstance(body, dict):
        body = _with_context(body)
    answer = Response(orjson.dumps(body), content_type=media)
    if not is_within:
        relation = 'rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"'
        answer.headers.add("Link", f"<{_contexts()[0]}>; {relation}")
    answer.vary.add("Accept")
    if media == GEO:
        answer.vary.add("Prefer")
    return answer


def _only(*names: str) -> None:
    """Refuse other parameters as the specification says (clause 6.3.20)."""
    parameters.controlled()
    for name in request.args:
        if name not in names:
            detail = f"{name}: unknown parameter; this address takes: {', '.join(names)}"
            raise ProblemError(
                400, "bad-parameter", "Bad parameter", detail,
                parameter=name, type=f"{_ERRORS}InvalidRequest",
            )  # fmt: skip


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

"""Template instances: what people want to be told, as data (see docs/apps.md).

A change goes to the table and, in the same transaction, to the inlet, from where it comes
into the log and so to the pipeline, which need not be restarted.
"""

from __future__ import annotations

import uuid
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select
from sqlalchemy.exc import IntegrityError

from citywise.backend.api import (
    access,
    context,
    identity,
    instance_bodies,
    instance_ids,
    parameters,
)
from citywise.backend.api.answers import as_json
from citywise.backend.api.instance_bodies import ChangedInstance, NewInstance
from citywise.backend.api.problems import ProblemError, not_found
from citywise.backend.api.state import state
from citywise.backend.api.templates import numbers
from citywise.backend.ingest import inlet
from citywise.backend.packs import asking, installed
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.people.ids import is_session
from citywise.backend.store.models import InstanceRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import iso, wall_ms

blueprint = Blueprint("instances", __name__)

MAX_INSTANCES = 1000
MAX_OF_USER = 200
_LONGEST_ID = 64
_STANDING = ("app", "template", "version", "user", "values")
Row = dict[str, Any]
"""A row of `instances`."""


class _Shown:
    """Instances as the API shows them: `newest` is the version one could be migrated to,
    `asks` what of its user's context its rules read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._there = numbers(connection)
        self._templates: dict[tuple[str, str, int], TemplateVersion] = {}

    def __call__(self, row: Row) -> dict[str, Any]:
        versions = self._there.get((row["app"], row["template"])) or [row["version"]]
        return {
            **{name: row[name] for name in ("id", *_STANDING, "title")},
            "duty": row.get("duty"),
            "newest": versions[-1],
            "asks": asking.asks(self._template(row), row["values"]),
            "created": iso(row["created_ms"]),
            "updated": iso(row["updated_ms"]),
        }

    def _template(self, row: Row) -> TemplateVersion:
        key = row["app"], row["template"], row["version"]
        if key not in self._templates:
            self._templates[key] = installed.find(self._connection, *key)
        return self._templates[key]


@blueprint.get("/instances")
@access.person()
def list_instances() -> Response:
    """Instances by id, of a user, of an app; without a user those of who asks, and for
    developers those of test persons."""
    parameters.only("user", "app", "limit", "cursor")
    limit = parameters.integer("limit", 100, 1, MAX_INSTANCES) or 100
    query = select(InstanceRow.__table__).where(_listed(request.args.get("user")))
    query = query.order_by(InstanceRow.id).limit(limit + 1)
    if (app := parameters.identifier("app")) is not None:
        query = query.where(InstanceRow.app == app)
    if (cursor := parameters.identifier("cursor")) is not None:
        query = query.where(InstanceRow.id > cursor)
    with state().engine.connect() as connection:
        rows = connection.execute(query).mappings().all()
        found = list(map(_Shown(connection), map(dict, rows[:limit])))
    following = found[-1]["id"] if len(rows) > limit else None
    return as_json({"instances": found, "next": following})


@blueprint.post("/instances")
@access.person()
def create_instance() -> Response:
    """A new instance."""
    parameters.only()
    body = parameters.body(NewInstance)
    user = _owner(body.user)
    with state().engine.begin() as connection:
        row = new_row(connection, body, user, _free_id(connection, body, user))
        _refuse_too_many(connection, user)
        try:
            connection.execute(insert(InstanceRow), row)
        except IntegrityError:
            raise _exists_already(row["id"]) from None
        return _saved(connection, row, 201)


@blueprint.get("/instances/<instance_id>")
@access.person(session=True)
def show_instance(instance_id: str) -> Response:
    """One instance, and what of its user's context it asks for and nobody has told."""
    parameters.only()
    with state().engine.connect() as connection:
        found = _Shown(connection)(known_instance(connection, instance_id))
    return as_json({**found, "missing": context.missing(found["user"], found["asks"])})


@blueprint.put("/instances/<instance_id>")
@access.person(session=True)
def put_instance(instance_id: str) -> Response:
    """Change an instance, move it to another version, or bring back one that was removed."""
    parameters.only()
    parameters.checked_identifier("id", instance_id)
    body = parameters.body(ChangedInstance)
    with state().engine.begin() as connection:
        before = _stored_instance(connection, instance_id)
        if not _is_open(instance_id, before):
            raise _none_of_yours(instance_id)
        if before is None:
            user = _owner(body.user)
            instance_ids.refuse_unless_of(user, instance_id)
            row = new_row(connection, parameters.body(NewInstance), user, instance_id)
            _refuse_too_many(connection, user)
        else:
            _refuse_of_duty(before)
            row = _changed(connection, before, body)
        upsert(connection, InstanceRow, [row])
        return _saved(connection, row, 201 if before is None else 200)


@blueprint.delete("/instances/<instance_id>")
@access.person(session=True)
def delete_instance(instance_id: str) -> Response:
    """Remove an instance; the answer is what it was, so that a PUT can bring it back."""
    parameters.only()
    with state().engine.begin() as connection:
        row = known_instance(connection, instance_id)
        _refuse_of_duty(row)
        connection.execute(delete(InstanceRow).where(InstanceRow.id == instance_id))
        inlet.write(connection, [("instance", instance_id, None)])
        return as_json(_Shown(connection)(row))


def standing(row: Row) -> dict[str, Any]:
    """An instance as it stands in the log."""
    return {name: row[name] for name in _STANDING}


def _stored_instance(connection: Connection, instance_id: str) -> Row | None:
    query = select(InstanceRow.__table__).where(InstanceRow.id == instance_id)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else dict(row)


def known_instance(connection: Connection, instance_id: str) -> Row:
    """The row of an instance; a problem where there is none, or only somebody else's."""
    row = _stored_instance(connection, instance_id)
    identity.refuse_other(None if row is None else row["user"], f"instance {instance_id!r}")
    assert row is not None
    return row


def new_row(connection: Connection, body: NewInstance, user: str, instance_id: str) -> Row:
    """The row of a user's new instance; a problem with everything that is wrong with it."""
    version = instance_bodies.chosen_template(connection, body.app, body.template, body.version)
    now = wall_ms()
    return {
        "id": instance_id,
        "app": version.app,
        "template": version.name,
        "version": version.version,
        "user": user,
        "values": instance_bodies.bound(connection, version, body.values or {}),
        "title": body.title,
        "created_ms": now,
        "updated_ms": now,
    }


def _changed(connection: Connection, before: Row, body: ChangedInstance) -> Row:
    """The row after a change; values that are not given are kept."""
    for name in ("app", "template", "user"):
        if getattr(body, name) not in (None, before[name]):
            raise _fixed(before, name)
    app, name = before["app"], before["template"]
    version = instance_bodies.chosen_template(
        connection, app, name, body.version or before["version"]
    )
    values = instance_bodies.changed(connection, before["values"], version, body.values or {})
    title = body.title if "title" in body.model_fields_set else before["title"]
    changes = {"version": version.version, "values": values, "title": title}
    return {**before, **changes, "updated_ms": wall_ms()}


def _saved(connection: Connection, row: Row, status: int) -> Response:
    """Hand a saved row to the log and answer with its object."""
    inlet.write(connection, [("instance", row["id"], standing(row))])
    answer = as_json(_Shown(connection)(row), status)
    if status == 201:
        answer.headers["Location"] = f"/api/v1/instances/{row['id']}"
    return answer


def _is_open(instance_id: str, row: Row | None) -> bool:
    """Whether who asks may change an instance, or make one of this id if there is none."""
    if row is not None:
        return identity.may_see(row["user"])
    return instance_ids.may_be_made(identity.principal(), instance_id)


def _none_of_yours(instance_id: str) -> ProblemError:
    """What is answered whether or not somebody else has the instance."""
    hint = f"; ids of your own begin with `{identity.own_id()}.`"
    return not_found(f"instance {instance_id!r} of yours{hint}")


def _owner(text: str | None) -> str:
    """Whose a new instance is; sessions get theirs otherwise."""
    user = identity.whose(text)
    if is_session(user):
        raise not_found(f"user {user!r}")
    return user


def _listed(asked: str | None) -> ColumnElement[bool]:
    """Which instances are shown to who asks for those of a user, or of nobody in particular."""
    if asked is not None or not identity.person().has("developer"):
        return InstanceRow.user == identity.whose(asked)
    return or_(InstanceRow.user == identity.own_id(), instance_ids.of_test_persons())


def _free_id(connection: Connection, body: NewInstance, user: str) -> str:
    """The id asked for, or one that says whose it is and of which template."""
    if body.id is not None:
        instance_ids.refuse_unless_of(user, body.id)
        return body.id
    wished = f"{user}.{body.template}"
    if len(wished) > _LONGEST_ID - 9:
        return f"i-{uuid.uuid4().hex}"
    taken = _stored_instance(connection, wished) is not None
    return f"{wished}-{uuid.uuid4().hex[:8]}" if taken else wished


def _refuse_too_many(connection: Connection, user: str) -> None:
    query = select(func.count()).where(InstanceRow.user == user)
    if connection.execute(query).scalar_one() >= MAX_OF_USER:
        raise ProblemError(
            409,
            "too-many-instances",
            "Too many instances",
            f"{user!r} has {MAX_OF_USER} instances, and no more are kept; remove some first",
        )


def _exists_already(instance_id: str) -> ProblemError:
    return ProblemError(
        409,
        "instance-exists",
        "Instance exists",
        f"there is an instance {instance_id!r}; change it with PUT, or choose another id",
    )


def _refuse_of_duty(row: Row) -> None:
    """What comes of a duty stays as long as its person has that."""
    if row.get("duty") is not None:
        raise ProblemError(
            409,
            "instance-of-duty",
            "Instance of a duty",
            f"it comes of your duty {row['duty']!r}; leave that: DELETE /api/v1/me/duties",
        )


def _fixed(row: Row, name: str) -> ProblemError:
    return ProblemError(
        409,
        "instance-is-another's",
        "Instance of something else",
        f"instance {row['id']!r} is of {name} {row[name]!r}, which cannot change; make a new one",
        parameter=name,
    )

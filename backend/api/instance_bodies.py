"""Template instances as clients send them: read and checked, with all faults at once."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from sqlalchemy import Connection, select

from citywise.backend.api import problems
from citywise.backend.api.templates import numbers
from citywise.backend.ingest.payloads import Name
from citywise.backend.kinds import Identifier, Kinds
from citywise.backend.kinds.installed import read as of_database
from citywise.backend.packs import installed
from citywise.backend.packs.manifest import Name as PackName
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.values import BadValueError, BadValuesError
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import PlaceRow

Values = dict[str, JsonValue]


class StrictBody(BaseModel):
    """What a request sends: nothing else is taken, and nothing is read as what it is not."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ChangedInstance(BaseModel):
    """What is to be of an instance; what is absent stays as it is, or is the usual.

    What the API adds when it shows an instance is taken and means nothing, so that an
    instance can be sent back as it was read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    app: PackName | None = None
    template: PackName | None = None
    version: int | None = Field(default=None, ge=1, lt=2**31)
    user: Identifier | None = None
    values: Values | None = None
    title: Name | None = None
    id: Identifier | None = None
    newest: int | None = None
    asks: list[str] | None = None
    duty: str | None = None
    missing: list[str] | None = None
    created: str | None = None
    updated: str | None = None


class NewInstance(ChangedInstance):
    """A new instance; without `id` it is given one, without `version` it is the newest,
    without `user` it is that of who asks."""

    app: PackName
    template: PackName


def chosen_template(
    connection: Connection, app: str, name: str, version: int | None
) -> TemplateVersion:
    """The version asked for, or the newest; a problem that names what there is otherwise."""
    try:
        return installed.find(connection, app, name, version)
    except installed.UnknownTemplateError as error:
        path = _at_fault(connection, app, name)
        raise problems.invalid([{"path": path, "message": str(error)}]) from None


def _at_fault(connection: Connection, app: str, name: str) -> str:
    """Which of app, template and version there is not."""
    there = numbers(connection)
    if (app, name) in there:
        return "version"
    return "template" if any(app == known for known, _ in there) else "app"


def bound(connection: Connection, version: TemplateVersion, values: Values) -> Values:
    """The values in canonical form; a problem with all faults, unknown places included."""
    try:
        checked: dict[str, Any] = version.bind(values)
    except BadValuesError as error:
        raise _invalid(error.faults) from None
    faults = _unknown_places(connection, version, checked)
    if faults:
        raise _invalid(faults)
    return checked


def changed(connection: Connection, values: Values, to: TemplateVersion, changes: Values) -> Values:
    """An instance's values after changes, as those of a version; null takes a value away.

    What the version has no parameter for is dropped; a problem says what it lacks.
    """
    return bound(connection, to, {**to.fitting(values), **changes})


def _unknown_places(
    connection: Connection, version: TemplateVersion, values: Values
) -> list[BadValueError]:
    wanted = version.places(values)
    kinds: dict[str, str] = {}
    for some in chunks(place for _, place, _ in wanted):
        rows = connection.execute(select(PlaceRow.id, PlaceRow.kind).where(PlaceRow.id.in_(some)))
        kinds |= {place: kind for place, kind in rows}  # noqa: C416
    known = of_database(connection) if any(meant.roles for _, _, meant in wanted) else Kinds()
    return [
        BadValueError(name, f"`{place}`", f"the id of a known {meant.wanted}", "choose another")
        for name, place, meant in wanted
        if place not in kinds or not meant.takes(kinds[place], known)
    ]


def _invalid(faults: tuple[BadValueError, ...] | list[BadValueError]) -> problems.ProblemError:
    return problems.invalid(
        [
            {
                **fault.to_json(),
                "path": f"values.{fault.path}",
                "message": f"found {fault.found}, expected {fault.expected}; {fault.fix}",
            }
            for fault in faults
        ]
    )

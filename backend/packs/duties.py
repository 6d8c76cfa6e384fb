"""Who is told by templates with a recipient: `recipient = "janitor of {school}"`.

A duty is a role that a person has at a place, or at all of a kind. Each gives its person an
instance of each template whose recipient it is, for each of its places: `settle` sees that there
are these and no others (docs/layers.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select

from citywise.backend.ingest import inlet
from citywise.backend.packs import installed
from citywise.backend.packs.parameters import PlaceParameter
from citywise.backend.packs.template import TemplateVersion, recipient_of
from citywise.backend.packs.values import BadValuesError
from citywise.backend.store.chunks import chunks
from citywise.backend.store.exclusion import exclude
from citywise.backend.store.models import DutyRow, InstanceRow, PlaceRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

_LONGEST_ID = 64


class Duty(NamedTuple):
    """A role of a person; `place` is empty where it is at all places, or at none."""

    role: str
    place: str
    user: str


class Derived(NamedTuple):
    """An instance that comes of a duty."""

    id: str
    role: str
    template: TemplateVersion
    user: str
    values: dict[str, Any]

    def standing(self) -> dict[str, Any]:
        """It as it stands in the log."""
        of = self.template
        known = {"app": of.app, "template": of.name, "version": of.version}
        return {**known, "user": self.user, "values": self.values}


def derived(
    templates: Iterable[TemplateVersion], duties: Iterable[Duty], places: Mapping[str, list[str]]
) -> Iterator[Derived]:
    """The instances that come of duties; `places` are the ids of all places by kind.

    A duty at one place counts for templates about places of its kind, and where nobody knows
    that place (yet) for none.
    """
    told = list(duties)
    for template in templates:
        if template.recipient is None:
            continue
        role, parameter = recipient_of(template.recipient)
        kind = _kind_of(template, parameter)
        known = places.get(kind or "", [])
        for duty in told:
            if duty.role != role:
                continue
            if parameter is None:
                rows: Iterable[str] = [""]
            else:
                rows = known if not duty.place else {duty.place}.intersection(known)
            for place in rows:
                values = template.bind({parameter: place} if parameter else {})
                key = _id(duty.user, template, place)
                yield Derived(key, role, template, duty.user, values)


def _kind_of(template: TemplateVersion, parameter: str | None) -> str | None:
    """The kind of the places that a recipient is about."""
    of = template.parameters.get(parameter) if parameter else None
    return of.kind if isinstance(of, PlaceParameter) else None


def _id(user: str, template: TemplateVersion, place: str) -> str:
    """The id of an instance: of whom, of which template, and at which place."""
    wished = ".".join(part for part in (user, template.name, place) if part)
    told = f"{template.app} {template.name} {place}".encode()
    digest = hashlib.sha256(told).hexdigest()
    return (
        wished if len(wished) <= _LONGEST_ID else f"{user}.{digest[: _LONGEST_ID - 1 - len(user)]}"
    )


def settle(connection: Connection) -> None:
    """Let there be the instances that come of the duties, with the newest versions of their
    templates, and no others."""
    exclude(connection, "duties", "")
    duties = of_all(connection)
    rows = connection.execute(select(InstanceRow.__table__).where(InstanceRow.duty.is_not(None)))
    before = {row["id"]: dict(row) for row in rows.mappings()}
    if not duties and not before:
        return
    newest = {(v.app, v.name): v for v in installed.versions(connection)}
    wanted = [version for version in newest.values() if version.recipient]
    kinds = {p.kind for v in wanted for p in v.parameters.values() if isinstance(p, PlaceParameter)}
    places: dict[str, list[str]] = {}
    asked = select(PlaceRow.id, PlaceRow.kind).where(PlaceRow.kind.in_([k for k in kinds if k]))
    for row in connection.execute(asked.order_by(PlaceRow.id)):
        places.setdefault(row.kind, []).append(row.id)
    try:
        now = {one.id: one for one in derived(wanted, duties, places)}
    except BadValuesError:
        return  # `check` refuses such a template
    fresh = {key: one for key, one in now.items() if not _is_as_before(before.get(key), one)}
    gone = before.keys() - now.keys()
    upsert(connection, InstanceRow, [_row(one, before.get(key)) for key, one in fresh.items()])
    for some in chunks(gone):
        connection.execute(delete(InstanceRow).where(InstanceRow.id.in_(some)))
    entries = [("instance", key, one.standing()) for key, one in fresh.items()]
    inlet.write(connection, [*entries, *(("instance", key, None) for key in sorted(gone))])


def of_all(connection: Connection, user: str | None = None) -> list[Duty]:
    """The duties that there are, of all or of one person."""
    query = select(DutyRow.role, DutyRow.place, DutyRow.user)
    query = query if user is None else query.where(DutyRow.user == user)
    rows = connection.execute(query.order_by(DutyRow.role, DutyRow.place, DutyRow.user))
    return [Duty(row.role, row.place, row.user) for row in rows]


def roles(connection: Connection) -> list[tuple[str, str | None]]:
    """The roles that templates tell, each with the kind of place that it is at, if at any."""
    newest = {(v.app, v.name): v for v in installed.versions(connection)}
    found: set[tuple[str, str | None]] = set()
    for template in newest.values():
        if template.recipient is not None:
            role, parameter = recipient_of(template.recipient)
            found.add((role, _kind_of(template, parameter)))
    return sorted(found, key=lambda each: (each[0], each[1] or ""))


def give(connection: Connection, duty: Duty) -> None:
    """Give a person a duty; it is no error where they have it."""
    upsert(connection, DutyRow, [{**duty._asdict(), "created_ms": wall_ms()}], update=False)
    settle(connection)


def end(connection: Connection, duty: Duty) -> bool:
    """End a duty; False where there is none."""
    row = DutyRow
    same = (row.role == duty.role) & (row.place == duty.place) & (row.user == duty.user)
    found = bool(connection.execute(delete(row).where(same)).rowcount)
    settle(connection)
    return found


def _is_as_before(row: Mapping[str, Any] | None, one: Derived) -> bool:
    return row is not None and all(row[name] == told for name, told in one.standing().items())


def _row(one: Derived, before: Mapping[str, Any] | None) -> dict[str, Any]:
    now = wall_ms()
    return {
        "id": one.id,
        **one.standing(),
        "title": None,
        "duty": one.role,
        "created_ms": before["created_ms"] if before else now,
        "updated_ms": now,
    }

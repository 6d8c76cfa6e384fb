"""Taking all that an app that is gone has left out of a system's database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, delete, select

from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import inlet
from citywise.backend.packs import tables
from citywise.backend.packs.parts import brought_to
from citywise.backend.settings import Settings
from citywise.backend.store import outbox
from citywise.backend.store.models import (
    AppTablesRow,
    CursorRow,
    HeartbeatRow,
    InstanceRow,
    NoticeRow,
    TemplateVersionRow,
    TraceRow,
)


class RemovalError(CitywiseError):
    """Nothing of the app can be removed now; says what to do first."""


@dataclass(frozen=True)
class Removed:
    """What was removed of an app."""

    tables: Sequence[str]
    instances: int
    notices: int


def remove(engine: Engine, settings: Settings, app: str) -> Removed:
    """Remove the tables, instances, notices, templates and traces of an app that a stopped system
    has no more; what the log holds of its instances goes with the log's retention.

    Raises `RemovalError` for an app that is still there (it would make its tables again), or of
    which nothing is known.
    """
    folder = brought_to(settings).installed.get(app)
    if folder is not None:
        raise RemovalError(
            f"the app `{app}` is still there: uninstall its package, or take {folder} out of "
            "apps.folders; then remove what it has left"
        )
    with engine.begin() as connection:
        outbox.begin(connection)
        known = set(connection.scalars(select(AppTablesRow.app)))
        for row in (TemplateVersionRow, InstanceRow, NoticeRow):
            known |= set(connection.scalars(select(row.app).distinct()))
        if app not in known:
            listed = ", ".join(f"`{name}`" for name in sorted(known)) or "no app"
            raise RemovalError(f"nothing is left of an app `{app}`; there is something of {listed}")
        dropped = tables.remove(connection, app)
        instances = connection.scalars(select(InstanceRow.id).where(InstanceRow.app == app)).all()
        inlet.write(connection, [("instance", instance, None) for instance in instances])
        _delete(connection, InstanceRow, InstanceRow.app == app)
        notices = _delete(connection, NoticeRow, NoticeRow.app == app)
        _delete(connection, TemplateVersionRow, TemplateVersionRow.app == app)
        _delete(connection, HeartbeatRow, HeartbeatRow.process == app)
        for request in (TraceRow.request, CursorRow.request):
            of_app = request.startswith(f"{app}/", autoescape=True)
            _delete(connection, request.class_, of_app)
    return Removed(dropped, len(instances), notices)


def _delete(connection: Connection, row: Any, condition: Any) -> int:
    return connection.execute(delete(row).where(condition)).rowcount

"""What an app's own code has the rules watch for a person: instances of its templates, and what
the person does. All of it is told in the transaction of the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, select

from citywise.backend.ingest import inlet
from citywise.backend.store.exclusion import CONTEXT_OF, exclude
from citywise.backend.store.models import InstanceRow
from citywise.backend.store.upsert import upsert

Context = Mapping[str, Mapping[str, Any] | None]
"""By kind (`position`, `route`, `activity`, `preferences`) as it stands in the log; None where it
is to be forgotten."""


def watch(
    connection: Connection,
    instance: str,
    user: str,
    app: str,
    template: str,
    values: Mapping[str, Any],
) -> None:
    """Make an instance of a template for a user, or change the one of this id; a problem with
    everything that is wrong with the values."""
    # Only views begin to watch: a process without HTTP need not load it.
    from citywise.backend.api import instance_bodies, instances

    body = instance_bodies.NewInstance(app=app, template=template, values=dict(values))
    row = instances.new_row(connection, body, user, instance)
    upsert(connection, InstanceRow, [row])
    inlet.write(connection, [("instance", instance, instances.standing(row))])


def stop(connection: Connection, instance: str) -> None:
    """Remove an instance; it is no error where there is none."""
    connection.execute(delete(InstanceRow).where(InstanceRow.id == instance))
    inlet.write(connection, [("instance", instance, None)])


def is_watched(connection: Connection, instance: str) -> bool:
    """Whether there is an instance still: its user may remove it."""
    there = select(InstanceRow.id).where(InstanceRow.id == instance)
    return connection.scalar(there) is not None


def tell(connection: Connection, user: str, context: Context) -> None:
    """Tell the rules what a user does now, of kinds that they consented to, or does no longer."""
    exclude(connection, CONTEXT_OF, user)
    inlet.write(connection, [(subject, user, body) for subject, body in context.items()])

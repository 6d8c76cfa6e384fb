"""Giving and withdrawing consent; what was told under a consent goes with it."""

from __future__ import annotations

from functools import partial
from typing import Literal

from sqlalchemy import Connection

from citywise.backend.ingest import inlet
from citywise.backend.packs.parts import of_settings, within
from citywise.backend.people import consents
from citywise.backend.settings import Settings
from citywise.backend.store.exclusion import CONTEXT_OF, exclude
from citywise.backend.store.outbox import begin


def change(
    connection: Connection,
    settings: Settings,
    account: str,
    subject: str,
    *,
    given: bool,
    hours: float | Literal["as before"] | None = "as before",
) -> None:
    """Let a kind of context be used and kept for so many hours without word (None: as long as
    the system does), or no longer: then what stands of it is removed, and what apps do
    with it ends.

    Raises `PeopleError` for an unknown kind, or hours out of range.
    """
    if not given:
        begin(connection)
    exclude(connection, CONTEXT_OF, account)
    consents.write(connection, account, subject, given=given, hours=hours)
    if not given:
        for app, parts in of_settings(settings).items():
            if parts.withdrawn is not None:
                end = partial(parts.withdrawn, connection, settings, account, subject)
                within(connection, app, "withdrawn", end)
        inlet.write(connection, [(subject, account, None)])

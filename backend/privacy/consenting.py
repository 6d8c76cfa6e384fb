"""Giving and withdrawing consent; what was told under a consent goes with it."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection

from backend.ingest import inlet
from backend.packs.parts import of_settings
from backend.people import consents
from backend.settings import Settings
from backend.store.exclusion import CONTEXT_OF, exclude
from backend.store.outbox import begin


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
        for parts in of_settings(settings).values():
            if parts.withdrawn is not None:
                parts.withdrawn(connection, settings, account, subject)
        inlet.write(connection, [(subject, account, None)])

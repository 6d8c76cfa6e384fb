"""When people arrive where, as the apps that follow their trips know it.

Nothing of it is kept here: whoever tells it on asks, for people who agreed to that, and what an app
keeps of a trip is exported and forgotten with the trip.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from citywise.backend.packs.parts import Arrival as Arrival
from citywise.backend.packs.parts import Arrivals, of_settings, within
from citywise.backend.people import consents
from citywise.backend.settings import Settings
from citywise.backend.store import clocks
from citywise.backend.times import wall_ms

_NEEDED = "position"
"""The consent that it rests on: when somebody arrives follows from where they are."""


def expected(
    connection: Connection, settings: Settings, users: Collection[str]
) -> dict[str, list[Arrival]]:
    """Where some accounts are on their way to, and when they arrive: by the wall's clock, and not
    before now. Who does not consent to the use of positions is not among them."""
    consenting = consents.given(connection, users)
    found: dict[str, list[Arrival]] = {
        user: [] for user, subjects in consenting.items() if _NEEDED in subjects
    }
    if not found:
        return found
    clock, now_ms = clocks.read(connection), wall_ms()
    for app, parts in of_settings(settings).items():
        if parts.arrivals is None:
            continue
        for user in found:
            for told in _told(connection, settings, app, parts.arrivals, user):
                left_ms = (told.at_ms - clock.now_ms) / (clock.speed or 1.0)
                found[user].append(told._replace(at_ms=now_ms + max(0, round(left_ms))))
    return found


def _told(
    connection: Connection, settings: Settings, app: str, ask: Arrivals, user: str
) -> list[Arrival]:
    """What one app knows; nothing where it fails."""
    told: list[Arrival] = []

    def fill() -> None:
        for one in ask(connection, settings, user):
            if not (abs(one.lat) <= 90 and abs(one.lon) <= 180):
                raise ValueError(f"there is no place at {one.lat}, {one.lon}")
            told.append(one._replace(at_ms=round(one.at_ms)))

    return told if within(connection, app, "arrivals", fill) else []

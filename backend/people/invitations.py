"""Links with which one person can sign up, once."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, delete, insert, select

from citywise.backend.people.accounts import checked_roles
from citywise.backend.people.errors import PeopleError
from citywise.backend.people.secret import digest, new_secret
from citywise.backend.store.models import InvitationRow
from citywise.backend.times import wall_ms

HOURS = 72.0


def issue(connection: Connection, roles: Iterable[str] = ("user",), hours: float = HOURS) -> str:
    """The secret of a new invitation; whoever has it can sign up in these roles."""
    secret, now = new_secret(), wall_ms()
    connection.execute(delete(InvitationRow).where(InvitationRow.expires_ms <= now))
    row = {
        "id": digest(secret),
        "roles": checked_roles(roles),
        "created_ms": now,
        "expires_ms": now + round(hours * 3_600_000),
    }
    connection.execute(insert(InvitationRow), row)
    return secret


def take(connection: Connection, secret: str) -> list[str]:
    """Use an invitation up and return its roles.

    Raises `PeopleError` where there is none (any more).
    """
    wanted = InvitationRow.id == digest(secret)
    row = connection.execute(select(InvitationRow.__table__).where(wanted)).mappings().one_or_none()
    used = connection.execute(delete(InvitationRow).where(wanted)).rowcount
    if row is None or not used or row["expires_ms"] <= wall_ms():
        message = "this invitation has been used or is over; ask for another"
        raise PeopleError("invitation", message, "invitation-over")
    return list(row["roles"])

"""How the first admin comes in: by an invitation that each start gives while there is none."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from citywise.backend.people import accounts, audit, invitations
from citywise.backend.people.secret import digest
from citywise.backend.store.models import AuditRow, InvitationRow

_ACTION = "invitation.issued"


def invite(connection: Connection, actor: str) -> str | None:
    """The secret of an invitation with all roles, in place of earlier ones of this kind.

    None where somebody is an admin.
    """
    _withdraw(connection)
    if accounts.has_admin(connection):
        return None
    secret = invitations.issue(connection, accounts.ROLES)
    after = {"roles": list(accounts.ROLES), "hours": invitations.HOURS, "first": True}
    audit.record(connection, actor, _ACTION, digest(secret), None, after)
    return secret


def close(connection: Connection) -> None:
    """Let nobody in by such an invitation where somebody is an admin; call it before one is
    used."""
    if accounts.has_admin(connection):
        _withdraw(connection)


def _withdraw(connection: Connection) -> None:
    query = select(AuditRow.target, AuditRow.after).where(AuditRow.action == _ACTION)
    first = [target for target, after in connection.execute(query) if after and "first" in after]
    connection.execute(delete(InvitationRow).where(InvitationRow.id.in_(first)))

"""What admins do to accounts: noted in the audit log, and undone from there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from citywise.backend.people import accounts, audit
from citywise.backend.people.accounts import Account

CHANGED = "account.changed"


def rights(account: Account) -> dict[str, Any]:
    """What an admin can change of an account, as the audit log notes it."""
    return {"roles": sorted(account.roles), "disabled": account.disabled_ms is not None}


def change(
    connection: Connection,
    actor: str,
    account: str,
    *,
    roles: Iterable[str] | None = None,
    disabled: bool | None = None,
) -> Account:
    """Give an account other roles, shut it out, or let it in again; what is None stays.

    Raises `UnknownAccountError`, or `PeopleError` for unknown roles and for the last admin.
    Whoever calls it ends the account's open streams and tells the broker.
    """
    before = accounts.known(connection, account)
    _apply(connection, before.id, roles, disabled)
    after = accounts.known(connection, before.id)
    if rights(before) != rights(after):
        audit.record(connection, actor, CHANGED, before.id, rights(before), rights(after))
    return after


def _apply(
    connection: Connection, account: str, roles: Iterable[str] | None, disabled: bool | None
) -> None:
    if roles is not None:
        accounts.change_roles(connection, account, roles)
    if disabled is not None:
        accounts.disable(connection, account, disabled=disabled)


@audit.undoable(CHANGED)
def _as_before(connection: Connection, action: audit.Action) -> None:
    """Bring back what the action changed, unless that was changed again since."""
    found = accounts.find(connection, action.target)
    if found is None:
        raise audit.NotUndoableError("id", "the account is gone")
    now, before, after = rights(found), action.before, action.after
    back = {name: value for name, value in before.items() if value != after[name]}
    if newer := [name for name in back if now[name] != after[name]]:
        raise audit.NotUndoableError("id", f"{newer[0]} of the account were changed again since")
    _apply(connection, found.id, back.get("roles"), back.get("disabled"))

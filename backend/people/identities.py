"""Accounts of people for whom a provider of identities vouches."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from citywise.backend.people import accounts, administration, audit, names
from citywise.backend.people.accounts import Account
from citywise.backend.people.errors import NameTakenError, PeopleError
from citywise.backend.settings import SignIn
from citywise.backend.store.exclusion import exclude
from citywise.backend.store.models import IdentityRow
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.people")
ACTOR = "provider"
_MOST_TRIES = 1000
_MOST = 10
"""Identities of one account."""


@dataclass(frozen=True)
class Identity:
    """Who an account's person is at a provider; times are Unix milliseconds of the wall."""

    id: str
    account: str
    issuer: str
    created_ms: int
    used_ms: int


def identify(issuer: str, subject: str) -> str:
    """What stands for a person of a provider."""
    return hashlib.sha256(f"{issuer}\n{subject}".encode()).hexdigest()


def of(connection: Connection, account: str) -> list[Identity]:
    """The identities of an account, oldest first."""
    query = select(IdentityRow.__table__).where(IdentityRow.account == account)
    rows = connection.execute(query.order_by(IdentityRow.created_ms, IdentityRow.id)).mappings()
    return [Identity(**row) for row in rows]


def enter(connection: Connection, claims: Mapping[str, Any], settings: SignIn) -> Account:
    """The account of whom a provider vouches for, with the roles that its claims give; it is made
    where there is none.

    Raises `PeopleError` where there is none and none is made, or it is shut.
    """
    issuer, identity = str(claims["iss"]), identify(str(claims["iss"]), str(claims["sub"]))
    exclude(connection, "identity", identity)
    owner = _owner(connection, identity)
    roles = roles_of(claims, settings)
    if owner is None:
        if settings.accounts == "known":
            raise PeopleError(
                "account",
                "no account here is linked to yours at the provider; log in with your password "
                "and link it on the account's page",
                "not-linked",
            )
        made = _new_account(connection, claims, roles or ["user"])
        _note(connection, identity, made.id, issuer)
        after = administration.rights(made)
        audit.record(connection, ACTOR, "account.created", made.id, None, after)
        return made
    found = accounts.find(connection, owner)
    if found is None or found.disabled_ms is not None:
        raise PeopleError("account", "this account is shut; ask an admin", "shut")
    used = update(IdentityRow).where(IdentityRow.id == identity).values(used_ms=wall_ms())
    connection.execute(used)
    return _in_roles(connection, found, roles)


def link(connection: Connection, account: str, claims: Mapping[str, Any]) -> None:
    """Let whom a provider vouches for be an account that is there; raises `PeopleError` where
    they are another's."""
    issuer, identity = str(claims["iss"]), identify(str(claims["iss"]), str(claims["sub"]))
    owner = _owner(connection, identity)
    if owner == account:
        return
    if owner is not None:
        raise PeopleError("account", "this identity is linked to another account", "linked")
    if len(of(connection, account)) >= _MOST:
        raise PeopleError("account", f"an account has at most {_MOST} identities", "too-many")
    _note(connection, identity, account, issuer)


def unlink(connection: Connection, account: str, identity: str) -> bool:
    """Take one away; False where there is none. Raises `PeopleError` where nobody could log in
    any more."""
    if identity not in {found.id for found in of(connection, account)}:
        return False
    found = accounts.known(connection, account)
    if not found.has_password and len(of(connection, account)) == 1:
        raise PeopleError("account", "set a password first: this is the only way in", "only-way-in")
    connection.execute(delete(IdentityRow).where(IdentityRow.id == identity))
    return True


def roles_of(claims: Mapping[str, Any], settings: SignIn) -> list[str] | None:
    """The roles that a provider's claims give; None where it does not decide."""
    if not settings.roles:
        return None
    found: Any = claims
    for name in settings.roles_claim.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    values = {found} if isinstance(found, str) else set(_texts(found))
    wanted = (text.rpartition("=") for text in settings.roles)
    return ["user", *(role for value, _, role in wanted if value in values)]


def _texts(found: Any) -> Iterable[str]:
    return (each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


def _in_roles(connection: Connection, found: Account, roles: list[str] | None) -> Account:
    """An account, in the roles that the provider gives it from now on."""
    if roles is None or set(roles) == found.roles:
        return found
    try:
        administration.change(connection, ACTOR, found.id, roles=sorted(set(roles)))
    except PeopleError as error:
        if error.code != "last-admin":
            raise
        LOG.warning("the provider takes the role `admin` from the last admin, who keeps it")
    return accounts.known(connection, found.id)


def _new_account(
    connection: Connection, claims: Mapping[str, Any], roles: Sequence[str]
) -> Account:
    """A new account; the name is theirs, with a number where somebody has it."""
    wanted = name_of(claims)
    for number in range(1, _MOST_TRIES):
        ending = "" if number == 1 else f" {number}"
        name = wanted[: names.LONGEST - len(ending)] + ending
        if accounts.find_by_name(connection, name) is None:
            return accounts.create_without_password(connection, name, roles)
    raise NameTakenError("name", f"`{wanted}` is taken; choose another name")


def name_of(claims: Mapping[str, Any]) -> str:
    """What somebody is called, as far as a name here can be that."""
    mail = str(claims.get("email") or "").partition("@")[0]
    for text in (
        claims.get("preferred_username"),
        claims.get("name"),
        claims.get("nickname"),
        mail,
    ):
        plain = re.sub(r"[^\w.\-' ]|_", " ", str(text or "").partition("@")[0])[: names.LONGEST]
        try:
            return names.checked(plain.strip(".-' "))
        except PeopleError:
            continue
    return "Somebody"


def _owner(connection: Connection, identity: str) -> str | None:
    query = select(IdentityRow.account).where(IdentityRow.id == identity)
    found: str | None = connection.scalar(query)
    return found


def _note(connection: Connection, identity: str, account: str, issuer: str) -> None:
    now = wall_ms()
    row = {"id": identity, "account": account, "issuer": issuer}
    connection.execute(insert(IdentityRow), [{**row, "created_ms": now, "used_ms": now}])

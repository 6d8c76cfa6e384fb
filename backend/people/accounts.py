"""Accounts: who there is, by which name, and in which roles."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, exists, insert, select, update
from sqlalchemy.exc import IntegrityError

from citywise.backend.people import consents, names, passwords
from citywise.backend.people.errors import NameTakenError, PeopleError, UnknownAccountError
from citywise.backend.people.ids import DEMO, is_account, new_id
from citywise.backend.store.chunks import chunks
from citywise.backend.store.exclusion import exclude
from citywise.backend.store.models import AccountRow, IdentityRow, PasskeyRow
from citywise.backend.times import wall_ms

Role = Literal["user", "host", "developer", "admin"]
ROLES: tuple[Role, ...] = ("user", "host", "developer", "admin")
_HAS_PASSKEY = exists().where(PasskeyRow.account == AccountRow.id).label("has_passkey")
_ROWS = select(AccountRow.__table__, _HAS_PASSKEY)


@dataclass(frozen=True)
class Account:
    """A person's account; times are Unix milliseconds of the wall."""

    id: str
    name: str
    roles: frozenset[str]
    created_ms: int
    disabled_ms: int | None
    has_password: bool
    has_two_factor: bool = False


def create(
    connection: Connection, name: str, password: str, roles: Iterable[str] = ("user",)
) -> Account:
    """A new account.

    Raises `PeopleError` for a name, password or role that cannot be, `NameTakenError` for a
    name that somebody has.
    """
    return create_hashed(connection, name, hashed(name, password), roles)


def hashed(name: str, password: str) -> str:
    """What an account of a name keeps of its password; it takes long, and no connection.

    Raises `PeopleError` for a name or a password that cannot be.
    """
    return passwords.hashed(passwords.checked(password, names.checked(name)))


def create_hashed(connection: Connection, name: str, kept: str, roles: Iterable[str]) -> Account:
    """`create`, with what is kept of the password (`hashed`)."""
    return _insert(connection, new_id(), names.checked(name), kept, checked_roles(roles))


def create_without_password(connection: Connection, name: str, roles: Iterable[str]) -> Account:
    """`create`, for whom a provider of identities vouches."""
    return _insert(connection, new_id(), names.checked(name), None, checked_roles(roles))


def ensure_demo(connection: Connection) -> Account:
    """The demo's account, in all roles and consenting to everything; nobody can log in to it."""
    found = find(connection, DEMO)
    if found is None:
        found = _insert(connection, DEMO, "Demo", None, list(ROLES))
        consents.give_all(connection, DEMO)
    return found


def _insert(
    connection: Connection, account: str, name: str, password: str | None, roles: list[str]
) -> Account:
    row = {
        "id": account,
        "name": name,
        "name_key": names.key(name),
        "password": password,
        "roles": roles,
        "created_ms": wall_ms(),
        "disabled_ms": None,
        "totp_since_ms": None,
    }
    if _by_name(connection, name) is not None:
        raise _name_taken(name)
    try:
        connection.execute(insert(AccountRow), row)
    except IntegrityError:  # of two that signed up at once
        raise _name_taken(name) from None
    return _account({**row, "has_passkey": False})


def find(connection: Connection, account: str) -> Account | None:
    """The account with an id, or None."""
    row = connection.execute(_ROWS.where(AccountRow.id == account)).mappings().one_or_none()
    return None if row is None else _account(row)


def find_by_name(connection: Connection, name: str) -> Account | None:
    """The account of a name, however it is written, or None."""
    row = _by_name(connection, name)
    return None if row is None else _account(row)


def known(connection: Connection, name_or_id: str) -> Account:
    """The account with a name or an id; raises `UnknownAccountError`."""
    found = find(connection, name_or_id) or find_by_name(connection, name_or_id)
    if found is None:
        raise UnknownAccountError("name", f"there is no account `{name_or_id}`")
    return found


def listed(connection: Connection) -> list[Account]:
    """All accounts, oldest first."""
    query = _ROWS.order_by(AccountRow.created_ms, AccountRow.id)
    return [_account(row) for row in connection.execute(query).mappings()]


def gone(connection: Connection, users: Collection[str]) -> set[str]:
    """Those of some users whose ids are of accounts that there are not (any more)."""
    asked = {user for user in users if is_account(user)}
    there: set[str] = set()
    for some in chunks(asked):
        there.update(connection.scalars(select(AccountRow.id).where(AccountRow.id.in_(some))))
    return asked - there


class Proof(NamedTuple):
    """Somebody has shown the password of an account, of which `kept` is kept."""

    account: str
    kept: str
    renewed: str | None
    """What is to be kept from now on, where `kept` was made with other parameters."""


def log_in(connection: Connection, name: str, password: str) -> Account | None:
    """The account, if name and password are right and it is not disabled."""
    proof = proven(connection, name, password)
    return None if proof is None else admit(connection, proof)


def proven(connection: Connection, name: str, password: str) -> Proof | None:
    """Whose name and password these are; it takes long, and writes nothing.

    It takes as long where there is no such name, so that nobody learns which names there are.
    """
    row = _by_name(connection, name[: names.LONGEST * 4])
    kept = None if row is None else row["password"]
    if not passwords.matches(kept, password[: passwords.LONGEST * 4]):
        return None
    assert row is not None
    assert kept is not None
    if row["disabled_ms"] is not None:
        return None
    renewed = passwords.hashed(password) if passwords.is_outdated(kept) else None
    return Proof(row["id"], kept, renewed)


def admit(connection: Connection, proof: Proof) -> Account | None:
    """The account of a proof, unless it has another password now or is disabled. Who changes how
    it logs in waits until this transaction ends: its end of all logins is to find this one."""
    _hold(connection, proof.account)
    query = _ROWS.where(AccountRow.id == proof.account)
    row = connection.execute(query).mappings().one_or_none()
    if row is None or row["password"] != proof.kept or row["disabled_ms"] is not None:
        return None
    if proof.renewed is not None:
        keep(connection, proof.account, proof.renewed)
    return _account(row)


def held(connection: Connection, account: str) -> Account:
    """The account with an id, whose ways to log in nobody else changes until this transaction
    ends; raises `UnknownAccountError`."""
    _hold(connection, account)
    return known(connection, account)


def _hold(connection: Connection, account: str) -> None:
    # A statement of its own: what is read with the lock is from before the wait for it.
    connection.execute(select(AccountRow.id).where(AccountRow.id == account).with_for_update())


def has_password(connection: Connection, account: str, password: str) -> bool:
    """Whether a password is that of an account."""
    query = select(AccountRow.password).where(AccountRow.id == account)
    return passwords.matches(connection.scalar(query), password)


def rename(connection: Connection, account: str, name: str) -> None:
    """Give an account another name; raises as `create` does."""
    shown = names.checked(name)
    other = _by_name(connection, shown)
    if other is not None and other["id"] != account:
        raise _name_taken(shown)
    try:
        _set(connection, account, name=shown, name_key=names.key(shown))
    except IntegrityError:
        raise _name_taken(shown) from None


def change_password(connection: Connection, account: str, password: str) -> None:
    """Give an account another password; its logins stay (see `logins.close_all`)."""
    keep(connection, account, hashed(known(connection, account).name, password))


def keep(connection: Connection, account: str, kept: str) -> None:
    """`change_password`, with what is kept of it (`hashed`)."""
    _set(connection, account, password=kept)


def change_roles(connection: Connection, account: str, roles: Iterable[str]) -> None:
    """Give an account other roles.

    Raises `PeopleError` where nobody would be left who can give roles.
    """
    wanted = checked_roles(roles)
    if "admin" not in wanted:
        refuse_last_admin(connection, account)
    _set(connection, account, roles=wanted)


def disable(connection: Connection, account: str, *, disabled: bool) -> None:
    """Shut an account out, or let it in again; nothing of it is removed.

    Raises `PeopleError` where nobody would be left who can give roles.
    """
    if disabled:
        refuse_last_admin(connection, account)
    _set(connection, account, disabled_ms=wall_ms() if disabled else None)


def has_admin(connection: Connection) -> bool:
    """Whether somebody who can log in is an admin."""
    return bool(_admins(connection))


def _admins(connection: Connection) -> set[str]:
    """Who is an admin and has a way to log in."""
    known = set(connection.scalars(select(IdentityRow.account)))
    return {
        found.id
        for found in listed(connection)
        if "admin" in found.roles
        and found.disabled_ms is None
        and (found.has_password or found.id in known)
    }


def refuse_last_admin(connection: Connection, account: str) -> None:
    """Raises `PeopleError` where nobody else is left who can give roles.

    Of two who would go at once, the second waits for the first.
    """
    exclude(connection, "admins", "")
    if _admins(connection) == {account}:
        message = "this is the last admin; make somebody else one first"
        raise PeopleError("roles", message, "last-admin")


def checked_roles(roles: Iterable[str]) -> list[str]:
    wanted = set(roles)
    if unknown := sorted(wanted - set(ROLES)):
        raise PeopleError("roles", f"`{unknown[0]}` is not one of {', '.join(ROLES)}")
    return [role for role in ROLES if role in wanted | {"user"}]


def _set(connection: Connection, account: str, **values: object) -> None:
    changed = update(AccountRow).where(AccountRow.id == account).values(**values)
    if not connection.execute(changed).rowcount:
        raise UnknownAccountError("account", f"there is no account `{account}`")


def _by_name(connection: Connection, name: str) -> Any:
    query = _ROWS.where(AccountRow.name_key == names.key(name))
    return connection.execute(query).mappings().one_or_none()


def _name_taken(name: str) -> NameTakenError:
    return NameTakenError("name", f"`{name}` is taken; choose another name")


def _account(row: Any) -> Account:
    return Account(
        row["id"],
        row["name"],
        frozenset(row["roles"]),
        row["created_ms"],
        row["disabled_ms"],
        row["password"] is not None,
        row["totp_since_ms"] is not None or row["has_passkey"],
    )

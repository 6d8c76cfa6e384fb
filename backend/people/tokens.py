"""Tokens of devices: what a phone or a script shows instead of a password.

At the broker, a token's id is the user name and its secret the password.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from citywise.backend.people.accounts import Account, find
from citywise.backend.people.errors import PeopleError
from citywise.backend.people.scopes import Scope
from citywise.backend.people.secret import broker_hash, digest, new_secret
from citywise.backend.store.models import AccountRow, ReceiverRow, TokenRow
from citywise.backend.times import wall_ms

Right = Literal["context", "notices", "sensors", "places", "all"]
RIGHTS: tuple[Right, ...] = ("context", "notices", "sensors", "places", "all")
"""`context`: tell the own context; `notices`: read and answer the own notices; `sensors`:
publish readings and events; `places`: publish, change and remove places; `all`: whatever the
account may, but for the account itself and for the city (`OF_CITY`)."""
OF_CITY: frozenset[Right] = frozenset({"sensors", "places"})
"""What is sent with these is told to all: only admins give them, and `all` is without them."""
_MOST = 50
_SEEN_EVERY_MS = 60_000


@dataclass(frozen=True)
class Token:
    """A device's token, without its secret; times are Unix milliseconds of the wall."""

    id: str
    account: str
    label: str
    rights: frozenset[str]
    created_ms: int
    used_ms: int | None
    expires_ms: int | None
    scope: Scope | None = None
    """What its rights `OF_CITY` are limited to."""


def issue(
    connection: Connection,
    account: str,
    label: str,
    rights: Iterable[str],
    expires_ms: int | None = None,
    scope: Scope | None = None,
) -> tuple[Token, str]:
    """A new token and its secret, which is kept nowhere; the bearer text is `id.secret`.

    Raises `PeopleError` for an unknown right, or where an account has too many tokens.
    """
    wanted = _checked(rights)
    if scope is not None and not OF_CITY.intersection(wanted):
        raise PeopleError("scope", "only the rights sensors and places have a scope")
    title = " ".join(label.split())
    if not 1 <= len(title) <= 100 or not title.isprintable():
        raise PeopleError("label", "expected 1 to 100 characters that say which device it is")
    count = select(func.count()).where(TokenRow.account == account)
    if (connection.scalar(count) or 0) >= _MOST:
        message = f"{_MOST} devices have tokens; remove one first"
        raise PeopleError("label", message, "too-many-devices")
    secret, identity = new_secret(), "d-" + secrets.token_hex(8)
    row = {
        "id": identity,
        "account": account,
        "label": title,
        "rights": wanted,
        "secret": digest(secret),
        "broker_hash": broker_hash(secret),
        "created_ms": wall_ms(),
        "used_ms": None,
        "expires_ms": expires_ms,
        "scope": None if scope is None else scope.model_dump(mode="json", exclude_defaults=True),
    }
    connection.execute(insert(TokenRow), row)
    return _token(row), secret


def find_token(connection: Connection, bearer: str) -> tuple[Token, Account] | None:
    """The token of a bearer text and its account; None if there is none (any more)."""
    identity, _, secret = bearer.partition(".")
    row = _row(connection, identity)
    if row is None or not secrets.compare_digest(row["secret"], digest(secret)):
        return None
    if row["expires_ms"] is not None and row["expires_ms"] <= wall_ms():
        return None
    account = find(connection, row["account"])
    if account is None or account.disabled_ms is not None:
        return None
    return _token(row), account


def is_due(token: Token) -> bool:
    """Whether `use` would write."""
    return wall_ms() - (token.used_ms or 0) >= _SEEN_EVERY_MS


def use(connection: Connection, token: Token) -> None:
    """Note that a token is used, at most once a minute."""
    if is_due(token):
        used = update(TokenRow).where(TokenRow.id == token.id).values(used_ms=wall_ms())
        connection.execute(used)


def of(connection: Connection, account: str) -> list[Token]:
    """The tokens of an account, oldest first."""
    query = select(TokenRow.__table__).where(TokenRow.account == account)
    rows = connection.execute(query.order_by(TokenRow.created_ms, TokenRow.id)).mappings()
    return [_token(row) for row in rows]


def valid(connection: Connection) -> list[tuple[Token, str]]:
    """All tokens that let anybody in now, each with its hash for the broker.

    The rights `OF_CITY` last as long as their account's role admin.
    """
    query = (
        select(TokenRow.__table__, AccountRow.roles)
        .join(AccountRow, AccountRow.id == TokenRow.account)
        .where(AccountRow.disabled_ms.is_(None))
        .order_by(TokenRow.id)
    )
    now, found = wall_ms(), []
    for row in connection.execute(query).mappings():
        rights = [r for r in row["rights"] if r not in OF_CITY or "admin" in row["roles"]]
        if rights and (row["expires_ms"] is None or row["expires_ms"] > now):
            found.append((_token({**row, "rights": rights}), row["broker_hash"]))
    return found


def revoke(connection: Connection, account: str, token: str) -> bool:
    """Take a token back, and forget how far its device was told; False if there is none."""
    wanted = delete(TokenRow).where(TokenRow.id == token, TokenRow.account == account)
    if not connection.execute(wanted).rowcount:
        return False
    connection.execute(delete(ReceiverRow).where(ReceiverRow.device == token))
    return True


def revoke_all(connection: Connection, account: str) -> None:
    """Take all tokens of an account back."""
    for token in of(connection, account):
        revoke(connection, account, token.id)


def _checked(rights: Iterable[str]) -> list[str]:
    wanted = set(rights)
    if unknown := sorted(wanted - set(RIGHTS)):
        raise PeopleError("rights", f"`{unknown[0]}` is not one of {', '.join(RIGHTS)}")
    if not wanted:
        raise PeopleError("rights", f"give at least one of {', '.join(RIGHTS)}")
    return [right for right in RIGHTS if right in wanted]


def _row(connection: Connection, identity: str) -> Any:
    query = select(TokenRow.__table__).where(TokenRow.id == identity)
    return connection.execute(query).mappings().one_or_none()


def _token(row: Any) -> Token:
    names = ("id", "account", "label", "created_ms", "used_ms", "expires_ms")
    scope, rights = Scope.of(row["scope"]), frozenset(row["rights"])
    return Token(rights=rights, scope=scope, **{name: row[name] for name in names})

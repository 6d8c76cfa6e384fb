"""Browsers that are logged in, each known by a cookie with a random secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, true, update

from citywise.backend.outgoing.subscriptions import end_pushes, of_login
from citywise.backend.people.accounts import Account, find
from citywise.backend.people.secret import digest, new_secret
from citywise.backend.store.models import LoginRow, SubscriptionRow
from citywise.backend.times import wall_ms

_SEEN_EVERY_MS = 60_000
_MOST = 50
"""Logins of one account; the oldest make room."""


@dataclass(frozen=True)
class Login:
    """A browser that is logged in; times are Unix milliseconds of the wall."""

    id: str
    account: str
    csrf: str
    created_ms: int
    seen_ms: int
    expires_ms: int
    agent: str
    issuer: str = ""


def open_login(
    connection: Connection, account: str, hours: float, agent: str = "", issuer: str = ""
) -> tuple[Login, str]:
    """Log a browser in; returns the login and the secret for its cookie."""
    secret, now = new_secret(), wall_ms()
    expires = now + round(hours * 3_600_000)
    login = Login(digest(secret), account, new_secret(), now, now, expires, agent[:200], issuer)
    connection.execute(insert(LoginRow), vars(login))
    for old in of(connection, account)[_MOST:]:
        close(connection, account, old.id)
    return login, secret


def find_login(connection: Connection, secret: str) -> tuple[Login, Account] | None:
    """The login of a cookie and its account; None if it is over or the account disabled."""
    query = select(LoginRow.__table__).where(LoginRow.id == digest(secret))
    row = connection.execute(query).mappings().one_or_none()
    if row is None or row["expires_ms"] <= wall_ms():
        return None
    account = find(connection, row["account"])
    if account is None or account.disabled_ms is not None:
        return None
    return _login(row), account


def see(connection: Connection, login: Login) -> None:
    """Note that a login is used, at most once a minute."""
    if is_due(login):
        seen = update(LoginRow).where(LoginRow.id == login.id).values(seen_ms=wall_ms())
        connection.execute(seen)


def is_due(login: Login) -> bool:
    """Whether `see` would write."""
    return wall_ms() - login.seen_ms >= _SEEN_EVERY_MS


def of(connection: Connection, account: str) -> list[Login]:
    """The logins of an account, the last used first."""
    query = select(LoginRow.__table__).where(
        LoginRow.account == account, LoginRow.expires_ms > wall_ms()
    )
    rows = connection.execute(query.order_by(LoginRow.seen_ms.desc(), LoginRow.id)).mappings()
    return [_login(row) for row in rows]


def close(connection: Connection, account: str, login: str) -> bool:
    """End one login of an account; False if there is none."""
    wanted = delete(LoginRow).where(LoginRow.id == login, LoginRow.account == account)
    end_pushes(connection, SubscriptionRow.account == account, of_login == login)
    return bool(connection.execute(wanted).rowcount)


def close_all(connection: Connection, account: str, but: str | None = None) -> None:
    """End all logins of an account, but one."""
    wanted = delete(LoginRow).where(LoginRow.account == account)
    connection.execute(wanted if but is None else wanted.where(LoginRow.id != but))
    others = (of_login.is_(None) | (of_login != but)) if but is not None else true()
    end_pushes(connection, SubscriptionRow.account == account, others)


def trim(connection: Connection) -> None:
    """Remove what has expired."""
    connection.execute(delete(LoginRow).where(LoginRow.expires_ms <= wall_ms()))
    end_pushes(connection, of_login.not_in(select(LoginRow.id)))


def _login(row: Any) -> Login:
    return Login(**row)

"""Who reads an event stream, by what right, and whether they still have it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy import ColumnElement, Connection, or_, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute

from citywise.backend.packs.parts import Channels
from citywise.backend.people.ids import channel, is_test_person, of_channel
from citywise.backend.people.principal import Principal
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import AccountRow, LoginRow, TokenRow
from citywise.backend.times import wall_ms

LOG = logging.getLogger(__name__)
NONE: Mapping[str, Channels] = MappingProxyType({})
"""Of a system whose apps have no channels."""


@dataclass(frozen=True)
class Reader:
    """Who reads a stream: `user` is whose notices it gets (None: none), the others say by
    what right; when it ends, so does the stream."""

    user: str | None = None
    account: str | None = None
    login: str | None = None
    device: str | None = None
    """Ids of the account that asked, and of its login or of its device's token."""
    address: str | None = None
    """Where it reads, if it has no account."""

    @classmethod
    def of(cls, principal: Principal, user: str | None, address: str) -> Reader:
        """Who asks, from an address, for the notices to `user`."""
        login = None if principal.login is None else principal.login.id
        nobodys = address if principal.user is None else None
        return cls(user, principal.user, login, principal.device, nobodys)

    @property
    def opener(self) -> tuple[str | None, str | None]:
        """Whose streams are counted together: an account's, or an address's."""
        return self.account, self.address


def unentitled(
    connection: Connection, readers: Collection[Reader], channels: Mapping[str, Channels] = NONE
) -> set[Reader]:
    """Those of some readers whose account is gone or disabled, or whose login or token is; who
    reads for a test person, and is no developer any more; and who has no account, and reads a
    channel that its app (`channels`, by the app's name) leaves open no longer."""
    now = wall_ms()
    expires = or_(TokenRow.expires_ms.is_(None), TokenRow.expires_ms > now)
    accounts = _there(
        connection, AccountRow.id, AccountRow.disabled_ms.is_(None), [r.account for r in readers]
    )
    logins = _there(connection, LoginRow.id, LoginRow.expires_ms > now, [r.login for r in readers])
    devices = _there(connection, TokenRow.id, expires, [r.device for r in readers])
    of_tests = {r for r in readers if r.user is not None and is_test_person(r.user)}
    developers = _developers(connection, [r.account for r in of_tests])
    closed = _closed(connection, [r.user for r in readers if r.account is None], channels)
    return {
        reader
        for reader in readers
        if not (reader.account in accounts and reader.login in logins and reader.device in devices)
        or (reader in of_tests and reader.account not in {None, *developers})
        or (reader.account is None and reader.user in closed)
    }


def _closed(
    connection: Connection, users: Iterable[str | None], channels: Mapping[str, Channels]
) -> set[str]:
    """Those of some ids that are channels which nobody may read without an account (any more)."""
    asked: dict[str, set[str]] = {}
    for app, name in filter(None, (of_channel(user) for user in users if user is not None)):
        asked.setdefault(app, set()).add(name)
    return {
        channel(app, name)
        for app, names in asked.items()
        for name in names.difference(_open(connection, app, names, channels.get(app)))
    }


def _open(
    connection: Connection, app: str, names: Collection[str], channels: Channels | None
) -> Collection[str]:
    if channels is None:
        return ()
    try:
        return {name for some in chunks(names) for name in channels(connection, some)}
    except SQLAlchemyError:
        raise
    except Exception:  # An app's mistake ends its own streams, and nobody else's.
        LOG.exception("app `%s` cannot say which of its channels are open", app)
        return ()


def _developers(connection: Connection, ids: Iterable[str | None]) -> set[str]:
    found: set[str] = set()
    for some in chunks(one for one in ids if one is not None):
        rows = select(AccountRow.id, AccountRow.roles).where(AccountRow.id.in_(some))
        found.update(account for account, roles in connection.execute(rows) if "developer" in roles)
    return found


def _there(
    connection: Connection,
    column: InstrumentedAttribute[str],
    valid: ColumnElement[bool],
    ids: Iterable[str | None],
) -> set[str | None]:
    """Those of some ids that are there and valid; None, where nothing is needed, always is."""
    found: set[str | None] = {None}
    for some in chunks(one for one in ids if one is not None):
        found.update(connection.scalars(select(column).where(column.in_(some), valid)))
    return found

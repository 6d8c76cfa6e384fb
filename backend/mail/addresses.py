"""People's addresses, each shown to be theirs by a link; and what the links in letters do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from citywise.backend.people import accounts, logins
from citywise.backend.people.errors import PeopleError
from citywise.backend.people.secret import digest, new_secret
from citywise.backend.store.models import LetterRow, MailAddressRow, MailSecretRow
from citywise.backend.times import wall_ms

Purpose = Literal["verify", "reset"]
LASTS_MS: dict[Purpose, int] = {"verify": 24 * 3_600_000, "reset": 30 * 60_000}
"""For how long a link can be used."""
_PAUSE_MS = 5 * 60_000
LONGEST = 254
"""RFC 5321, 4.5.3.1.3."""
_FORM = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}"
)
"""What HTML lets people write as an address: no comments, no quotes, no control characters."""


class LinkOverError(PeopleError):
    """A link has been used, has expired, or there was no such link."""


@dataclass(frozen=True)
class MailAddress:
    """Where somebody is written to, as `MailAddressRow` has it."""

    account: str
    address: str | None
    wanted: str | None
    language: str
    unsubscribe: str
    error: str | None
    since_ms: int
    hour_ms: int
    hour_count: int


def checked(text: str) -> str:
    """An address that a letter can be sent to; raises `PeopleError`."""
    found = text.strip()
    try:
        local, _, host = found.rpartition("@")
        found = f"{local}@{host.encode('idna').decode()}" if local and host else found
    except UnicodeError:
        found = ""
    if len(found) > LONGEST or not _FORM.fullmatch(found):
        message = "expected an address such as ann@example.org"
        raise PeopleError("address", message, "mail-address")
    return found


def of(connection: Connection, account: str) -> MailAddress | None:
    """The address of an account, where it has said one."""
    query = select(MailAddressRow.__table__).where(MailAddressRow.account == account)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else MailAddress(**row)


def want(connection: Connection, account: str, address: str, language: str) -> None:
    """Have letters sent to an address from when it was shown to be theirs; until then to the one
    before. The link is sent by a letter `verify`. Raises `PeopleError`."""
    values = {"wanted": checked(address), "language": language}
    if of(connection, account) is None:
        row = {**values, "account": account, "unsubscribe": new_secret(), "since_ms": wall_ms()}
        connection.execute(insert(MailAddressRow), {**row, "hour_ms": 0, "hour_count": 0})
    else:
        _set(connection, account, **values)


def speak(connection: Connection, account: str, language: str) -> None:
    """Write to somebody in another language from now on."""
    _set(connection, account, language=language)


def fail(connection: Connection, account: str, error: str) -> None:
    """Note that letters to somebody come back."""
    _set(connection, account, error=error[:500])


def is_written_to(connection: Connection, account: str, address: str) -> bool:
    """Whether an address is the one that somebody has, or, if they have none yet, wants: one they
    had, or would have instead, says nothing of it."""
    found = of(connection, account)
    return found is not None and address == (found.address or found.wanted)


def counted(connection: Connection, account: str, hour_ms: int, count: int) -> None:
    """Note how many letters with alerts somebody got since `hour_ms`."""
    _set(connection, account, hour_ms=hour_ms, hour_count=count)


def remove(connection: Connection, account: str) -> None:
    """Write to somebody no more: neither their address nor what was waiting is kept."""
    for row in (MailAddressRow, MailSecretRow, LetterRow):
        connection.execute(delete(row).where(row.account == account))


def _set(connection: Connection, account: str, **values: object) -> None:
    row = MailAddressRow
    connection.execute(update(row).where(row.account == account).values(**values))


# -- links --------------------------------------------------------------------------------


def issue(connection: Connection, purpose: Purpose, account: str, address: str) -> str:
    """The secret of a new link; those before it for the same purpose are void."""
    row, secret = MailSecretRow, new_secret()
    connection.execute(delete(row).where(row.expires_ms <= wall_ms()))
    connection.execute(delete(row).where(row.account == account, row.purpose == purpose))
    values = {"id": digest(secret), "account": account, "purpose": purpose, "address": address}
    connection.execute(insert(row), {**values, "expires_ms": wall_ms() + LASTS_MS[purpose]})
    return secret


def was_just_issued(connection: Connection, purpose: Purpose, account: str) -> bool:
    """Whether somebody was sent such a link within minutes: nobody's box is filled with them."""
    row, since = MailSecretRow, wall_ms() - _PAUSE_MS
    mine = (row.account == account, row.purpose == purpose)
    query = select(row.id).where(*mine, row.expires_ms > since + LASTS_MS[purpose])
    return connection.scalar(query.limit(1)) is not None


def whose(connection: Connection, purpose: Purpose, secret: str) -> str:
    """The account that a link is of; raises `LinkOverError`."""
    return _found(connection, purpose, secret)[0]


def verify(connection: Connection, secret: str) -> tuple[str, str | None]:
    """Use a link that shows that an address is somebody's; returns the account, and the address
    it had before. Raises `LinkOverError`."""
    account, address = _taken(connection, "verify", secret)
    found = of(connection, account)
    if found is None or found.wanted != address:
        raise _over()
    values = {"address": address, "wanted": None, "error": None, "since_ms": wall_ms()}
    _set(connection, account, **values)
    return account, found.address if found.address != address else None


def reset(connection: Connection, secret: str, kept: str) -> str:
    """Use a link for another password, of which `kept` is kept (`accounts.hashed`): all logins
    end, and what else it takes to log in stays. Returns the account; raises `LinkOverError`."""
    account, address = _taken(connection, "reset", secret)
    found = of(connection, account)
    if found is None or found.address != address:
        raise _over()
    accounts.keep(connection, account, kept)
    logins.close_all(connection, account)
    return account


def unsubscriber(connection: Connection, secret: str) -> str | None:
    """Who is meant by the link that ends alerts by e-mail."""
    row = MailAddressRow
    return connection.scalar(select(row.account).where(row.unsubscribe == secret))


def those_called(connection: Connection, asked: str, most: int) -> list[str]:
    """Accounts that somebody may mean who has forgotten their password: of this name, or with
    this address, shown to be theirs. Only who can log in with a password."""
    found = []
    if (named := accounts.find_by_name(connection, asked)) is not None:
        found.append(named.id)
    row = MailAddressRow
    same = func.lower(row.address) == asked.strip().lower()
    found += connection.scalars(select(row.account).where(same).order_by(row.account).limit(most))
    known = (accounts.find(connection, each) for each in dict.fromkeys(found))
    return [one.id for one in known if one and one.has_password and one.disabled_ms is None][:most]


def _taken(connection: Connection, purpose: Purpose, secret: str) -> tuple[str, str]:
    """Of two who use a link at once, one is too late."""
    found = _found(connection, purpose, secret)
    gone = delete(MailSecretRow).where(MailSecretRow.id == digest(secret))
    if not connection.execute(gone).rowcount:
        raise _over()
    return found


def _found(connection: Connection, purpose: Purpose, secret: str) -> tuple[str, str]:
    row = MailSecretRow
    query = select(row.account, row.address).where(
        row.id == digest(secret), row.purpose == purpose, row.expires_ms > wall_ms()
    )
    found = connection.execute(query).one_or_none()
    if found is None:
        raise _over()
    return found.account, found.address


def _over() -> LinkOverError:
    message = "this link has been used or has expired; ask for another"
    return LinkOverError("secret", message, "link-over")

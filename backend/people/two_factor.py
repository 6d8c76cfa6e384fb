"""The second step of a log-in: a code of an authenticator app (TOTP, RFC 6238), or a recovery code,
which stands for a passkey, too.

An account's secret is kept as it is: to compare a code, it has to be known. Recovery codes are
kept as digests, and each is good once; so is each code of the app.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from sqlalchemy import Connection, delete, func, insert, or_, select, update

from citywise.backend.people import passkeys
from citywise.backend.people.accounts import Account, known
from citywise.backend.people.errors import PeopleError
from citywise.backend.people.secret import digest
from citywise.backend.store.models import AccountRow, RecoveryCodeRow
from citywise.backend.times import wall_ms

STEP_S = 30
"""How long a code is shown."""
_DIGITS = 6
_EARLY_LATE = (0, -1, 1)
"""Steps by which the clock of a phone may be off."""
_SECRET_BYTES = 20
RECOVERY_CODES = 10
_RECOVERY_BYTES = 10
"""80 bits: nobody finds one by its digest."""
_RECOVERY_LENGTH = 16


@dataclass(frozen=True)
class Standing:
    """Since when an account logs in with two steps (Unix ms; None: with one), and how many
    recovery codes it has left."""

    since_ms: int | None
    recovery_left: int


def acting_roles(
    account: Account, needing: Collection[str], *, by_provider: bool = False
) -> frozenset[str]:
    """The roles in which somebody may act: without two-factor sign-in, all but those that need
    it. Whoever logged in at a provider of identities keeps them all: the provider asks for the
    second step."""
    if account.has_two_factor or by_provider:
        return account.roles
    return account.roles - set(needing)


def standing(connection: Connection, account: str) -> Standing:
    """How an account logs in."""
    since = connection.scalar(select(AccountRow.totp_since_ms).where(AccountRow.id == account))
    codes = select(func.count()).where(RecoveryCodeRow.account == account)
    return Standing(since, connection.scalar(codes) or 0)


def begin(connection: Connection, account: str) -> str:
    """A new secret for an authenticator app, in base 32; it counts once `confirm` has seen a code.

    Raises `PeopleError` where two steps are set up already, or no password is the first.
    """
    secret = base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    kept = update(AccountRow).where(
        AccountRow.id == account,
        AccountRow.password.is_not(None),
        AccountRow.totp_since_ms.is_(None),
    )
    if not connection.execute(kept.values(totp_secret=secret, totp_step=None)).rowcount:
        raise PeopleError(
            "account",
            "two-factor sign-in is on already, or the account has no password",
            "two-factor-on",
        )
    return secret


def confirm(connection: Connection, account: str, code: str) -> list[str] | None:
    """Have two steps from now on, if a code is right; returns the recovery codes, None if not.

    It waits for whoever is just logging in with one step (`accounts.admit`).
    """
    query = select(AccountRow.totp_since_ms).where(AccountRow.id == account).with_for_update()
    if connection.scalar(query) is not None or not _take_code(connection, account, code):
        return None
    on = update(AccountRow).where(AccountRow.id == account).values(totp_since_ms=wall_ms())
    connection.execute(on)
    return renew_recovery(connection, account)


def is_right(connection: Connection, account: str, code: str) -> bool:
    """Whether a code is that of the app now, or a recovery code; it is used up by that."""
    plain = "".join(code.split()).replace("-", "").lower()
    if len(plain) == _RECOVERY_LENGTH:
        used = delete(RecoveryCodeRow).where(
            RecoveryCodeRow.account == account, RecoveryCodeRow.id == _code_digest(account, plain)
        )
        return bool(connection.execute(used).rowcount)
    since = connection.scalar(select(AccountRow.totp_since_ms).where(AccountRow.id == account))
    return since is not None and _take_code(connection, account, plain)


def renew_recovery(connection: Connection, account: str) -> list[str]:
    """New recovery codes, shown this once; the old ones are void."""
    connection.execute(delete(RecoveryCodeRow).where(RecoveryCodeRow.account == account))
    made = [
        base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode().lower()
        for _ in range(RECOVERY_CODES)
    ]
    rows = [{"id": _code_digest(account, code), "account": account} for code in made]
    connection.execute(insert(RecoveryCodeRow), rows)
    return ["-".join(code[i : i + 4] for i in range(0, len(code), 4)) for code in made]


def end(connection: Connection, account: str) -> None:
    """Do without an authenticator app from now on."""
    none = {"totp_secret": None, "totp_since_ms": None, "totp_step": None}
    connection.execute(update(AccountRow).where(AccountRow.id == account).values(**none))
    _settle(connection, account)


def remove_passkey(connection: Connection, account: str, passkey: str) -> bool:
    """Do without a passkey from now on; False if the account has no such one."""
    was_there = passkeys.remove(connection, account, passkey)
    _settle(connection, account)
    return was_there


def end_all(connection: Connection, account: str) -> bool:
    """Log in with a password alone from now on; False if it was so."""
    had_two = known(connection, account).has_two_factor
    for passkey in passkeys.of(connection, account):
        passkeys.remove(connection, account, passkey.id)
    end(connection, account)
    return had_two


def _settle(connection: Connection, account: str) -> None:
    """Without a second step there is nothing that recovery codes would stand for."""
    if not known(connection, account).has_two_factor:
        connection.execute(delete(RecoveryCodeRow).where(RecoveryCodeRow.account == account))


def address(secret: str, name: str, city: str) -> str:
    """What an authenticator app reads of a QR code (`otpauth://…`)."""
    return _generator(secret).get_provisioning_uri(name, city)


def code_at(secret: str, at_s: float) -> str:
    """The code of a secret at a time (Unix seconds)."""
    return _generator(secret).generate(int(at_s)).decode()


def _take_code(connection: Connection, account: str, code: str) -> bool:
    """Whether a code is right now and was not used before; of two that use it at once, one."""
    secret = connection.scalar(select(AccountRow.totp_secret).where(AccountRow.id == account))
    if secret is None:
        return False
    now, given = wall_ms() // (STEP_S * 1000), "".join(code.split()).encode()
    for step in (now + off for off in _EARLY_LATE):
        if hmac.compare_digest(code_at(secret, step * STEP_S).encode(), given):
            taken = update(AccountRow).where(
                AccountRow.id == account,
                or_(AccountRow.totp_step.is_(None), AccountRow.totp_step < step),
            )
            return bool(connection.execute(taken.values(totp_step=step)).rowcount)
    return False


def _generator(secret: str) -> TOTP:
    # SHA-1, six digits and 30 s are what every authenticator app can do.
    return TOTP(base64.b32decode(secret), _DIGITS, SHA1(), STEP_S)  # noqa: S303


def _code_digest(account: str, code: str) -> str:
    """The digest of a recovery code. The account is part of it, so that the same code has
    different digests in two accounts."""
    return digest(f"{account}\n{code}")

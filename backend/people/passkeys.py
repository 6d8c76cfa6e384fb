"""Passkeys (WebAuthn): keys on somebody's devices, each of which signs for this city alone.

A browser answers a challenge: the answer names the page's origin, so that nobody gets one by a page
that only looks like ours. Of a passkey its public key is kept, and how often it has signed.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import json
import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from citywise.backend.people.accounts import Account, find
from citywise.backend.people.errors import PeopleError
from citywise.backend.people.secret import digest
from citywise.backend.store.models import PasskeyRow
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.passkeys")
LIFE_S = 300
"""How long a challenge may be answered."""
MOST = 20
"""Passkeys of one account."""
_LONGEST_NAME = 60
_LONGEST_ID = 1023
"""Of a credential, in bytes (WebAuthn, section 5.1)."""
_ALGORITHMS = (-8, -7, -257)
"""EdDSA, ECDSA with SHA-256, RSA with SHA-256: what the library takes if nothing else is said."""

Response = Mapping[str, Any]
"""What a browser gives (`PublicKeyCredential.toJSON()`)."""


@dataclass(frozen=True)
class Passkey:
    """One passkey of an account; times are Unix milliseconds of the wall."""

    id: str
    name: str
    created_ms: int
    used_ms: int | None


@dataclass(frozen=True)
class Party:
    """For whom a passkey signs (WebAuthn's relying party): a host, and its pages' origin."""

    host: str
    origin: str

    @classmethod
    def of(cls, address: str) -> Party | None:
        """The party of the pages' address; None where browsers have no passkeys: for an IP
        address, and without HTTPS for all but this machine."""
        parts = urlsplit(address)
        try:
            host = (parts.hostname or "").encode("idna").decode()
            port = parts.port
        except ValueError:
            return None
        is_local = host == "localhost" or host.endswith(".localhost")
        if not host or _is_number(host) or not (parts.scheme == "https" or is_local):
            return None
        usual = {"https": 443, "http": 80}[parts.scheme]
        at = "" if port in (None, usual) else f":{port}"
        return cls(host, f"{parts.scheme}://{host}{at}")


class Challenges:
    """Makes challenges, and takes each once: for the purpose it was made for, within `LIFE_S`.

    A challenge has its end and a seal of this process in it. Nothing is kept of one that has not
    come back, so that whoever asks for many takes no memory and no other's place.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._taken: dict[bytes, int] = {}

    def new(self, purpose: str) -> bytes:
        """A challenge that nobody can guess."""
        head = secrets.token_bytes(16) + (wall_ms() + LIFE_S * 1000).to_bytes(8)
        return head + self._seal(head, purpose)

    def take(self, challenge: bytes, purpose: str) -> bool:
        """Whether a challenge is one of ours for a purpose, is not over, and comes first now."""
        head, now = challenge[:24], wall_ms()
        if not hmac.compare_digest(challenge[24:], self._seal(head, purpose)):
            return False
        until = int.from_bytes(head[16:])
        for old in [old for old, end in self._taken.items() if end <= now]:
            del self._taken[old]
        if until <= now or challenge in self._taken:
            return False
        self._taken[challenge] = until
        return True

    def _seal(self, head: bytes, purpose: str) -> bytes:
        return hmac.digest(self._key, head + purpose.encode(), "sha256")


# -- what a browser is asked --------------------------------------------------------------


def creation(
    connection: Connection, account: Account, party: Party, challenge: bytes
) -> dict[str, Any]:
    """What a browser is asked to make a passkey (`PublicKeyCredentialCreationOptionsJSON`)."""
    named = {"name": account.name, "displayName": account.name}
    return {
        "rp": {"id": party.host, "name": "Citywise"},
        "user": {"id": _text(account.id.encode()), **named},
        "challenge": _text(challenge),
        "pubKeyCredParams": [{"type": "public-key", "alg": number} for number in _ALGORITHMS],
        "timeout": LIFE_S * 1000,
        "excludeCredentials": _described(connection, account.id),
        # On the device, if it can, so that it is found without a name.
        "authenticatorSelection": {"residentKey": "preferred", "userVerification": "preferred"},
        "attestation": "none",
    }


def question(party: Party, challenge: bytes) -> dict[str, Any]:
    """What a browser is asked to sign with any passkey of this city
    (`PublicKeyCredentialRequestOptionsJSON`): its device asks for a finger or a PIN."""
    return _question(party, challenge, [], "required")


def question_to(
    connection: Connection, account: str, party: Party, challenge: bytes
) -> dict[str, Any]:
    """`question`, of the passkeys of one account, as its second step."""
    return _question(party, challenge, _described(connection, account), "preferred")


def _question(
    party: Party, challenge: bytes, allowed: Sequence[Mapping[str, str]], verification: str
) -> dict[str, Any]:
    return {
        "rpId": party.host,
        "challenge": _text(challenge),
        "timeout": LIFE_S * 1000,
        "allowCredentials": allowed,
        "userVerification": verification,
    }


def challenge_of(response: Response) -> bytes:
    """The challenge that a browser's answer is for; raises `PeopleError`."""
    with _reading():
        told = json.loads(_bytes(response["response"]["clientDataJSON"]))
        return _bytes(told["challenge"])


# -- what it answers ----------------------------------------------------------------------


def add(
    connection: Connection,
    account: str,
    name: str,
    response: Response,
    party: Party,
    challenge: bytes,
) -> Passkey:
    """Keep a passkey that a browser has made.

    Raises `PeopleError` where it answers something else, is known already, has a name that
    cannot be, or one too many.
    """
    # Here, as few need it, and every web process would wait for it.
    from webauthn import verify_registration_response

    title = _title(name)
    if len(of(connection, account)) >= MOST:
        message = f"{MOST} is the most; remove one first"
        raise PeopleError("name", message, "too-many-passkeys")
    with _reading():
        made = verify_registration_response(
            credential=dict(response),
            expected_challenge=challenge,
            expected_rp_id=party.host,
            expected_origin=party.origin,
        )
        if len(made.credential_id) > _LONGEST_ID:
            raise ValueError("its id is too long")
    now, credential = wall_ms(), _text(made.credential_id)
    identity = digest(credential)
    row = {
        "id": identity,
        "account": account,
        "name": title,
        "credential": credential,
        "public_key": _text(made.credential_public_key),
        "signed": made.sign_count,
        "created_ms": now,
        "used_ms": None,
    }
    try:
        connection.execute(insert(PasskeyRow), row)
    except IntegrityError:
        raise PeopleError("passkey", "this passkey is known already", "known-passkey") from None
    return Passkey(identity, title, now, None)


def is_right(
    connection: Connection, account: str, response: Response, party: Party, challenge: bytes
) -> bool:
    """Whether a passkey of an account has signed a challenge."""
    row = _row(connection, response)
    return (
        row is not None
        and row.account == account
        and _has_signed(connection, row, response, party, challenge, is_verified=False)
    )


def whose(
    connection: Connection, response: Response, party: Party, challenge: bytes
) -> Account | None:
    """The account whose passkey has signed a challenge, after its device had asked for a finger
    or a PIN; None where it has not, or the account is disabled or has no password (then its
    provider of identities says who may come)."""
    row = _row(connection, response)
    if row is None or not _has_signed(
        connection, row, response, party, challenge, is_verified=True
    ):
        return None
    account = find(connection, row.account)
    if account is None or account.disabled_ms is not None or not account.has_password:
        return None
    return account


def _has_signed(
    connection: Connection,
    row: Row[Any],
    response: Response,
    party: Party,
    challenge: bytes,
    *,
    is_verified: bool,
) -> bool:
    from webauthn import verify_authentication_response

    handle = response["response"].get("userHandle")
    if handle and handle != _text(row.account.encode()):
        return False
    try:
        with _reading():
            signed = verify_authentication_response(
                credential=dict(response),
                expected_challenge=challenge,
                expected_rp_id=party.host,
                expected_origin=party.origin,
                credential_public_key=_bytes(row.public_key),
                credential_current_sign_count=row.signed,
                require_user_verification=is_verified,
            )
    except PeopleError as error:
        # Among these: a counter that went back, as that of a copied device does.
        LOG.warning("a passkey of %s is refused: %s", row.account, error)
        return False
    # Of two that sign with the same count, one.
    used = update(PasskeyRow).where(PasskeyRow.id == row.id, PasskeyRow.signed == row.signed)
    counted = used.values(signed=signed.new_sign_count, used_ms=wall_ms())
    return bool(connection.execute(counted).rowcount)


# -- what there is ------------------------------------------------------------------------


def of(connection: Connection, account: str) -> list[Passkey]:
    """The passkeys of an account, oldest first."""
    query = select(PasskeyRow.__table__).where(PasskeyRow.account == account)
    found = connection.execute(query.order_by(PasskeyRow.created_ms, PasskeyRow.id))
    return [Passkey(row.id, row.name, row.created_ms, row.used_ms) for row in found]


def rename(connection: Connection, account: str, passkey: str, name: str) -> Passkey | None:
    """Call a passkey of an account otherwise; None if there is none. Raises `PeopleError` for a
    name that cannot be."""
    wanted = update(PasskeyRow).where(PasskeyRow.id == passkey, PasskeyRow.account == account)
    connection.execute(wanted.values(name=_title(name)))
    return next((each for each in of(connection, account) if each.id == passkey), None)


def remove(connection: Connection, account: str, passkey: str) -> bool:
    """Take a passkey away from an account; False if there is none."""
    wanted = delete(PasskeyRow).where(PasskeyRow.id == passkey, PasskeyRow.account == account)
    return bool(connection.execute(wanted).rowcount)


def _title(name: str) -> str:
    """A name as it is kept; raises `PeopleError` for one that says nothing."""
    title = " ".join(name.split())
    if not 1 <= len(title) <= _LONGEST_NAME or not title.isprintable():
        raise PeopleError("name", f"expected 1 to {_LONGEST_NAME} characters that say which it is")
    return title


def _row(connection: Connection, response: Response) -> Row[Any] | None:
    """What is kept of the passkey that a response names."""
    named = str(response.get("id", ""))
    query = select(PasskeyRow.__table__).where(PasskeyRow.id == digest(named))
    return connection.execute(query).one_or_none()


def _described(connection: Connection, account: str) -> list[Mapping[str, str]]:
    query = select(PasskeyRow.credential).where(PasskeyRow.account == account)
    found = connection.scalars(query.order_by(PasskeyRow.created_ms, PasskeyRow.id))
    return [{"type": "public-key", "id": each} for each in found]


@contextmanager
def _reading() -> Iterator[None]:
    """Raise `PeopleError` for whatever cannot be read or is not right in the block: what a
    browser gives may be anything, and its readers (JSON, CBOR, keys) fail in many ways."""
    try:
        yield
    except Exception as error:
        message = f"this is no answer of a passkey to what was asked: {error}"
        raise PeopleError("passkey", message[:300], "wrong-passkey") from error


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

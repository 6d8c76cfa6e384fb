"""Messages to browsers that have no page of ours open, by their makers' push services.

What is sent is encrypted for the browser alone (RFC 8291, aes128gcm of RFC 8188); the push service
sees whom it is for, when and how long it is, and who we are (VAPID, RFC 8292).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from citywise.backend.network import secret_files

FILE = "push.pem"
LASTS_S = 3600
"""For how long a push service keeps a message for a browser that is away."""
_RECORD = 4096
_TEXT_BYTES = 2_000
"""Of what is told: with the rest it fits into one record, and into what push services take."""
_TOKEN_S = 12 * 3600
_CURVE = ec.SECP256R1()
_POINT_BYTES, _AUTH_BYTES = 65, 16
Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class Browser:
    """What a browser gives for messages to it: its public key and a secret."""

    point: bytes
    auth: bytes

    @classmethod
    def of(cls, p256dh: str, auth: str) -> Browser:
        """From what `PushSubscription.toJSON()` says; raises `ValueError`."""
        point, secret = bytes_of(p256dh), bytes_of(auth)
        if len(point) != _POINT_BYTES or len(secret) != _AUTH_BYTES:
            raise ValueError("expected 65 and 16 bytes in base64url")
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
        return cls(point, secret)


def encrypted(text: bytes, to: Browser, own: Key | None = None, salt: bytes | None = None) -> bytes:
    """A message that only one browser reads; with another key and salt each time."""
    own, salt = own or ec.generate_private_key(_CURVE), salt or os.urandom(16)
    point = _point(own)
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, to.point)
    info = b"WebPush: info\0" + to.point + point
    secret = _derived(own.exchange(ec.ECDH(), theirs), to.auth, info, 32)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + struct.pack(">LB", _RECORD, len(point)) + point
    return head + AESGCM(key).encrypt(nonce, text + b"\x02", None)  # 2: the last record


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def told(notice: Mapping[str, Any], language: str) -> bytes:
    """What the browser shows of a notice in a language."""
    words = notice.get("translations", {}).get(language) or notice
    text = str(words["text"]).encode()[:_TEXT_BYTES].decode(errors="ignore")
    title = str(words["title"])[:200]
    return orjson.dumps({"id": notice["id"], "title": title, "text": text, "lang": language})


def headers(endpoint: str, key: Key, contact: str | None, about: str, at_s: int) -> dict[str, str]:
    """The head of a message: who sends it, and that a newer one `about` the same replaces it."""
    topic = text_of(hashlib.sha256(about.encode()).digest()[:24])
    return {
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "aes128gcm",
        "TTL": str(LASTS_S),
        "Urgency": "high",
        "Topic": topic,
        "Authorization": f"vapid t={token(endpoint, key, contact, at_s)}, k={public(key)}",
    }


def token(endpoint: str, key: Key, contact: str | None, at_s: int) -> str:
    """A JWT for a push service that says who we are, and whom to write to (`contact`)."""
    # Here, as only who is pushed something needs it.
    from joserfc import jwt
    from joserfc.jwk import ECKey

    parts = urlsplit(endpoint)
    claims: dict[str, Any] = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": at_s + _TOKEN_S}
    claims |= {"sub": contact} if contact else {}
    return jwt.encode({"alg": "ES256"}, claims, ECKey(key, key))


def contact(sender: str | None, url: str | None) -> str | None:
    """Whom a push service writes to where something is wrong with our messages, if anybody."""
    if sender is not None:
        return f"mailto:{sender}"
    return url if url is not None and url.startswith("https:") else None


def public(key: Key) -> str:
    """What browsers are given to take messages of ours only."""
    return text_of(_point(key))


def key_in(folder: Path) -> Key:
    """The city's key for push services, made by whoever needs it first. A new one would void
    what every browser has given, so it is kept in backups."""
    file = folder / FILE
    for _ in range(2):
        with suppress(FileNotFoundError):
            found = load_pem_private_key(file.read_bytes(), None)
            assert isinstance(found, ec.EllipticCurvePrivateKey)
            return found
        _make(file)
    raise FileNotFoundError(file)


def _make(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = ec.generate_private_key(_CURVE)
    pem = new.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    fresh = file.with_name(f".{file.name}-{os.getpid()}-{time.monotonic_ns()}")
    secret_files.replace(fresh, pem)
    with suppress(FileExistsError):  # of two that make one, one is first
        os.link(fresh, file)
    fresh.unlink()


def _point(key: Key) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def text_of(data: bytes) -> str:
    """Base64url without `=`."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def bytes_of(text: str) -> bytes:
    """The bytes of base64url, with or without `=`; raises `ValueError`."""
    plain = text.rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"no base64url: {error}") from None

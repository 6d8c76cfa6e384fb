"""Signatures of what is posted, as Standard Webhooks 1.0 has them: libraries check them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
_LEAST, _MOST = 24, 64
"""Bytes of a secret."""


def new_secret() -> str:
    """A random secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def key_of(secret: str) -> bytes:
    """The bytes of a secret; raises `ValueError` that says what it should look like."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not _LEAST <= len(key) <= _MOST:
        raise ValueError(f"expected {PREFIX} and {_LEAST} to {_MOST} bytes in base64")
    return key


def headers(secret: str, number: str, at_s: int, body: bytes) -> dict[str, str]:
    """The headers that say which message this is and that it is ours; `at_s`: Unix seconds."""
    content = f"{number}.{at_s}.".encode() + body
    mark = base64.b64encode(hmac.new(key_of(secret), content, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": number,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{mark}",
    }

"""Random secrets that are handed out once, what is kept of them, and ids that nobody guesses."""

from __future__ import annotations

import base64
import hashlib
import secrets

_BYTES = 32
_ID_BYTES = 15


def new_secret() -> str:
    """256 random bits, safe in addresses, headers and cookies."""
    return secrets.token_urlsafe(_BYTES)


def random_text() -> str:
    """What makes an id one that nobody guesses: 20 of a-z and 2-7."""
    return base64.b32encode(secrets.token_bytes(_ID_BYTES)).decode().lower()[:20]


def digest(secret: str) -> str:
    """What is kept of a secret: enough to know it again, as it is random and long."""
    return hashlib.sha256(secret.encode()).hexdigest()

"""Random secrets that are handed out once, and what is kept of them."""

from __future__ import annotations

import hashlib
import secrets

_BYTES = 32


def new_secret() -> str:
    """256 random bits, safe in addresses, headers and cookies."""
    return secrets.token_urlsafe(_BYTES)


def digest(secret: str) -> str:
    """What is kept of a secret: enough to know it again, as it is random and long."""
    return hashlib.sha256(secret.encode()).hexdigest()

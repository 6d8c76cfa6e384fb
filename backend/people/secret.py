"""Random secrets that are handed out once, what is kept of them, and ids that nobody guesses."""

from __future__ import annotations

import base64
import hashlib
import secrets

_BYTES = 32
_ID_BYTES = 15
_ITERATIONS = 1000
_SALT_BYTES = 12


def new_secret() -> str:
    """256 random bits, safe in addresses, headers and cookies."""
    return secrets.token_urlsafe(_BYTES)


def random_text() -> str:
    """What makes an id one that nobody guesses: 20 of a-z and 2-7."""
    return base64.b32encode(secrets.token_bytes(_ID_BYTES)).decode().lower()[:20]


def digest(secret: str) -> str:
    """What is kept of a secret: enough to know it again, as it is random and long."""
    return hashlib.sha256(secret.encode()).hexdigest()


def broker_hash(secret: str) -> str:
    """A secret as mosquitto's password file has it: PBKDF2 with SHA-512.

    Few rounds: they protect secrets that can be guessed, and this one is random.
    """
    salt = secrets.token_bytes(_SALT_BYTES)
    key = hashlib.pbkdf2_hmac("sha512", secret.encode(), salt, _ITERATIONS)
    text = [base64.b64encode(part).decode() for part in (salt, key)]
    return f"$7${_ITERATIONS}${text[0]}${text[1]}"

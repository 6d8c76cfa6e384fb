"""Passwords, hashed with argon2id (RFC 9106)."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from citywise.backend.people.errors import PeopleError

SHORTEST, LONGEST = 10, 200
"""In characters; a long sentence is a good password (NIST SP 800-63B)."""
_TOO_COMMON = frozenset(
    (
        "1234567890",
        "12345678910",
        "0123456789",
        "qwertyuiop",
        "password123",
        "password1234",
        "passwordpassword",
        "iloveyou123",
        "adminadmin",
        "citywise123",
        "citywisecitywise",
        "qwerty123456",
        "abcdefghij",
        "1q2w3e4r5t",
    )
)

_hasher = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)


def use(hasher: PasswordHasher) -> None:
    """Hash with other parameters from now on: tests cannot wait for strong ones."""
    global _hasher, _nobodys
    _hasher, _nobodys = hasher, None


_nobodys: str | None = None


def checked(password: str, name: str) -> str:
    """A password that may be one of an account called `name`.

    Raises `PeopleError` where it is too short, too long or easily guessed.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        message = f"expected {SHORTEST} to {LONGEST} characters"
        raise PeopleError("password", message, "password-length")
    plain = password.casefold()
    if plain in _TOO_COMMON or len(set(plain)) < 4 or plain.replace(name.casefold(), "") == "":
        message = "too easily guessed; three or four words make a good one"
        raise PeopleError("password", message, "password-guessable")
    return password


def hashed(password: str) -> str:
    """What is kept of a password."""
    return _hasher.hash(password)


def matches(kept: str | None, password: str) -> bool:
    """Whether a password is the one that was kept; takes as long where none was kept."""
    try:
        _hasher.verify(kept or _nobody(), password)
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


def is_outdated(kept: str) -> bool:
    """Whether a hash was made with other parameters than are used now."""
    return _hasher.check_needs_rehash(kept)


def _nobody() -> str:
    """A hash that no password has."""
    global _nobodys
    if _nobodys is None:
        _nobodys = _hasher.hash("")
    return _nobodys

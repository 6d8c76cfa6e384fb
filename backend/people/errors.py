"""What people can do wrong with accounts."""

from __future__ import annotations

from citywise.backend.errors import CitywiseError


class PeopleError(CitywiseError):
    """Something about an account is not as it must be; the message says what to do.

    `field` names what was given wrongly; `code` says in one word what is wrong with it, for
    those who say it in another language.
    """

    def __init__(self, field: str, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


class NameTakenError(PeopleError):
    """Somebody is called so already."""


class UnknownAccountError(PeopleError):
    """There is no such account."""

"""What is wrong with a message that is not accepted, and what is kept of it.

Of a message about a person that is neither its content nor any value in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from citywise.backend.ingest.standing import FIELDS

_MOST_FAULTS = 1000


@dataclass(frozen=True)
class DeadLetter:
    """Why a message, or one observation of a batch, was not accepted."""

    reason: str
    detail: str
    payload: bytes
    size: int
    """In bytes, of what came."""
    sensor: str = ""
    """Whose observation it was, where one can tell."""

    @classmethod
    def of(cls, reason: str, detail: str, payload: bytes, sensor: str = "") -> DeadLetter:
        """A letter that holds what came."""
        return cls(reason, detail, payload, len(payload), sensor)

    @classmethod
    def not_kept(cls, reason: str, detail: str, size: int) -> DeadLetter:
        """A letter about a person's context, which nobody else has a right to read."""
        return cls(reason, detail, f"({size} bytes, not kept: context of a person)".encode(), size)


def internal(error: Exception, payload: bytes, *, personal: bool) -> DeadLetter:
    """A letter about what is our fault; what a person sent is not quoted in it."""
    reason, detail = _internal(error, personal=personal)
    if personal:
        return DeadLetter.not_kept(reason, detail, len(payload))
    return DeadLetter.of(reason, detail, payload)


def explained(error: Exception, *, personal: bool = False) -> tuple[str, str]:
    """Reason and detail of what does not fit; what is personal is not quoted in it."""
    if isinstance(error, ValidationError):
        return described(first(error), personal=personal)
    if isinstance(error, ValueError):
        return "schema", str(error)
    return _internal(error, personal=personal)


def _internal(error: Exception, *, personal: bool) -> tuple[str, str]:
    name = type(error).__name__
    return "internal", name if personal else f"{name}: {error}"


def first(error: ValidationError) -> ErrorDetails:
    """The first fault. Of very many only the number: a message of 4 MB may have a million, and
    wording them all takes gigabytes."""
    if (number := error.error_count()) > _MOST_FAULTS:
        return {"type": "too_many", "loc": (), "msg": f"{number} faults", "input": None}
    return error.errors()[0]


def described(error: ErrorDetails, *, personal: bool = False) -> tuple[str, str]:
    """Reason and detail of a validation error: which field, what was wrong."""
    if error["type"] == "json_invalid":
        return "json", error["msg"]
    names = [str(part) for part in error["loc"] if not isinstance(part, int)]
    place = ".".join(name if not personal or name in FIELDS else "…" for name in names)
    return "schema", f"`{place}`: {error['msg']}" if place else error["msg"]

"""What is wrong with a message that is not accepted, and what is kept of it.

Of a message about a person that is neither its content nor any value in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from backend.ingest.standing import FIELDS


@dataclass(frozen=True)
class DeadLetter:
    """Why a message, or one observation of a batch, was not accepted."""

    reason: str
    detail: str
    payload: bytes
    size: int
    """In bytes, of what came."""

    @classmethod
    def of(cls, reason: str, detail: str, payload: bytes) -> DeadLetter:
        """A letter that holds what came."""
        return cls(reason, detail, payload, len(payload))

    @classmethod
    def not_kept(cls, reason: str, detail: str, size: int) -> DeadLetter:
        """A letter about a person's context, which nobody else has a right to read."""
        return cls(reason, detail, f"({size} bytes, not kept: context of a person)".encode(), size)


def explained(error: ValueError, *, personal: bool = False) -> tuple[str, str]:
    """Reason and detail of what does not fit; what is personal is not quoted in it."""
    if isinstance(error, ValidationError):
        return described(error.errors()[0], personal=personal)
    return "schema", str(error)


def described(error: ErrorDetails, *, personal: bool = False) -> tuple[str, str]:
    """Reason and detail of a validation error: which field, what was wrong."""
    if error["type"] == "json_invalid":
        return "json", error["msg"]
    names = [str(part) for part in error["loc"] if not isinstance(part, int)]
    place = ".".join(name if not personal or name in FIELDS else "…" for name in names)
    return "schema", f"`{place}`: {error['msg']}" if place else error["msg"]

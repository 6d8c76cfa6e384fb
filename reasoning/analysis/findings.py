"""What `citywise check` has to say about a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reasoning.errors import Location, RequestError

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """A fault, or something suspicious, and where it stands.

    An error keeps a request from being evaluated; a warning does not.
    """

    location: Location
    severity: Severity
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.severity} {self.code}: {self.message}"

    @classmethod
    def of(cls, fault: RequestError) -> Finding:
        """The finding that says what a fault says."""
        return cls(fault.location, "error", fault.code, fault.message)

"""What users can do wrong, where, and what `check` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


class ReasoningError(Exception):
    """Base of everything this package raises for its users."""


@dataclass(frozen=True)
class Location:
    """A place in a source text; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class RequestError(ReasoningError):
    """A request's text is at fault; says where, what was found and what to write."""

    def __init__(self, location: Location, code: str, message: str) -> None:
        super().__init__(f"{location}: error {code}: {message}")
        self.location = location
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[RequestError], tuple[Location, str, str]]:
        return type(self), (self.location, self.code, self.message)


class ItemError(ReasoningError):
    """A stream item or a triple cannot be used; the message names it."""


class StateError(ReasoningError):
    """A state that was kept cannot be gone on from; the message says what of it."""


class SolvingError(ReasoningError):
    """The solver refused or could not evaluate a request."""


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

"""What can be wrong with a request or an item, one class per kind of mistake."""

from __future__ import annotations

from dataclasses import dataclass


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


class ItemError(ReasoningError):
    """A stream item or a triple cannot be used; the message names it."""


class SolvingError(ReasoningError):
    """The solver refused or could not evaluate a request."""

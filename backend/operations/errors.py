"""What operators can do wrong."""

from __future__ import annotations

from citywise.backend.errors import CitywiseError


class OperationError(CitywiseError):
    """Something cannot be done as things are; the message says why and what to do."""


class UnknownPlaceError(OperationError):
    """No place has this id."""


class UnknownEventError(OperationError):
    """Nobody has opened an event of this id by hand."""


class EventExistsError(OperationError):
    """There is an event of this type at this place at this time."""


class EventOverError(OperationError):
    """The event is over and changes no more."""


class BadTimesError(OperationError):
    """An event would end before it begins, or begin after it has; `field` is at fault, and
    `code` says in one word how."""

    def __init__(self, field: str, message: str, code: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


class UnknownLetterError(OperationError):
    """There is no dead letter of this id."""


class NotReplayableError(OperationError):
    """A dead letter cannot be published again."""

"""What is wrong with a value that somebody gave a template's parameter."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import JsonValue

from citywise.backend.errors import CitywiseError

_SHOWN = 60


class BadValueError(CitywiseError):
    """A value is not what its parameter takes.

    `path` names the parameter and what is within it (`radius`, `way.coordinates[0]`);
    `found`, `expected` and `fix` say the rest, the last what to write instead.
    """

    def __init__(self, path: str, found: str, expected: str, fix: str) -> None:
        super().__init__(f"{path}: found {found}, expected {expected}; {fix}")
        self.path = path
        self.found = found
        self.expected = expected
        self.fix = fix

    def to_json(self) -> dict[str, str]:
        """For the answer of a web service."""
        return {
            "path": self.path,
            "found": self.found,
            "expected": self.expected,
            "fix": self.fix,
        }


class BadValuesError(CitywiseError):
    """All that is wrong with the values of one instance."""

    def __init__(self, what: str, faults: Sequence[BadValueError]) -> None:
        super().__init__("\n".join([f"{what}:", *(f"  {fault}" for fault in faults)]))
        self.faults = tuple(faults)


def show(value: JsonValue) -> str:
    """A value as JSON, shortened, for messages."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def one_of(choices: Sequence[str]) -> str:
    """Some choices as words: `one of a, b, c`."""
    return f"one of {', '.join(choices)}" if len(choices) > 1 else "".join(choices) or "nothing"

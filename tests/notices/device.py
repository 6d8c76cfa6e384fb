"""A device that keeps the protocol of docs/notices.md, as anybody may write one from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass
class Device:
    """What a device remembers (`last`), and what it has shown to its user."""

    last: int | None = None
    shown: list[dict[str, Any]] = field(default_factory=list)
    repeated: int = 0
    gaps: int = 0
    resets: int = 0

    def begin(self) -> bytes:
        """What to say when connected and subscribed."""
        return orjson.dumps({"seen": self.last, "again": True})

    def take(self, payload: bytes) -> bytes:
        """Take a message; the answer is what to say."""
        message = orjson.loads(payload)
        if "reset" in message:
            self.resets += 1
            self.last = message["reset"]
        elif self.last is not None and message["announced"] <= self.last:
            self.repeated += 1
        elif self.last is not None and message["after"] > self.last:
            self.gaps += 1
            return self.begin()
        else:
            self.show(message)
            self.last = message["announced"]
        return orjson.dumps({"seen": self.last})

    def show(self, message: dict[str, Any]) -> None:
        """Show a notice to the user."""
        self.shown.append(message)

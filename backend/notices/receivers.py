"""How far a device has come with the notices it is sent, and what it may be sent next.

The protocol is in docs/notices.md: a message says which one was sent before it (`after`), so
that a device knows when it has missed one, and the device says what it has (`seen`). No I/O.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from citywise.backend.store.models import LARGEST_ID

WINDOW = 200
"""Messages a device is sent before it has said that it has the first of them."""
AGAIN_EVERY_S = 1.0
"""A device is sent things again at most so often."""
_TAKES_AWAY = ("closed", "acknowledged", "snoozed")


@dataclass(frozen=True, slots=True)
class Said:
    """What a device says: the outbox id of the last notice it has (None: it does not know),
    and whether it wants to be sent all after it `again`."""

    seen: int | None
    again: bool = False

    @classmethod
    def of(cls, payload: bytes) -> Said | None:
        """What a payload says; None where it is none."""
        try:
            body = orjson.loads(payload)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(body, dict) or "seen" not in body:
            return None
        seen, again = body["seen"], body.get("again", False)
        number = isinstance(seen, int) and not isinstance(seen, bool) and 0 <= seen <= LARGEST_ID
        return cls(seen, again is True) if seen is None or number else None

    def with_earlier(self, earlier: Said | None) -> Said:
        """This and what the device said before, which nobody has heeded yet."""
        return Said(self.seen, self.again or (earlier is not None and earlier.again))


@dataclass
class Receiver:
    """A device: what was sent to it after what it has."""

    device: str
    user: str
    seen: int
    """Outbox id up to which it has all there was for it."""
    position: int
    """Outbox id up to which the user's announcements have been looked through."""
    base: int
    """Outbox id of the last message it said to have; nothing was for it up to `seen`."""
    unseen: deque[int] = field(default_factory=deque)
    is_pending: bool = True
    """Whether there may be something for it after `position`."""
    is_dirty: bool = False
    """Whether `seen` is to be kept."""
    turns_back: bool = False
    """Whether it is to be sent again what it does not have."""
    next_again: float = 0.0

    @classmethod
    def at(cls, device: str, user: str, seen: int) -> Receiver:
        """A device that has all up to an outbox id."""
        return cls(device, user, seen, seen, seen)

    @property
    def room(self) -> int:
        """How many more messages it may be sent now."""
        return WINDOW - len(self.unseen)

    @property
    def is_ready(self) -> bool:
        """Whether it may be sent what there is for it, in order."""
        return self.is_pending and self.room > 0 and not self.turns_back

    @property
    def last(self) -> int:
        """Outbox id of the last message sent to it, or of the one it said to have."""
        return self.unseen[-1] if self.unseen else self.base

    def hear(self, said: Said) -> None:
        """Heed what the device says."""
        seen = self.base if said.seen is None else said.seen
        if self.base < seen <= self.last:
            self._forget_up_to(seen)
        elif seen != self.base:  # it is of a time we know nothing of
            self.unseen.clear()
            self.base = self.seen = seen
            self.is_dirty = self.turns_back = True
        self.turns_back |= said.again

    def concerned(self, number: int) -> None:
        """An announcement is for its user; all before it has been looked through, if nothing
        was pending."""
        if not self.is_pending:
            self.is_pending = True
            self.position = number - 1
            self.advance(number - 1)

    def advance(self, number: int) -> None:
        """Note that there was nothing for it up to an outbox id, but what it has."""
        if not self.unseen and self.seen < number:
            self.seen, self.is_dirty = number, True

    def turn_back(self, now: float) -> None:
        """Begin again after what it has, if that is wanted, and not too soon after the last
        time (`now`: seconds)."""
        if self.turns_back and now >= self.next_again:
            self.next_again = now + AGAIN_EVERY_S
            self.unseen.clear()
            self.position = self.seen
            self.turns_back, self.is_pending = False, True

    def begin_at(self, number: int) -> None:
        """Go on from an announcement as if it had been sent: nothing before it will be."""
        self.unseen.clear()
        self.unseen.append(number)
        self.position = number
        self.is_pending = False

    def payload(self, number: int, body: Mapping[str, Any]) -> bytes:
        """The message of an announcement, noted as sent."""
        message = orjson.dumps({**body, "announced": number, "after": self.last})
        self.unseen.append(number)
        return message

    def _forget_up_to(self, seen: int) -> None:
        while self.unseen and self.unseen[0] <= seen:
            self.unseen.popleft()
        self.base, self.is_dirty = seen, True
        self.seen = max(self.seen, seen)


def for_devices(body: Mapping[str, Any]) -> bool:
    """Whether an announcement goes to devices: alerts, and what takes one away again or says
    that readings of the past have changed it."""
    changes = body["change"] in _TAKES_AWAY or "amended" in body
    return bool(body.get("alert")) or (changes and body.get("alerted") is not None)


def reset(newest: int) -> bytes:
    """What a device is sent that was away longer than announcements are kept."""
    return orjson.dumps({"reset": newest})


def behind(receivers: Iterable[Receiver]) -> int:
    """How many devices have not said for long that they have anything."""
    return sum(receiver.room <= 0 for receiver in receivers)

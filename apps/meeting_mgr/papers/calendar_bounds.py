"""How much a calendar may hold, counted in its lines before anything of it is understood.

What the libraries do with a calendar grows with these numbers, and not with its bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from citywise.backend.app import CitywiseError

MOST_BYTES = 1_000_000
MOST_PARTS = 20_000
"""Events, tasks, alarms, time zones and their parts: 1 MB of what is exported has fewer."""
MOST_ZONES = 100
MOST_RULES, MOST_DATES = 10, 5_000
"""`RRULE`s, and moments in `RDATE`s and `EXDATE`s, of one event or part of a time zone; RFC 5545
expects one rule, and 5,000 moments are those of every working day of twenty years."""
MOST_RULES_IN_ALL = 5_000
MOST_RULE_BYTES = 4_000
"""A rule that names every day of a year one by one has 1,400."""
_FOLD = re.compile(rb"\r?\n[ \t]")
_NAME = re.compile(rb"[A-Za-z-]+")
_ZONE_PARTS = (b"STANDARD", b"DAYLIGHT")


class CalendarError(CitywiseError):
    """What was given is no calendar, or not to be read to its end; the message says where."""


def refuse_excess(ics: bytes) -> None:
    """Raise `CalendarError` where a calendar holds more than one of somebody's life does."""
    if len(ics) > MOST_BYTES:
        raise CalendarError(f"{len(ics)} bytes; a calendar may have {MOST_BYTES}: export a part")
    counts: Counter[str] = Counter()
    open_parts: list[_Part] = []
    for name, value in _lines(ics):
        if name == b"BEGIN":
            open_parts.append(_Part(value))
            counts["parts"] += 1
            counts["time zones"] += value == b"VTIMEZONE"
        elif name == b"END" and open_parts:
            open_parts.pop()
        elif open_parts:
            counts["rules"] += name == b"RRULE"
            open_parts[-1].take(name, value)
    for what, most in (
        ("parts", MOST_PARTS),
        ("time zones", MOST_ZONES),
        ("rules", MOST_RULES_IN_ALL),
    ):
        if counts[what] > most:
            raise CalendarError(
                f"{counts[what]} {what}; a calendar may have {most}: export fewer days of it"
            )


def _lines(ics: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The name of each line, in capitals, and what follows it."""
    for line in _FOLD.sub(b"", ics).splitlines():
        if name := _NAME.match(line):
            rest = line[name.end() :]
            is_short = name.group().upper() in {b"BEGIN", b"END"}
            yield name.group().upper(), rest[1:].strip().upper() if is_short else rest


class _Part:
    """What has been counted in an event, a time zone or another part of a calendar."""

    def __init__(self, kind: bytes) -> None:
        self._kind = kind
        self._begin = b""
        self._rules = 0
        self._dates = 0

    def take(self, name: bytes, rest: bytes) -> None:
        """Count one more line of it."""
        if name == b"DTSTART":
            self._begin = rest.rpartition(b":")[2]
        elif name == b"RRULE":
            self._rules += 1
            self._refuse(self._rules, MOST_RULES, "rules (RRULE)")
            self._refuse(len(rest), MOST_RULE_BYTES, "bytes in a rule (RRULE)")
            if self._kind in _ZONE_PARTS and b"FREQ=YEARLY" not in rest.upper():
                raise CalendarError(
                    f"{self} of a time zone has a rule{_excerpt(rest)}; understood there is "
                    "FREQ=YEARLY: name a time zone of the world instead"
                )
        elif name in {b"RDATE", b"EXDATE"}:
            self._dates += rest.count(b",") + 1
            self._refuse(self._dates, MOST_DATES, "moments (RDATE, EXDATE)")

    def _refuse(self, found: int, most: int, what: str) -> None:
        if found > most:
            raise CalendarError(
                f"{self} has more than {most} {what}; take it out, or begin it later"
            )

    def __str__(self) -> str:
        kind = "event" if self._kind == b"VEVENT" else self._kind.decode(errors="replace")[:40]
        return f"the {kind} {_excerpt(self._begin) or 'without a begin'}"


def _excerpt(text: bytes) -> str:
    return text.decode(errors="replace")[:60]

"""Who of a meeting's people has closed the page, or lost the net, and who is back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from citywise.apps.meeting_mgr.process.live import Live

LASTS_MS = 7_000
"""So long after it was last known to be open a page counts as open: to load it again, or a short
loss of the net, makes nobody away."""


class News(NamedTuple):
    """Somebody is away from now on, or back."""

    meeting: str
    person: str
    is_away: bool


def news(pages: Mapping[str, int], lives: Iterable[Live], now_ms: int) -> list[News]:
    """What is other than the meetings know; `pages` says when a page of each was last open. Who
    never had one is not away, nor is who is still heard."""
    found = []
    for live in lives:
        for person in live.people.values():
            if person.left_ms is not None or person.id not in pages:
                continue
            seen_ms = max(pages[person.id], live.heard_ms(person.id))
            is_away = now_ms - seen_ms > LASTS_MS
            if is_away == person.is_there:
                found.append(News(live.record.id, person.id, is_away))
    return found

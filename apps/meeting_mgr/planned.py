"""When the items of an agenda come, as things stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from citywise.apps.meeting_mgr.model import Item, Meeting, MeetingState

MINUTE_MS = 60_000


class Span(NamedTuple):
    """From when until when, Unix milliseconds."""

    starts_ms: int
    ends_ms: int


def planned(meeting: Meeting, state: MeetingState, now_ms: int) -> dict[str, Span]:
    """When each item was, is or will be, by its id; what is put off is not in it.

    While the meeting runs the next item comes when the current one is over: at its planned end,
    or now where that has passed, or nothing is going on. Otherwise the first that is not done
    comes when the meeting starts.
    """
    spans = {}
    free_ms = now_ms if state == "running" else meeting.starts_ms
    for item in meeting.in_order():
        match item.state:
            case "done":
                span = _happened(item)
            case "current" | "open":
                span = _ahead(item, free_ms, now_ms)
                free_ms = span.ends_ms
            case "put_off":
                continue
        spans[item.id] = span
    return spans


def meant(agenda: Iterable[Item], starts_ms: int) -> dict[str, Span]:
    """When each item is meant to be, by its id: one after the other, whatever has happened, but
    for what is put off."""
    spans = {}
    for item in agenda:
        if item.state != "put_off":
            spans[item.id] = Span(starts_ms, starts_ms + item.minutes * MINUTE_MS)
            starts_ms = spans[item.id].ends_ms
    return spans


def left_s(item: Item, now_ms: int) -> int:
    """Seconds that the current item has left; negative where it should be over."""
    began_ms = item.began_ms if item.began_ms is not None else now_ms
    return (began_ms + item.minutes * MINUTE_MS - now_ms) // 1000


def _happened(item: Item) -> Span:
    ended = item.ended_ms or 0
    return Span(item.began_ms if item.began_ms is not None else ended, ended)


def _ahead(item: Item, free_ms: int, now_ms: int) -> Span:
    if item.state == "current" and item.began_ms is not None:
        return Span(item.began_ms, max(item.began_ms + item.minutes * MINUTE_MS, now_ms))
    return Span(free_ms, free_ms + item.minutes * MINUTE_MS)

"""What happened in a meeting, as its host is told it: only what is news, the newest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from citywise.apps.meeting_mgr.entries import (
    AbilityChanged,
    Acted,
    Decided,
    Entry,
    ItemChanged,
    Joined,
    PresenceChanged,
)
from citywise.apps.meeting_mgr.model import CAPABILITIES, Person
from citywise.apps.meeting_mgr.views.shown import View
from citywise.backend.app import times

CONTEXT = 400
"""So many entries are read at most to tell what is news; no step writes nearly as many."""
_FEWEST, _OF_EACH = 100, 5
"""So many entries, and so many for each sentence, are mostly enough."""


class Page(NamedTuple):
    """Some of what happened; `following`: the entry before which there is more."""

    told: Sequence[View]
    following: int | None


def page(newest: Callable[[int], Sequence[Entry]], limit: int) -> Page:
    """`limit` sentences of what `newest` gives, which are so many entries or all there are: few at
    first, as each is a box to open and a host's page asks again and again. Where these do not tell
    enough, with some before it to tell what is news, `CONTEXT`."""
    few = max(_FEWEST, limit * _OF_EACH)
    if few < CONTEXT:
        entries = newest(few)
        found = happened(entries, limit, few)
        if len(entries) < few:
            return found
        before = sum(entry.id < (found.following or 0) for entry in entries)
        if len(found.told) >= limit and before >= few // 4:
            return found
    return happened(newest(CONTEXT), limit)


def happened(entries: Sequence[Entry], limit: int, asked: int = CONTEXT) -> Page:
    """What some entries (the newest first, of which `asked` were asked for) tell: `limit`
    sentences, or a few more since no step is split. What was so before the first of them is not
    known."""
    steps = [list(step) for _when, step in groupby(entries, lambda one: (one.at_ms, one.person))]
    is_all = len(entries) < asked
    if not is_all and steps:
        steps.pop()  # Perhaps a part of it only.
    news = _News()
    sentences = [news.of(reversed(step)) for step in reversed(steps)][::-1]
    told: list[View] = []
    for n, (step, said) in enumerate(zip(steps, sentences, strict=True), 1):
        told += said
        if len(told) >= limit and (n < len(steps) or not is_all):
            return Page(told, step[-1].id)
    return Page(told, steps[-1][-1].id if steps and not is_all else None)


def named(told: Iterable[View], people: Iterable[Person]) -> list[View]:
    """Sentences with the names of whom they are about."""
    names = {person.id: person.name for person in people}
    return [{"name": names.get(one["person"]), **one} for one in told]


class _News:
    """Tells what was not so before, step by step, the oldest first."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, str], str] = {}
        self._able: dict[tuple[str | None, str], bool] = {}  # Whether they were before.

    def of(self, step: Iterable[Entry]) -> list[View]:
        """The sentences of a step, the last first; what several abilities became for the same
        reasons is one."""
        told: dict[object, dict[str, Any]] = {}
        for entry in filter(self._is_news, step):
            body = entry.body
            if isinstance(body, AbilityChanged):
                again = body.state == "on" and self._was_able(entry.person, body.capability)
                key = (body.state, body.because, again)
                sentence = told.setdefault(key, {**self._sentence(entry), "again": again})
                sentence.setdefault("capabilities", []).append(body.capability)
            else:
                told[entry.id] = self._sentence(entry)
        return [*reversed(told.values())]

    def _sentence(self, entry: Entry) -> dict[str, Any]:
        said = entry.body.model_dump(mode="json", exclude={"capability"})
        return {"id": entry.id, "at": times.iso(entry.at_ms), "person": entry.person, **said}

    def _is_news(self, entry: Entry) -> bool:
        match entry.body:
            case Joined():
                said = [(entry.person, name) for name in (*CAPABILITIES, "presence")]
                self._known.update(dict.fromkeys(said, "unknown"))
                self._able.update(dict.fromkeys(said, False))
                return True
            case AbilityChanged(capability=capability, state=state):
                return self._turns(entry.person, capability, state)
            case PresenceChanged(presence=presence):
                return self._turns(entry.person, "presence", presence)
            case ItemChanged(state=state):
                return state == "current"
            case Acted() | Decided():
                return False  # The host did it.
        return True

    def _was_able(self, person: str | None, capability: str) -> bool:
        """Whether they could before, as far as is known; from now on they could."""
        before = self._able.get((person, capability), True)
        self._able[person, capability] = True
        return before

    def _turns(self, person: str | None, what: str, state: str) -> bool:
        before = self._known.get((person, what))
        self._known[person, what] = state
        return before != state

"""Minutes as one HTML file: to print and to keep, without scripts and without any host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flask import render_template

from citywise.apps.meeting_mgr.papers.invitations import Translate
from citywise.apps.meeting_mgr.papers.minutes import Ableness, Minutes, Part, Span
from citywise.apps.meeting_mgr.papers.minutes_words import Words
from citywise.backend.app import times

WIDTH = 600
"""Of a line of time, in its own units; the page stretches it."""


class Bar(NamedTuple):
    """A stretch of somebody's ability as it is drawn: where, how wide, and what it says."""

    x: float
    width: float
    state: str
    said: str


class Row(NamedTuple):
    """One ability of somebody over time."""

    name: str
    bars: Sequence[Bar]
    said: Sequence[str]


class Drawn(NamedTuple):
    """Somebody's part in the meeting."""

    name: str
    rows: Sequence[Row]


def page(minutes: Minutes, language: str, t: Translate) -> str:
    """The file."""
    words = Words(minutes, t)
    return render_template(
        "meeting_mgr/minutes.html",
        language=language,
        t=t,
        words=words,
        minutes=minutes,
        people=[_drawn(minutes, part, words) for part in minutes.parts],
        width=WIDTH,
        begin=times.clock(minutes.began_ms),
        end=times.clock(minutes.ended_ms),
    )


def _drawn(minutes: Minutes, part: Part, words: Words) -> Drawn:
    return Drawn(words.person(part), list(_rows(minutes, part, words)))


def _rows(minutes: Minutes, part: Part, words: Words) -> Iterator[Row]:
    for name, spans in words.known(part).items():
        bars = [_bar(minutes, one, words) for one in spans]
        yield Row(words.capability(name), bars, [bar.said for bar in bars])


def _bar(minutes: Minutes, one: Span[Ableness], words: Words) -> Bar:
    length = max(1, minutes.ended_ms - minutes.began_ms)
    begin = (one.from_ms - minutes.began_ms) / length * WIDTH
    width = (one.until_ms - one.from_ms) / length * WIDTH
    return Bar(round(begin, 1), round(width, 1), one.told.state, words.stretch(one))

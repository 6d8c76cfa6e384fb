"""Minutes as files: Markdown, and an entry for a calendar."""

from __future__ import annotations

import re

from icalendar import Event

from citywise.apps.meeting_mgr.papers.invitations import Translate, new_calendar
from citywise.apps.meeting_mgr.papers.minutes import Minutes
from citywise.apps.meeting_mgr.papers.minutes_words import Section, Words
from citywise.backend.app import times

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#+!|~$&])")
_LISTED = re.compile(r"^(\d*)([-=:.])")


def markdown(minutes: Minutes, t: Translate) -> str:
    """Minutes as Markdown; what people wrote stands in it as they wrote it, and as nothing else."""
    words = Words(minutes, t)
    lines = [f"# {escaped(words.title)}"]
    for section in words.sections():
        lines += ["", f"## {escaped(section.title)}", ""]
        lines += [f"- {escaped(line)}" for line in section.lines]
        for name, told in section.parts:
            lines += [f"- **{escaped(name)}**", *(f"  - {escaped(line)}" for line in told)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """A text on one line of Markdown that means nothing there but itself."""
    line = " ".join(text.split())
    return _LISTED.sub(r"\1\\\2", _MARKS.sub(r"\\\1", line))


def calendar(minutes: Minutes, t: Translate, now_ms: int) -> bytes:
    """Minutes as one entry of a calendar, at the time at which the meeting was."""
    words = Words(minutes, t)
    event = Event()
    event.add("uid", f"{minutes.id}-minutes@citywise")
    event.add("dtstamp", times.from_ms(now_ms))
    event.add("dtstart", times.from_ms(minutes.began_ms))
    event.add("dtend", times.from_ms(minutes.ended_ms))
    event.add("summary", words.title)
    event.add("location", minutes.meeting.room.name)
    event.add("description", "\n\n".join(map(_plain, words.sections())))
    event.add("transp", "TRANSPARENT")
    entry = new_calendar()
    entry.add_component(event)
    return bytes(entry.to_ical())


def _plain(section: Section) -> str:
    lines = [section.title, *(f"- {line}" for line in section.lines)]
    for name, told in section.parts:
        lines += [f"- {name}", *(f"  - {line}" for line in told)]
    return "\n".join(lines)

"""What mails to attendees say."""

from __future__ import annotations

from collections.abc import Sequence

from citywise.apps.meeting_mgr.model import Attendee
from citywise.apps.meeting_mgr.papers import invitations
from citywise.apps.meeting_mgr.papers.invitations import Invited, Translate, clock, local
from citywise.apps.meeting_mgr.papers.mailing import Letter


def written(invited: Invited, to: Sequence[Attendee], now_ms: int, t: Translate) -> list[Letter]:
    """A letter for each of those who have an address: an invitation or a cancellation."""
    entry = invitations.calendar(invited, now_ms, t)
    about = invitations.described(invited, now_ms, t)
    return [
        _letter(invited, one, one.email, entry, about, t) for one in to if one.email is not None
    ]


def _letter(
    invited: Invited, one: Attendee, email: str, entry: bytes, about: str, t: Translate
) -> Letter:
    meeting, kind = invited.record.meeting, invitations.method(invited.record)
    text = t(
        f"papers.mail.{kind}",
        name=one.name,
        host=invited.organizer.name,
        title=meeting.title,
        day=local(meeting.starts_ms).strftime("%d.%m.%Y"),
        span=f"{clock(meeting.starts_ms)}–{clock(meeting.ends_ms)}",
        room=meeting.room.name,
        described=about,
    )
    subject = t(f"papers.subject.{kind}", title=meeting.title)
    return Letter(email, one.name, subject, text, entry, kind)

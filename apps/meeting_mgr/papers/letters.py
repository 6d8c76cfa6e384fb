"""What mails to attendees say."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from citywise.apps.meeting_mgr import reminders, store
from citywise.apps.meeting_mgr.api import joining
from citywise.apps.meeting_mgr.model import Attendee, Meeting
from citywise.apps.meeting_mgr.papers import invitations
from citywise.apps.meeting_mgr.papers.invitations import Invited, Translate
from citywise.apps.meeting_mgr.papers.mailing import Letter
from citywise.backend.app import Settings, mail, times


def written(invited: Invited, to: Sequence[Attendee], now_ms: int, t: Translate) -> list[Letter]:
    """A letter for each of those who have an address: an invitation or a cancellation."""
    entry = invitations.calendar(invited, now_ms, t)
    about = invitations.described(invited, now_ms, t)
    return [
        _letter(invited, one, one.email, entry, about, t) for one in to if one.email is not None
    ]


def reminder(connection: Connection, settings: Settings, asked: mail.Asked) -> mail.Written | None:
    """The reminder of a meeting to somebody who chose it; None where it is not to come as they were
    to be told: it was moved, cancelled, has begun, or they have nothing to do with it any more."""
    record = store.find(connection, store.boxes_of(settings), asked.about)
    chosen = reminders.of(connection, asked.about, asked.account)
    if record is None or chosen is None or not reminders.is_ahead(record, times.wall_ms()):
        return None
    meeting, site = record.meeting, settings.web.public_url or ""
    if chosen.told_ms != meeting.starts_ms:
        return None
    if not reminders.concerns(connection, record, asked.account):
        return None
    is_host = record.user == asked.account
    page = f"{site}/meetings/{record.id}"
    link = page if is_host else joining.url(site, record.id, record.join_key)
    starts = times.local(meeting.starts_ms)
    said = {
        "title": meeting.title,
        "room": meeting.room.name,
        "day": starts.strftime("%d.%m.%Y"),
        "span": _span(meeting),
        "time": f"{times.clock(meeting.starts_ms)} {starts.tzname()}",
    }

    def t(key: str) -> str:
        return asked.texts[f"papers.reminder.{key}"].format(**said)

    return mail.Written(
        asked.language,
        t("subject"),
        [t("text")],
        button=(t("open"), link),
        foot=[t("why")],
    )


def _span(meeting: Meeting) -> str:
    """From when until when, by the city's clock, which it names."""
    zone = times.local(meeting.starts_ms).tzname()
    return f"{times.clock(meeting.starts_ms)}–{times.clock(meeting.ends_ms)} {zone}"


def _letter(
    invited: Invited, one: Attendee, email: str, entry: bytes, about: str, t: Translate
) -> Letter:
    meeting, kind = invited.record.meeting, invitations.method(invited.record)
    text = t(
        f"papers.mail.{kind}",
        name=one.name,
        host=invited.organizer.name,
        title=meeting.title,
        day=times.local(meeting.starts_ms).strftime("%d.%m.%Y"),
        span=_span(meeting),
        room=meeting.room.name,
        described=about,
    )
    subject = t(f"papers.subject.{kind}", title=meeting.title)
    return Letter(email, one.name, subject, text, entry, kind)

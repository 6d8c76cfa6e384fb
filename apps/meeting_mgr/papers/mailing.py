"""Mail to attendees, over the operator's mail server; call it outside any transaction."""

from __future__ import annotations

from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import NamedTuple

from citywise.apps.meeting_mgr.papers.invitations import Method
from citywise.backend.app import Settings
from citywise.backend.app import mail as mailing


class Letter(NamedTuple):
    """A mail to one person with an invitation that their calendar understands."""

    to: str
    name: str
    subject: str
    text: str
    calendar: bytes
    method: Method


class Sent(NamedTuple):
    """What became of a letter; `reason`: the mail server's, where it did not take it."""

    to: str
    reason: str | None = None


def send(letters: Sequence[Letter], settings: Settings, from_name: str) -> list[Sent]:
    """Hand letters to the mail server, each by itself; what became of each, in their order.

    `from_name`: whom they come from, by the operator's address. One that is refused does not
    keep the others. Raises `ServerError` where none can be sent, `NoServerError` without a server.
    """
    mail, found = settings.mail, list[Sent]()
    with mailing.connected(mail) as server:
        for letter in letters:
            try:
                made = message(letter, mail.sender or "", from_name)
                mailing.hand_over(server, made, mail.timeout_s)
            except (mailing.RefusedError, mailing.ServerError) as error:
                # Also where the server takes nothing more, or the connection breaks: what was sent
                # before is not to be sent again.
                found.append(Sent(letter.to, str(error)))
            else:
                found.append(Sent(letter.to))
    return found


def message(letter: Letter, sender: str, from_name: str) -> EmailMessage:
    """A letter as mail: its text, and the invitation both as a part and as a file."""
    mail = EmailMessage()
    mail["From"] = mailing.addressed(from_name, sender)
    mail["To"] = mailing.addressed(letter.name, letter.to)
    mail["Subject"] = letter.subject
    mail["Date"] = formatdate()
    mail["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(letter.text)
    text = letter.calendar.decode()
    mail.add_alternative(text, subtype="calendar", params={"method": letter.method})
    mail.add_attachment(
        letter.calendar, maintype="application", subtype="ics", filename="invitation.ics"
    )
    return mail

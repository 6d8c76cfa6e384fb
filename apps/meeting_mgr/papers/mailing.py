"""Mail to attendees, over the operator's mail server; call it outside any transaction."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import NamedTuple

from citywise.apps.meeting_mgr.papers.invitations import Method
from citywise.apps.meeting_mgr.settings import Meetings
from citywise.backend.app import CitywiseError

TIMEOUT_S = 20.0


class MailError(CitywiseError):
    """Nothing can be sent to anybody now; the message says why and what to do."""


class NoMailError(MailError):
    """No mail server is configured."""


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


def send(letters: Sequence[Letter], settings: Meetings, from_name: str) -> list[Sent]:
    """Hand letters to the mail server, each by itself; what became of each, in their order.

    `from_name`: whom they come from, by the operator's address. One that is refused does not
    keep the others. Raises `MailError` where none can be sent.
    """
    if settings.smtp_host is None or settings.sender is None:
        raise NoMailError(
            "no mail server is configured; set meetings.smtp_host and meetings.sender, or give "
            "people the invitation as a file"
        )
    with _connected(settings) as server:
        return [_sent(server, message(one, settings.sender, from_name), one) for one in letters]


def message(letter: Letter, sender: str, from_name: str) -> EmailMessage:
    """A letter as mail: its text, and the invitation both as a part and as a file."""
    mail = EmailMessage()
    mail["From"] = _address(from_name, sender)
    mail["To"] = _address(letter.name, letter.to)
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


def _address(name: str, address: str) -> Address:
    local, _, domain = address.rpartition("@")
    return Address(display_name=name, username=local, domain=domain)


@contextmanager
def _connected(settings: Meetings) -> Iterator[smtplib.SMTP]:
    where = f"mail server {settings.smtp_host}:{settings.smtp_port}"
    try:
        with _open(settings) as server:
            if settings.smtp_username is not None and settings.smtp_password is not None:
                server.login(settings.smtp_username, settings.smtp_password)
            yield server
    except smtplib.SMTPAuthenticationError as error:
        raise MailError(
            f"{where} does not know us ({_server_words(error)}); check meetings.smtp_username and "
            "meetings.smtp_password"
        ) from error
    except smtplib.SMTPNotSupportedError as error:
        raise MailError(
            f"{where}: {error}; check meetings.smtp_security ({settings.smtp_security})"
        ) from error
    except ssl.SSLError as error:
        raise MailError(
            f"{where}: no encrypted connection ({error.reason or error}); check "
            f"meetings.smtp_security ({settings.smtp_security}) and meetings.smtp_ca"
        ) from error
    except (smtplib.SMTPException, OSError) as error:
        raise MailError(
            f"{where} cannot be used ({_server_words(error)}); check meetings.smtp_host and "
            "meetings.smtp_port, or try again later"
        ) from error


def _open(settings: Meetings) -> smtplib.SMTP:
    host, port = settings.smtp_host or "", settings.smtp_port
    if settings.smtp_security == "none":
        return smtplib.SMTP(host, port, timeout=TIMEOUT_S)
    trusted = ssl.create_default_context(cafile=settings.smtp_ca)
    if settings.smtp_security == "tls":
        return smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_S, context=trusted)
    server = smtplib.SMTP(host, port, timeout=TIMEOUT_S)
    try:
        server.starttls(context=trusted)
    except BaseException:
        server.close()
        raise
    return server


def _sent(server: smtplib.SMTP, mail: EmailMessage, letter: Letter) -> Sent:
    try:
        server.send_message(mail)
    except (smtplib.SMTPException, OSError, UnicodeEncodeError) as error:
        # Also where the connection breaks: what was sent before is not to be sent again.
        return Sent(letter.to, _server_words(error))
    return Sent(letter.to)


def _server_words(error: Exception) -> str:
    """What the server said, in its words."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, text = next(iter(error.recipients.values()))
        return f"{code} {_text(text)}"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_text(error.smtp_error)}"
    if isinstance(error, socket.gaierror):
        return "there is no such host"
    return str(error) or type(error).__name__


def _text(said: bytes | str) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said

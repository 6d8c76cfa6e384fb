"""Handing mail to the operator's mail server; outside any transaction, as it may take long."""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Any

from citywise.backend.errors import CitywiseError
from citywise.backend.settings import Mail

_MARGIN = 6
"""A letter takes so many times as long as one answer of the server may, and no longer."""
_FINAL = range(500, 600)
_GOING_AWAY = 421
_OF_ADDRESS = re.compile(r"5\.1\.(?:[0-3]|6|10)\b|5\.2\.1\b")
"""There is no such mailbox or domain, or the mailbox takes nothing any more."""


class ServerError(CitywiseError):
    """Nothing can be sent to anybody now; the message says why and what to do."""


class NoServerError(ServerError):
    """No mail server is configured."""


class RefusedError(Exception):
    """The mail server did not take a letter; its words are the message.

    `is_final`: another try would be of no use; `of_address`: what is wrong is the address it was
    for; `is_broken`: the connection is not to be used any more.
    """

    def __init__(
        self, said: str, *, is_final: bool, of_address: bool = False, is_broken: bool = False
    ) -> None:
        super().__init__(said)
        self.is_final, self.of_address, self.is_broken = is_final, of_address, is_broken


def addressed(name: str, address: str) -> Address:
    """Who a letter is from or to, for its head."""
    local, _, domain = address.rpartition("@")
    return Address(display_name=name, username=local, domain=domain)


@contextmanager
def connected(mail: Mail) -> Iterator[smtplib.SMTP]:
    """The mail server, logged in to. Raises `ServerError`."""
    server = _logged_in(mail)
    try:
        yield server
    finally:
        # What was taken stays taken, whatever becomes of the good-bye.
        with suppress(smtplib.SMTPException, OSError), closing(server):
            server.quit()


def hand_over(server: smtplib.SMTP, message: EmailMessage, timeout_s: float) -> None:
    """Give a letter to the server. Raises `RefusedError`, and `ServerError` where it takes
    none of ours.

    A server that says a byte now and then would never time out: the whole has an end, too.
    """
    with _ended_after(server, _MARGIN * timeout_s):
        try:
            server.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            code, text = next(iter(error.recipients.values()))
            said = _text(text)
            # Servers refuse who asks, too (`554 5.7.1 client host blocked`), and that is over
            # in a while: an address is at fault where the server says so (RFC 3463).
            of_address = code in _FINAL and _OF_ADDRESS.match(said) is not None
            raise RefusedError(
                f"{code} {said}",
                is_final=of_address,
                of_address=of_address,
                is_broken=code == _GOING_AWAY,
            ) from error
        except smtplib.SMTPSenderRefused as error:
            raise ServerError(
                f"the mail server does not take what we send ({said_by(error)}); check mail.sender "
                "and how much may be sent"
            ) from error
        except smtplib.SMTPResponseException as error:
            raise RefusedError(
                said_by(error),
                is_final=error.smtp_code in _FINAL,
                is_broken=error.smtp_code == _GOING_AWAY,
            ) from error
        except (smtplib.SMTPNotSupportedError, UnicodeEncodeError) as error:
            said = f"the mail server cannot write to such an address ({error})"
            raise RefusedError(said, is_final=True, of_address=True) from error
        except (smtplib.SMTPException, OSError) as error:
            raise RefusedError(said_by(error), is_final=False, is_broken=True) from error


class _Server(smtplib.SMTP):
    """A mail server that has a time limit for all it says at the beginning, too."""

    def connect(self, *where: Any, **how: Any) -> tuple[int, bytes]:
        """See `smtplib.SMTP`, whose constructor calls it."""
        with _ended_after(self, _MARGIN * self.timeout):
            return super().connect(*where, **how)


class _TlsServer(_Server, smtplib.SMTP_SSL):
    pass


@contextmanager
def _ended_after(server: smtplib.SMTP, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, _hang_up, (server,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(server: smtplib.SMTP) -> None:
    """Let who waits for the server find that it is gone."""
    with suppress(OSError, AttributeError):
        server.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


def _logged_in(mail: Mail) -> smtplib.SMTP:
    if mail.host is None or mail.sender is None:
        raise NoServerError("no mail server is configured; set mail.host and mail.sender")
    where = f"mail server {mail.host}:{mail.port}"
    try:
        return _opened(mail, mail.host)
    except smtplib.SMTPAuthenticationError as error:
        raise ServerError(
            f"{where} does not know us ({said_by(error)}); check mail.username and mail.password"
        ) from error
    except smtplib.SMTPNotSupportedError as error:
        raise ServerError(f"{where}: {error}; check mail.security ({mail.security})") from error
    except ssl.SSLError as error:
        raise ServerError(
            f"{where}: no encrypted connection ({error.reason or error}); check mail.security "
            f"({mail.security}) and mail.ca"
        ) from error
    except (smtplib.SMTPException, OSError) as error:
        raise ServerError(
            f"{where} cannot be used ({said_by(error)}); check mail.host and mail.port, or try "
            "again later"
        ) from error


def _opened(mail: Mail, host: str) -> smtplib.SMTP:
    trusted = None
    if mail.security != "none":
        trusted = ssl.create_default_context(cafile=mail.ca)
    if mail.security == "tls":
        server: smtplib.SMTP = _TlsServer(host, mail.port, timeout=mail.timeout_s, context=trusted)
    else:
        server = _Server(host, mail.port, timeout=mail.timeout_s)
    try:
        with _ended_after(server, _MARGIN * mail.timeout_s):
            if mail.security == "starttls":
                server.starttls(context=trusted)
            server.ehlo_or_helo_if_needed()
            if mail.username is not None and mail.password is not None:
                server.login(mail.username, mail.password)
    except BaseException:
        server.close()
        raise
    return server


def said_by(error: Exception) -> str:
    """What the server said, in its words."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_text(error.smtp_error)}"
    if isinstance(error, socket.gaierror):
        return "there is no such host"
    return str(error) or type(error).__name__


def _text(said: bytes | str) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said

"""Invitations by mail, sent to a real mail server on this machine."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult, Envelope, Session

from citywise.apps.meeting_mgr.papers import mailing
from citywise.apps.meeting_mgr.papers.mailing import Letter, Sent
from citywise.apps.meeting_mgr.settings import Meetings
from citywise.backend.mail.transport import NoServerError, ServerError
from citywise.backend.network import certificates
from citywise.backend.network.addresses import Names
from citywise.backend.network.certificates import Issued
from citywise.backend.settings import Mail, Settings
from tests.mail.mail_server import Box, served
from tests.ports import nobody_at

ICS = "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nSUMMARY:Møde\r\nEND:VCALENDAR\r\n".encode()
SENDER = "meetings@city.example"


def known(
    server: Any, session: Session, envelope: Envelope, mechanism: str, data: Any
) -> AuthResult:
    """Knows one user and their password."""
    return AuthResult(success=(data.login, data.password) == (b"us", b"secret"), handled=False)


def settings(port: int, **more: Any) -> Settings:
    values = {"host": "127.0.0.1", "port": port, "security": "none"}
    return Settings(mail=Mail(**{**values, "sender": SENDER, **more}))


def letter(to: str = "alice@example.org", name: str = "Ålice Maud") -> Letter:
    return Letter(to, name, "Møde: budget", "Kom til mødet.", ICS, "REQUEST")


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    """A certificate for this machine, of an authority that nobody else trusts."""
    folder = tmp_path_factory.mktemp("mail")
    return certificates.issued(folder, Names(frozenset({"localhost"})))


def trusted(issued: Issued, folder: Path) -> Path:
    path = folder / "authority.pem"
    path.write_bytes(issued.authority.pem)
    return path


def context(issued: Issued) -> ssl.SSLContext:
    found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    found.load_cert_chain(issued.certificate, issued.private_key)
    return found


def test_a_letter_arrives_with_an_invitation_that_calendars_understand() -> None:
    box = Box()
    with served(box) as port:
        assert mailing.send([letter()], settings(port), "Bob Host") == [Sent("alice@example.org")]
    (mail,) = box.mails
    assert mail["From"] == f"Bob Host <{SENDER}>"
    assert mail["To"] == "Ålice Maud <alice@example.org>"
    assert mail["Subject"] == "Møde: budget"
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().strip() == "Kom til mødet."
    kinds = {part.get_content_type(): part for part in mail.walk()}
    assert kinds["text/calendar"]["Content-Type"].params["method"] == "REQUEST"
    assert "SUMMARY:Møde" in kinds["text/calendar"].get_content()
    assert kinds["application/ics"].get_content() == ICS
    assert kinds["application/ics"].get_filename() == "invitation.ics"


def test_everybody_gets_their_own_mail_and_sees_nobody_elses_address() -> None:
    box = Box()
    with served(box) as port:
        mailing.send([letter("a@example.org"), letter("b@example.org")], settings(port), "Bob")
    assert [mail["To"].addresses[0].addr_spec for mail in box.mails] == [
        "a@example.org",
        "b@example.org",
    ]


def test_who_is_refused_is_named_and_does_not_keep_the_others() -> None:
    box = Box()
    with served(box) as port:
        found = mailing.send(
            [letter("nobody@example.org"), letter("b@example.org")], settings(port), "Bob"
        )
    assert found == [
        Sent("nobody@example.org", "550 5.1.1 no such mailbox"),
        Sent("b@example.org"),
    ]
    assert len(box.mails) == 1


def test_where_the_server_takes_no_more_of_us_those_before_are_sent() -> None:
    box = Box()
    box.quota = 1
    with served(box) as port:
        found = mailing.send([letter(f"p{n}@example.org") for n in range(3)], settings(port), "Bob")
    assert [one.reason is None for one in found] == [True, False, False]
    assert "5.4.5" in (found[1].reason or "")


def test_where_the_server_hangs_up_those_before_are_sent_and_the_others_are_not() -> None:
    box = Box()
    box.left = 1
    with served(box) as port:
        found = mailing.send([letter(f"p{n}@example.org") for n in range(3)], settings(port), "Bob")
    assert [one.reason is None for one in found] == [True, False, False]


def test_with_starttls_password_and_mail_go_encrypted(issued: Issued, tmp_path: Path) -> None:
    box = Box()
    options = {"tls_context": context(issued), "require_starttls": True, "authenticator": known}
    how = {
        "host": "localhost",
        "security": "starttls",
        "ca": trusted(issued, tmp_path),
        "username": "us",
    }
    with served(box, **options) as port:
        mailing.send([letter()], settings(port, **how, password="secret"), "Bob")
        with pytest.raises(ServerError, match=r"does not know us .*535.*mail\.password"):
            mailing.send([letter()], settings(port, **how, password="wrong"), "Bob")
    assert len(box.mails) == 1


def test_with_tls_from_the_first_byte_too(issued: Issued, tmp_path: Path) -> None:
    box = Box()
    how = {
        "host": "localhost",
        "security": "tls",
        "ca": trusted(issued, tmp_path),
    }
    with served(box, ssl_context=context(issued)) as port:
        mailing.send([letter()], settings(port, **how), "Bob")
    assert len(box.mails) == 1


def test_a_server_whose_certificate_nobody_vouches_for_gets_nothing(issued: Issued) -> None:
    box = Box()
    with served(box, tls_context=context(issued)) as port:
        how = {"host": "localhost", "security": "starttls"}
        with pytest.raises(ServerError, match=r"no encrypted connection .*mail\.ca"):
            mailing.send([letter()], settings(port, **how), "Bob")
    assert box.mails == []


def test_a_server_that_cannot_encrypt_gets_nothing_unless_that_is_wanted() -> None:
    box = Box()
    with served(box) as port, pytest.raises(ServerError, match=r"mail\.security"):
        mailing.send([letter()], settings(port, security="starttls"), "Bob")
    assert box.mails == []


def test_a_server_that_is_not_there_is_named() -> None:
    with nobody_at() as port:
        match = rf"127\.0\.0\.1:{port} cannot be used .*mail.host"
        with pytest.raises(ServerError, match=match):
            mailing.send([letter()], settings(port), "Bob")


def test_without_a_mail_server_it_is_said_what_to_do() -> None:
    with pytest.raises(NoServerError, match=r"set mail\.host"):
        mailing.send([letter()], Settings(), "Bob")


def test_a_name_can_add_no_line_to_the_head_of_a_mail() -> None:
    with pytest.raises(ValueError, match="CR or LF"):
        mailing.message(letter(name="A\r\nBcc: x@example.org"), SENDER, "Bob")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"smtp_host": "m"}, r"meetings\.smtp_host is mail\.host now"),
        ({"webhooks": "https://x.example/hooks"}, "ends with /"),
        ({"webhooks": "https://u@x.example/"}, "no address of a folder"),
        ({"jitsi": "http://x.example"}, "pattern"),
        ({"jitsi": "https://x.example/room"}, "pattern"),
    ],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Meetings(**given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"host": "m"}, r"mail\.sender"),
        ({"username": "u"}, "belong together"),
        ({"username": "u", "password": "p", "security": "none"}, "sent unencrypted"),
        ({"host": "m", "sender": "a@b", "sender_name": "A\nBcc: x@example.org"}, "pattern"),
    ],
)
def test_a_mail_server_that_cannot_work_is_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Mail(**given)

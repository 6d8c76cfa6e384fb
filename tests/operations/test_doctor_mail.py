"""`citywise doctor` tries the mail server: with what is configured, and without a letter."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword

from citywise.backend import machine
from citywise.backend.network.addresses import Names
from citywise.backend.network.certificates import Issued, issued
from citywise.backend.operations.doctor import Finding, examine
from citywise.backend.settings import Mail, Settings
from tests.mail.mail_server import Box, served

SENDER = "city@city.example"


def said(folder: Path, **mail: Any) -> list[Finding]:
    """What it finds of the mail server."""
    options: dict[str, Any] = {"host": "localhost", "sender": SENDER, "timeout_s": 5}
    settings = Settings(data_dir=folder / "none", mail=Mail(**{**options, **mail}))
    return [each for each in examine(settings, running=False) if each.part == "mail"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    return issued(tmp_path_factory.mktemp("tls"), Names(frozenset({"localhost"})))


def knows(_server: Any, _session: Any, _envelope: Any, _how: str, given: Any) -> AuthResult:
    assert isinstance(given, LoginPassword)
    right = (given.login, given.password) == (b"city", b"right")
    return AuthResult(success=right, handled=False)  # else it is not answered


@pytest.fixture(scope="module")
def guarded(certificate: Issued) -> Iterator[Box]:
    """A server that asks for encryption, a name and a password."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate.certificate, certificate.private_key)
    asks = {"require_starttls": True, "auth_required": True, "authenticator": knows}
    box = Box()
    with served(box, tls_context=context, **asks) as box.port:
        yield box


def test_it_is_not_asked_where_there_are_no_letters(tmp_path: Path) -> None:
    assert said(tmp_path, host=None, sender=None) == []


def test_a_server_that_answers_is_fine_and_gets_no_letter(tmp_path: Path) -> None:
    box = Box()
    with served(box) as port:
        (found,) = said(tmp_path, port=port, security="none", host="127.0.0.1")
    assert found.severity == "fine"
    assert f"127.0.0.1:{port} answers (" in found.found
    assert box.mails == []


def test_it_encrypts_and_logs_in_as_configured(
    tmp_path: Path, guarded: Box, certificate: Issued
) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_bytes(certificate.authority.pem)
    known: dict[str, Any] = {"port": guarded.port, "ca": authority, "username": "city"}
    (found,) = said(tmp_path, **known, password="right")
    assert (found.severity, "and knows city" in found.found) == ("fine", True)
    (found,) = said(tmp_path, **known, password="wrong")
    assert found.severity == "error"
    assert "does not know us (535" in found.found
    assert found.cure == "check mail.username and mail.password"
    assert "wrong" not in found.found
    assert guarded.mails == []


def test_what_does_not_encrypt_as_configured_is_told_of(tmp_path: Path, guarded: Box) -> None:
    for security in ("starttls", "tls"):  # one has no authority that vouches for it, one no TLS
        (found,) = said(tmp_path, port=guarded.port, security=security)
        assert (found.severity, "no encrypted connection" in found.found) == ("error", True)
        assert found.cure == f"check mail.security ({security}) and mail.ca"
    with served(Box()) as port:
        (found,) = said(tmp_path, port=port, host="127.0.0.1")
    assert found.cure == "check mail.security (starttls)"


def test_where_nobody_listens_is_told_of(tmp_path: Path) -> None:
    port = machine.free_port()
    (found,) = said(tmp_path, port=port, security="none")
    assert (found.severity, f"localhost:{port} cannot be used" in found.found) == ("error", True)
    assert found.cure == "check mail.host and mail.port, or try again later"


@contextmanager
def dripping(greeting: bytes) -> Iterator[int]:
    """A server that greets, and then says a byte now and then, and never ends its line."""
    over = threading.Event()

    def drip(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.sendall(greeting)
            while not over.wait(0.05):
                client.sendall(b"x")

    def serve() -> None:
        with suppress(OSError):
            drip(server.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as server:
        serving = threading.Thread(target=serve)
        serving.start()
        yield server.getsockname()[1]
        over.set()
        serving.join()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("greeting", [b"", b"220 here\r\n"], ids=["greeting", "afterwards"])
def test_one_that_never_comes_to_an_end_is_given_up(tmp_path: Path, greeting: bytes) -> None:
    with dripping(greeting) as port:
        (found,) = said(tmp_path, port=port, security="none", host="127.0.0.1", timeout_s=0.2)
    assert (found.severity, "cannot be used" in found.found) == ("error", True)

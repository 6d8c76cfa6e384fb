"""The pages over HTTPS with a certificate of our own, and the way in for who does not trust it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from select import select

import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from playwright.sync_api import Error, Page, Playwright

from citywise.backend import cli, machine
from citywise.backend.network import addresses, authority, certificates, hosting, qr_codes, welcome
from citywise.backend.network.addresses import Names
from citywise.backend.network.authority import Authority
from citywise.backend.network.hosting import Hosting
from citywise.backend.settings import Broker, People, Settings, SettingsError, Web
from tests.databases import begun


@dataclass
class Site:
    """A web process that serves HTTPS."""

    hosting: Hosting
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def trusting(self) -> ssl.SSLContext:
        """For a client that trusts the authority and nothing else."""
        assert self.hosting.authority is not None
        return ssl.create_default_context(cadata=self.hosting.authority.pem.decode())

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.hosting.settings.web.port), timeout=60)

    def serial(self) -> int:
        """Serial number of the certificate that is served."""
        context = certificates.pinned(self.certificate)
        with context.wrap_socket(self.connect()) as connection:
            found = connection.getpeercert(binary_form=True)
        assert found is not None
        return x509.load_der_x509_certificate(found).serial_number

    @property
    def certificate(self) -> Path:
        assert self.hosting.settings.web.certificate is not None
        return self.hosting.settings.web.certificate


@contextmanager
def serving(folder: Path) -> Iterator[Site]:
    """The web process as the supervisor starts it."""
    certificates.issued(certificates.folder_of(folder), Names(frozenset({"city.local"})))
    hosted = hosting.hosted(Settings(data_dir=folder), "127.0.0.1", machine.free_port())
    engine = begun(hosted.settings.database_url)
    engine.dispose()
    orders = folder / "orders.json"
    orders.write_text(json.dumps({"settings": hosted.settings.model_dump(mode="json")}))
    log = folder / "web.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "citywise.backend.process", "web", str(orders)],
            stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
            env={k: v for k, v in os.environ.items() if k != "PROMETHEUS_MULTIPROC_DIR"},
        )  # fmt: skip
    site = Site(hosted, process, log)
    with process:
        try:
            deadline = time.monotonic() + 240
            while True:
                try:
                    site.connect().close()
                    break
                except OSError:
                    assert process.poll() is None, log.read_text()
                    assert time.monotonic() < deadline, "the web process does not answer"
                    time.sleep(0.05)
            yield site
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(tmp_path_factory.mktemp("site")) as found:
        yield found


URL = "https://city.local:8443"


@pytest.fixture(scope="module")
def ours() -> Authority:
    return authority.make(Names(frozenset({"city.local"})))


@pytest.mark.slow
def test_who_trusts_the_authority_is_served_under_address_and_name(site: Site) -> None:
    port = site.hosting.settings.web.port
    for host in ("127.0.0.1", "localhost"):
        with urllib.request.urlopen(
            f"https://{host}:{port}/healthz", timeout=120, context=site.trusting
        ) as got:
            assert got.status == HTTPStatus.OK


@pytest.mark.slow
def test_who_does_not_trust_the_authority_gets_no_connection(site: Site) -> None:
    strict = ssl.create_default_context()
    with pytest.raises(ssl.SSLCertVerificationError, match=r"unable to get|self-signed"):
        strict.wrap_socket(site.connect(), server_hostname="127.0.0.1")


@pytest.mark.slow
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_only_versions_of_tls_that_are_safe_are_spoken(site: Site, version: ssl.TLSVersion) -> None:
    context = site.trusting
    context.minimum_version = context.maximum_version = version
    with context.wrap_socket(site.connect(), server_hostname="127.0.0.1") as connection:
        assert connection.version() == version.name.replace("_", ".")


@pytest.mark.slow
def test_broken_handshakes_leave_nothing_in_the_log_and_delay_nobody(site: Site) -> None:
    before = site.log.read_text()
    silent = [site.connect() for _ in range(50)]
    for number, connection in enumerate(silent[:25]):
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n" if number % 2 else b"\x16\x03\x01\x02\x00")
    port = site.hosting.settings.web.port
    url = f"https://127.0.0.1:{port}/healthz"
    with urllib.request.urlopen(url, timeout=120, context=site.trusting) as answer:
        assert answer.status == HTTPStatus.OK
    assert all(not select([each], [], [], 0)[0] for each in silent[25:]), (
        "they are still waited for"
    )
    for connection in silent:
        connection.close()
    time.sleep(0.2)
    assert site.log.read_text() == before


@pytest.mark.slow
@pytest.mark.browser
def test_a_phone_that_trusts_the_authority_gives_position_and_notices(
    site: Site, playwright: Playwright
) -> None:
    """Chromium is told to trust the authority's key, under a name that is not this machine's."""
    assert site.hosting.authority is not None
    port = site.hosting.settings.web.port
    key = site.hosting.authority.certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    pin = base64.b64encode(hashlib.sha256(key).digest()).decode()
    trust = f"--ignore-certificate-errors-spki-list={pin}"
    with opened(playwright, [trust]) as page:
        page.goto(f"https://city.local:{port}/")
        assert page.evaluate("window.isSecureContext")
        assert page.evaluate("'serviceWorker' in navigator && 'Notification' in window")
    with opened(playwright, []) as page, pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
        page.goto(f"https://city.local:{port}/")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("language", ["en", "da", "de"])
def test_the_way_in_can_be_read_by_everybody(
    ours: Authority, playwright: Playwright, language: str
) -> None:
    with welcome.Welcome("127.0.0.1", 0, URL, ours) as way_in, opened(playwright, []) as page:
        page.goto(f"{way_in.shown}?lang={language}")
        assert not page.evaluate("window.isSecureContext")
        page.evaluate((machine.REPOSITORY / "node_modules/axe-core/axe.min.js").read_text())
        assert page.evaluate("axe.run()")["violations"] == []


@contextmanager
def opened(playwright: Playwright, arguments: list[str]) -> Iterator[Page]:
    """A page of a Chromium for which `city.local` is this machine."""
    chromium = playwright.chromium.launch(
        executable_path=str(machine.chromium()),
        args=["--no-sandbox", "--host-resolver-rules=MAP city.local 127.0.0.1", *arguments],
    )
    yield chromium.new_page(bypass_csp=True)
    chromium.close()


def test_a_certificate_that_is_renewed_is_used_without_a_new_start(tmp_path: Path) -> None:
    from citywise.backend.api.server import Handshakes

    made = certificates.issued(tmp_path / "tls", Names())
    settings = Settings(
        data_dir=tmp_path, web=Web(certificate=made.certificate, private_key=made.private_key)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.private_key)
    loaded: list[str] = []
    shaking = Handshakes(settings, context)
    context.load_cert_chain = lambda *given: loaded.append(str(given[0]))  # type: ignore[method-assign]
    shaking.renew()
    assert loaded == []
    made.certificate.unlink()
    certificates.issued(tmp_path / "tls", Names())
    shaking.renew()
    shaking.renew()
    assert loaded == [str(made.certificate)]


# -- which settings serve a network ---------------------------------------------------


def test_a_network_is_served_with_a_certificate_of_our_own_and_devices_by_tls(
    tmp_path: Path,
) -> None:
    found = hosting.hosted(Settings(data_dir=tmp_path), "localhost", 9443)
    web, broker = found.settings.web, found.settings.broker
    assert (web.host, web.port, web.public_url) == ("127.0.0.1", 9443, "https://localhost:9443")
    assert web.certificate == tmp_path / "tls" / "server.pem"
    assert broker.devices_port
    assert found.authority is not None
    assert any(found.authority.fingerprint in line for line in found.lines("http://x/"))


def test_a_certificate_that_is_given_is_used_and_no_authority_is_made(tmp_path: Path) -> None:
    web = Web(certificate=Path("chain.pem"), private_key=Path("key.pem"), port=9444)
    broker = Broker(embedded=False)
    given = Settings(data_dir=tmp_path, web=web, broker=broker)
    found = hosting.hosted(given, "127.0.0.1", None)
    assert found.authority is None
    assert found.settings.web.certificate == Path("chain.pem")
    assert found.settings.web.port == 9444
    assert not found.settings.broker.devices_port
    assert list(tmp_path.iterdir()) == []


def test_the_demo_user_is_not_served_to_a_network(tmp_path: Path) -> None:
    demo = Settings(data_dir=tmp_path, people=People(demo_user=True))
    outward = next(a for a in addresses.local() if not a.is_loopback)
    with pytest.raises(SettingsError, match=r"people\.demo_user"):
        hosting.hosted(demo, str(outward), None)


def test_the_code_for_phones_holds_the_address() -> None:
    code = qr_codes.in_terminal("http://192.168.1.20:8444/")
    assert len(code.splitlines()) > 10
    assert code != qr_codes.in_terminal("http://192.168.1.21:8444/")


def test_the_command_says_where_to_go_and_shows_it_as_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system itself is not started."""
    config, port = tmp_path / "city.toml", machine.free_port()
    config.write_text(f'data_dir = "{tmp_path}"\n')
    runs: list[tuple[Settings, str]] = []

    def run(
        settings: Settings,
        _play: None,
        _for: None,
        _verbose: bool,
        more: list[str],
        *_given: object,
    ) -> None:
        runs.append((settings, "\n".join(more)))

    monkeypatch.setattr(cli, "_run", run)
    arguments = ["run", "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    result = CliRunner().invoke(cli.cli, arguments)
    assert result.exit_code == 0, result.output
    ((settings, said),) = runs
    assert settings.web.public_url == f"https://127.0.0.1:{port}"
    (way_in,) = re.findall(r"this network: (http://\S+)", said)
    assert qr_codes.in_terminal(way_in) in said


# -- the way in -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "languages", "says"),
    [
        ("/", "da-DK,da;q=0.9,en;q=0.8", "Åbn Citywise på denne enhed"),
        ("/", "de,en;q=0.5", "Citywise auf diesem Gerät öffnen"),
        ("/", "fi,en;q=0.5", "Open Citywise on this device"),
        ("/", "en", 'href="/?lang=de" hreflang="de" lang="de">Deutsch</a>'),
        ("/", "", "Open Citywise on this device"),
        ("/?lang=da", "en", "Åbn Citywise på denne enhed"),
        ("/?lang=../../x", "", "Open Citywise on this device"),
    ],
)
def test_the_way_in_explains_in_the_readers_language(
    ours: Authority, path: str, languages: str, says: str
) -> None:
    found = welcome.answer(path, languages, URL, "city.local", ours)
    text = found.body.decode()
    assert found.status == HTTPStatus.OK
    assert says in text
    assert ours.fingerprint in text
    assert f'href="{URL}/"' in text
    assert f'href="{welcome.CERTIFICATE}"' in text
    assert "<script" not in text
    assert "$" not in text


def test_the_certificate_is_given_as_phones_install_it(ours: Authority) -> None:
    found = welcome.answer(welcome.CERTIFICATE, "", URL, "city.local", ours)
    assert found.kind == "application/x-x509-ca-cert"
    assert x509.load_der_x509_certificate(found.body) == ours.certificate


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("/map?x=1", f"{URL}/map?x=1"),
        ("//evil.example/x", f"{URL}/x"),
        ("http://evil.example/x", f"{URL}/x"),
        ("/server-key.pem", f"{URL}/server-key.pem"),
        ("/../tls/ca-key.pem", f"{URL}/../tls/ca-key.pem"),
    ],
)
def test_everything_else_leads_to_https_and_nowhere_else(
    ours: Authority, path: str, leads_to: str
) -> None:
    found = welcome.answer(path, "", URL, "city.local", ours)
    assert (found.status, found.location) == (HTTPStatus.PERMANENT_REDIRECT, leads_to)
    assert found.body == b""


def test_with_a_certificate_that_everybody_trusts_there_is_nothing_to_explain() -> None:
    for path in ("/", welcome.CERTIFICATE):
        assert welcome.answer(path, "", URL, "city.local", None).location == URL + path


def test_the_way_in_is_served_over_plain_http(ours: Authority) -> None:
    with welcome.Welcome("127.0.0.1", 0, "https://127.0.0.1:8443", ours) as server:
        with urllib.request.urlopen(server.shown, timeout=120) as answer:
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            assert "script-src" not in answer.headers["Content-Security-Policy"]
        head = urllib.request.Request(server.shown, method="HEAD")
        with urllib.request.urlopen(head, timeout=120) as answer:
            assert answer.read() == b""
        post = urllib.request.Request(server.shown, data=b"x")
        with pytest.raises(urllib.error.HTTPError, match="501") as refused:
            urllib.request.urlopen(post, timeout=120)
        refused.value.close()


def test_where_no_port_is_free_for_it_the_ports_are_named(ours: Authority) -> None:
    with pytest.raises(welcome.WelcomeError, match="port 80 nor 65536 of"):
        welcome.welcome("203.0.113.1", 65535, URL, ours)

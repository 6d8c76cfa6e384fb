"""Our own certificate authority vouches for this machine, and can vouch for nothing else."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from citywise.backend.network import addresses, authority, certificates
from citywise.backend.network.addresses import Names
from citywise.backend.network.certificates import Issued
from citywise.backend.network.secret_files import replace

HERE = Names(frozenset({"city.example"}), frozenset({ipaddress.ip_address("192.168.7.7")}))


def names(*texts: str) -> Names:
    found = Names()
    for text in texts:
        try:
            found |= Names(addresses=frozenset({ipaddress.ip_address(text)}))
        except ValueError:
            found |= Names(hosts=frozenset({text}))
    return found


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    return certificates.issued(tmp_path_factory.mktemp("data") / "tls", HERE)


def served(issued: Issued) -> x509.Certificate:
    return x509.load_pem_x509_certificate(issued.certificate.read_bytes())


def verdict(authority_pem: bytes, certificate: Path, key: Path, host: str) -> str:
    """What a client that trusts one authority, and nothing else, says of a server as `host`."""
    trusting = ssl.create_default_context(cadata=authority_pem.decode())
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    ours, theirs = socket.socketpair()
    failures: list[Exception] = []

    def serve() -> None:
        try:
            with serving.wrap_socket(theirs, server_side=True):
                pass
        except (ssl.SSLError, OSError) as error:
            failures.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with ours, trusting.wrap_socket(ours, server_hostname=host):
            return "trusted"
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    finally:
        theirs.close()
        thread.join()


@pytest.mark.parametrize("host", ["city.example", "192.168.7.7", "localhost", "127.0.0.1", "::1"])
def test_whoever_trusts_the_authority_trusts_the_server_under_its_names(
    issued: Issued, host: str
) -> None:
    said = verdict(issued.authority.pem, issued.certificate, issued.private_key, host)
    assert said == "trusted"


@pytest.mark.parametrize("host", ["other.example", "192.168.7.8", "bank.example"])
def test_the_server_is_nobody_else(issued: Issued, host: str) -> None:
    said = verdict(issued.authority.pem, issued.certificate, issued.private_key, host)
    assert "mismatch" in said


@pytest.mark.parametrize(
    "host",
    ["bank.example", "8.8.8.8", "other.city", "2001:db8::1", "notcity.example", "example"],
)
def test_the_authority_cannot_vouch_for_anybody_outside(
    issued: Issued, tmp_path: Path, host: str
) -> None:
    """Even somebody who stole its key can make no certificate that a phone believes."""
    key = ec.generate_private_key(ec.SECP256R1())
    forged = issued.authority.sign(key.public_key(), names(host))
    certificate, key_file = tmp_path / "forged.pem", tmp_path / "key.pem"
    certificate.write_bytes(forged.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(authority.key_text(key))
    said = verdict(issued.authority.pem, certificate, key_file, host)
    assert said == "permitted subtree violation"
    assert issued.authority.permitted(names(host)) == Names()


def test_certificates_live_as_long_as_browsers_allow_and_only_serve(issued: Issued) -> None:
    found, root = served(issued), issued.authority.certificate
    assert found.not_valid_after_utc - found.not_valid_before_utc <= timedelta(days=397)
    assert root.not_valid_after_utc > datetime.now(UTC) + timedelta(days=3600)
    for each in (found, root):
        usage = each.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert [purpose._name for purpose in usage] == ["serverAuth"]
    assert root.extensions.get_extension_for_class(x509.NameConstraints).critical
    assert root.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0


def test_keys_are_their_owners_alone(issued: Issued) -> None:
    folder = issued.certificate.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_authority_and_certificate_are_kept_from_start_to_start(issued: Issued) -> None:
    before = issued.certificate.stat().st_mtime_ns, issued.authority.fingerprint
    again = certificates.issued(issued.certificate.parent, HERE)
    assert (again.certificate.stat().st_mtime_ns, again.authority.fingerprint) == before


def test_a_new_private_address_gives_a_new_certificate_of_the_same_authority(
    tmp_path: Path,
) -> None:
    first = certificates.issued(tmp_path / "tls", HERE)
    second = certificates.issued(tmp_path / "tls", HERE | names("10.1.2.3", "city.local"))
    assert second.authority.fingerprint == first.authority.fingerprint
    said = verdict(first.authority.pem, second.certificate, second.private_key, "10.1.2.3")
    assert said == "trusted"


def test_a_name_that_the_authority_may_not_speak_for_needs_a_new_one(tmp_path: Path) -> None:
    first = certificates.issued(tmp_path / "tls", HERE)
    second = certificates.issued(tmp_path / "tls", names("town.example"))
    assert second.authority.fingerprint != first.authority.fingerprint
    said = verdict(second.authority.pem, second.certificate, second.private_key, "town.example")
    assert said == "trusted"


@pytest.mark.parametrize(("days", "is_new"), [(200, False), (380, True)])
def test_a_certificate_is_renewed_before_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, is_new: bool
) -> None:
    first = certificates.issued(tmp_path / "tls", HERE)
    before = served(first)

    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(days=days)

    for module in (certificates, authority):
        monkeypatch.setattr(module, "datetime", Later)
    certificates.renew(tmp_path / "tls")
    after = served(first)
    assert (after.serial_number != before.serial_number) == is_new
    kept = [certificates._names(each) for each in (before, after)]
    assert kept[0] == kept[1]


def test_a_client_of_ours_knows_the_servers_own_certificate_again(issued: Issued) -> None:
    context = certificates.pinned(issued.certificate)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two addresses, whose name is `hall`."""
    found = [ipaddress.ip_address(text) for text in ("127.0.0.1", "10.0.0.5", "fd00::5")]
    monkeypatch.setattr(addresses, "local", lambda: found)
    monkeypatch.setattr(addresses, "_outward", lambda: found[1])
    monkeypatch.setattr(socket, "gethostname", lambda: "hall.town.example")
    answers = {"hall.local": "10.0.0.5", "elsewhere.example": "203.0.113.9"}

    def look_up(name: str, *_given: object, **_more: object) -> list[tuple[object, ...]]:
        if name not in answers:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers[name], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.mark.parametrize(
    ("given", "listen", "url"),
    [
        ("10.0.0.5", "10.0.0.5", "10.0.0.5"),
        ("0.0.0.0", "0.0.0.0", "10.0.0.5"),
        ("fd00::5", "fd00::5", "[fd00::5]"),
        ("[fd00::5]", "fd00::5", "[fd00::5]"),
        ("Hall.local", "10.0.0.5", "hall.local"),
    ],
)
def test_an_address_or_name_of_this_machine_can_be_served(
    own: None, given: str, listen: str, url: str
) -> None:
    host = addresses.of(given)
    assert (host.listen, host.in_url) == (listen, url)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("203.0.113.9", "203.0.113.9 is no address of this machine; it has 10.0.0.5, 127.0.0.1"),
        ("elsewhere.example", "leads to 203.0.113.9, which is not this machine"),
        ("nowhere.example", "leads nowhere (Name or service not known); give an address of"),
        ("what is this?", "neither an address nor the name of a host"),
    ],
)
def test_what_is_not_this_machine_is_refused_with_what_would_do(
    own: None, given: str, says: str
) -> None:
    with pytest.raises(addresses.AddressError, match=re.escape(says)):
        addresses.of(given)


def test_names_of_this_machine_under_which_it_is_always_known(own: None) -> None:
    assert addresses.always().hosts == {"localhost", "hall.town.example", "hall.local"}


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    replace(file, b"old")
    replace(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_a_certificate_and_a_key_that_do_not_belong_together_are_made_anew(tmp_path: Path) -> None:
    """A start may be cut short between the two, or a file be lost; names alone do not tell."""
    for lost in ("server-key.pem", "ca-key.pem"):
        there = certificates.issued(tmp_path, HERE)
        key = authority.key_text(ec.generate_private_key(ec.SECP256R1()))
        replace(tmp_path / lost, key)
        if lost == "ca-key.pem":
            there.certificate.unlink()  # signed before, it would do
        there = certificates.issued(tmp_path, HERE)
        said = verdict(there.authority.pem, there.certificate, there.private_key, "city.example")
        assert said == "trusted", lost

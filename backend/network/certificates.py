"""The server's certificate: made by our own authority, and renewed before it ends."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from citywise.backend.network import addresses, authority
from citywise.backend.network.addresses import Names
from citywise.backend.network.authority import Authority
from citywise.backend.network.secret_files import replace

RENEW_BEFORE = timedelta(days=30)


@dataclass(frozen=True)
class Issued:
    """A server's certificate and its key, as files, and who issued it."""

    certificate: Path
    """The chain, the server's first (PEM)."""
    private_key: Path
    authority: Authority


def folder_of(data_dir: Path) -> Path:
    """Where authority, certificate and keys are."""
    return data_dir.resolve() / "tls"


def issued(folder: Path, names: Names) -> Issued:
    """A certificate for `names` and for what this machine is called anyway.

    Authority and certificate are made where there are none, and kept from start to start: the
    certificate is made anew where names are missing in it or its time is nearly over.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    issuer = authority.opened(folder, names)
    wanted = names | issuer.permitted(addresses.always())
    file, key_file = folder / "server.pem", folder / "server-key.pem"
    if not key_file.is_file():
        replace(key_file, authority.key_text(ec.generate_private_key(ec.SECP256R1())))
    present, key = _read(file), authority.read_key(key_file).public_key()
    if present is None or present.public_key() != key or not _serves(present, issuer, wanted):
        made = issuer.sign(key, wanted)
        replace(file, made.public_bytes(serialization.Encoding.PEM) + issuer.pem)
    return Issued(file, key_file, issuer)


def renew(folder: Path) -> None:
    """Make the certificate of a folder anew if its time is nearly over; the names stay."""
    present, issuer = _read(folder / "server.pem"), authority.read(folder)
    if present is not None and issuer is not None:
        issued(folder, issuer.permitted(_names(present)))


def is_ours(certificate: Path | None, data_dir: Path) -> bool:
    """Whether a certificate is one of `issued`, and not one that we were given."""
    return certificate is not None and certificate.parent == folder_of(data_dir)


def pinned(certificate: Path) -> ssl.SSLContext:
    """For a client on this machine that asks its own server: this certificate, and no other."""
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _serves(present: x509.Certificate, issuer: Authority, wanted: Names) -> bool:
    names = _names(present)
    return (
        _is_signed_by(present, issuer)
        and names | wanted == names
        and present.not_valid_after_utc > datetime.now(UTC) + RENEW_BEFORE
    )


def _is_signed_by(certificate: x509.Certificate, issuer: Authority) -> bool:
    """Names do not tell: authorities that are made on one day are called alike."""
    try:
        certificate.verify_directly_issued_by(issuer.certificate)
    except (ValueError, InvalidSignature):
        return False
    return True


def _names(certificate: x509.Certificate) -> Names:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return Names(
        frozenset(found.get_values_for_type(x509.DNSName)),
        frozenset(
            address
            for address in found.get_values_for_type(x509.IPAddress)
            if isinstance(address, IPv4Address | IPv6Address)
        ),
    )


def _read(file: Path) -> x509.Certificate | None:
    return x509.load_pem_x509_certificate(file.read_bytes()) if file.is_file() else None

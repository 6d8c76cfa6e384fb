"""A certificate authority of one's own, for phones to trust.

Its certificate names what it may speak for (RFC 5280, 4.2.1.10): private addresses, `.local`
names, and the host it was made for. Whoever trusts it risks nothing elsewhere, even if its key
were stolen.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from citywise.backend.network.addresses import Address, Names
from citywise.backend.network.secret_files import replace

YEARS = 10
LEAF_DAYS = 397
"""Browsers refuse certificates that are valid longer."""
PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16",
        "127.0.0.0/8", "fc00::/7", "fe80::/10", "::1/128",
    )
)  # fmt: skip
PRIVATE_HOSTS = ("localhost", "local", "home.arpa")
"""These and all names below them."""
_EARLY = timedelta(hours=1)
"""Clocks of phones may be behind."""


@dataclass(frozen=True)
class Authority:
    """A certificate authority: its certificate, and the key that it signs with."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, as phones show it."""
        return self.certificate.fingerprint(hashes.SHA256()).hex(":").upper()

    @property
    def pem(self) -> bytes:
        """The certificate as text."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def der(self) -> bytes:
        """The certificate as phones take it."""
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def permitted(self, names: Names) -> Names:
        """Those of some names for which it may speak."""
        constraints = self.certificate.extensions.get_extension_for_class(x509.NameConstraints)
        subtrees = constraints.value.permitted_subtrees or []
        hosts = {tree.value for tree in subtrees if isinstance(tree, x509.DNSName)}
        given = [tree.value for tree in subtrees if isinstance(tree, x509.IPAddress)]
        networks = [n for n in given if isinstance(n, IPv4Network | IPv6Network)]
        return Names(
            frozenset(
                name
                for name in names.hosts
                if any(name == host or name.endswith(f".{host}") for host in hosts)
            ),
            frozenset(a for a in names.addresses if any(a in network for network in networks)),
        )

    def sign(self, key: ec.EllipticCurvePublicKey, names: Names) -> x509.Certificate:
        """A server's certificate for some names, with the server's public key."""
        now = datetime.now(UTC)
        alternatives = [x509.DNSName(name) for name in sorted(names.hosts)] + [
            x509.IPAddress(address) for address in sorted(names.addresses, key=_order)
        ]
        last = self.certificate.not_valid_after_utc
        builder = (
            _builder(key, "Citywise", self.certificate.subject)
            .not_valid_before(now - _EARLY)
            .not_valid_after(min(now - _EARLY + timedelta(days=LEAF_DAYS), last))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )
        return builder.sign(self.key, hashes.SHA256())


def make(names: Names) -> Authority:
    """A new authority, which may speak for `names` and for what is private."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    title = f"Citywise {now:%Y-%m-%d} ({_label(names)})"
    builder = (
        _builder(key.public_key(), title, None)
        .not_valid_before(now - _EARLY)
        .not_valid_after(now + timedelta(days=365 * YEARS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(_constraints(names), critical=True)
    )
    return Authority(builder.sign(key, hashes.SHA256()), key)


def opened(folder: Path, names: Names) -> Authority:
    """The authority of a folder; a new one where there is none yet, where the one there may not
    speak for all `names`, or where its time is nearly over."""
    found = read(folder)
    if found is not None and found.permitted(names) == names and not _is_nearly_over(found):
        return found
    made = make(names)
    replace(folder / "ca-key.pem", key_text(made.key))
    replace(folder / "ca.pem", made.pem)
    return made


def read(folder: Path) -> Authority | None:
    """The authority of a folder, or None where there is none, or where certificate and key do
    not belong together (a start may have been cut short between them)."""
    file, key_file = folder / "ca.pem", folder / "ca-key.pem"
    if not (file.is_file() and key_file.is_file()):
        return None
    certificate, key = x509.load_pem_x509_certificate(file.read_bytes()), read_key(key_file)
    return Authority(certificate, key) if certificate.public_key() == key.public_key() else None


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """A private key of ours."""
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def key_text(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A private key as text, not encrypted: the file's rights protect it."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _is_nearly_over(authority: Authority) -> bool:
    last = authority.certificate.not_valid_after_utc
    return last < datetime.now(UTC) + timedelta(days=LEAF_DAYS)


def _builder(
    key: ec.EllipticCurvePublicKey, title: str, issuer: x509.Name | None
) -> x509.CertificateBuilder:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title[:64])])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _constraints(names: Names) -> x509.NameConstraints:
    hosts = sorted({*PRIVATE_HOSTS, *names.hosts})
    more = {ipaddress.ip_network(a) for a in names.addresses}
    outside = [network for network in more if not any(_within(network, p) for p in PRIVATE)]
    return x509.NameConstraints(
        permitted_subtrees=[
            *(x509.DNSName(host) for host in hosts),
            *(x509.IPAddress(network) for network in (*PRIVATE, *sorted(outside, key=str))),
        ],
        excluded_subtrees=None,
    )


def _within(network: IPv4Network | IPv6Network, wider: object) -> bool:
    if isinstance(network, IPv4Network) and isinstance(wider, IPv4Network):
        return network.subnet_of(wider)
    if isinstance(network, IPv6Network) and isinstance(wider, IPv6Network):
        return network.subnet_of(wider)
    return False


def _label(names: Names) -> str:
    """What tells one's authorities apart on a phone."""
    return (sorted(names.hosts) + sorted(map(str, names.addresses)) + ["this machine"])[0]


def _order(address: Address) -> tuple[int, int]:
    return address.version, int(address)

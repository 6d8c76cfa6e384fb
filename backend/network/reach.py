"""Where we connect to when somebody names the address: decided by IP address, never by name.

Two rules. What a stranger names must be public (`is_public`). What an operator names may be inside
our networks, but not on the machine's own link: there clouds tell a machine its secrets.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
from collections.abc import Callable, Collection, Iterator
from typing import Any

_LONGEST_S = 10.0
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")
)
"""Where clouds tell a machine its secrets, beside 169.254.169.254: Alibaba, Azure, Oracle, AWS."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class OwnLinkError(OSError):
    """An address of the machine's own link, or of its cloud; nothing is asked there."""


def is_public(text: str) -> bool:
    """Whether everybody on the Internet can reach an IP address."""
    found = list(_meant(text))
    return all(address.is_global for address in found) and not found[0].is_multicast


def is_own_link(text: str) -> bool:
    """Whether an IP address is link-local, multicast, or one of a cloud's for its machines."""
    return any(
        address.is_link_local or address.is_multicast or address in _METADATA
        for address in _meant(text)
    )


def _meant(text: str) -> Iterator[Address]:
    """An address, and the IPv4 address that is written in it."""
    address = ipaddress.ip_address(text.partition("%")[0])
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            yield inner


def named(host: str, port: int, allowed: Collection[str]) -> bool:
    """Whether the operator has allowed a host, as HOST or HOST:PORT."""
    return host in allowed or (f"[{host}]:{port}" if ":" in host else f"{host}:{port}") in allowed


def connected(
    host: str, port: int, timeout_s: float | None, allowed: Collection[str]
) -> socket.socket:
    """A connection to a host that an operator has named, at an address that was looked at.

    Raises `OwnLinkError` if any of its addresses is one of the own link and `allowed` does not name
    the host; another `OSError` if it cannot be reached.
    """
    told = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_more, place in told:
        if is_own_link(str(place[0])) and not named(host, port, allowed):
            raise OwnLinkError(
                f"{host} is at {place[0]}, an address of the machine's own link or cloud; "
                "nothing is asked there unless the settings allow it (fetching.allow)"
            )
    failed: OSError = OSError(f"{host} has no address")
    for *_more, place in told:
        try:
            return socket.create_connection((str(place[0]), port), timeout_s or _LONGEST_S)
        except OSError as error:
            failed = error
    raise failed


def guarded(
    sort: type[http.client.HTTPConnection], allowed: Collection[str]
) -> Callable[..., http.client.HTTPConnection]:
    """Makes connections to nowhere on our own link, wherever a name or a redirection leads."""

    def create(
        address: tuple[str, int], timeout: float | None, _source: object = None
    ) -> socket.socket:
        return connected(*address, timeout, allowed)

    def make(host: str, **more: Any) -> http.client.HTTPConnection:
        connection = sort(host, **more)
        # The one place where http.client lets others connect; TLS and proxies come after it.
        connection._create_connection = create  # type: ignore[attr-defined]
        return connection

    return make

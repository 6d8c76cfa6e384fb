"""Where this machine is on its networks, and where it is asked to serve."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

import psutil

from citywise.backend.errors import CitywiseError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAME = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*")
_OUTSIDE = ("192.0.2.1", 9)
"""An address for documentation (RFC 5737): asking the way there sends nothing."""


class AddressError(CitywiseError):
    """An address that this machine cannot serve at; the message says what would do."""


@dataclass(frozen=True)
class Names:
    """What a server is called: names of hosts, and addresses."""

    hosts: frozenset[str] = frozenset()
    addresses: frozenset[Address] = frozenset()

    def __or__(self, other: Names) -> Names:
        return Names(self.hosts | other.hosts, self.addresses | other.addresses)


@dataclass(frozen=True)
class Host:
    """Where to serve: the address to listen at, and what people write in their browsers."""

    listen: str
    shown: str
    names: Names

    @property
    def in_url(self) -> str:
        """`shown` as a URL has it."""
        return f"[{self.shown}]" if ":" in self.shown else self.shown


def of(text: str) -> Host:
    """The host that an address or a name of this machine means.

    `0.0.0.0` and `::` are all its addresses. Raises `AddressError` for what is not of this
    machine.
    """
    own = local()
    try:
        address: Address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return _named(text.lower().rstrip("."), own)
    if address.is_unspecified:
        outward = _outward() or min(own, key=str)
        return Host(str(address), str(outward), Names(addresses=frozenset(own)))
    if address not in own:
        raise AddressError(f"{text} is no address of this machine; it has {_listed(own)}")
    return Host(str(address), str(address), Names(addresses=frozenset({address})))


def _named(name: str, own: list[Address]) -> Host:
    if not _NAME.fullmatch(name):
        raise AddressError(f"`{name}` is neither an address nor the name of a host")
    try:
        answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise AddressError(
            f"`{name}` leads nowhere ({error.strerror}); give an address of this machine: "
            f"{_listed(own)}"
        ) from error
    found = [ipaddress.ip_address(str(answer[4][0]).split("%")[0]) for answer in answers]
    for address in found:
        if address in own:
            return Host(str(address), name, Names(frozenset({name}), frozenset({address})))
    raise AddressError(
        f"`{name}` leads to {_listed(found)}, which is not this machine; it has {_listed(own)}"
    )


def local() -> list[Address]:
    """The addresses of this machine, without those that are valid on one link only."""
    found = []
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family in (socket.AF_INET, socket.AF_INET6) and "%" not in each.address:
                address = ipaddress.ip_address(each.address)
                if not (address.version == 6 and address.is_link_local):
                    found.append(address)
    return found


def always() -> Names:
    """What a server on this machine is called anyway: `localhost`, its name and addresses."""
    name = socket.gethostname().lower()
    hosts = {"localhost"}
    if _NAME.fullmatch(name):
        hosts |= {name, name.split(".")[0] + ".local"}
    return Names(frozenset(hosts), frozenset(local()))


def _outward() -> Address | None:
    """The address under which others see this machine, if it has a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        try:
            connection.connect(_OUTSIDE)
        except OSError:
            return None
        address = ipaddress.ip_address(connection.getsockname()[0])
    return None if address.is_unspecified else address


def _listed(addresses: list[Address]) -> str:
    return ", ".join(sorted({str(address) for address in addresses})) or "none"

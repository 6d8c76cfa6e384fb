"""The address at which people reach the pages, for links that are sent to others."""

from __future__ import annotations

import ipaddress
from functools import cache
from urllib.parse import urlsplit

from flask import request

from citywise.backend.network import addresses
from citywise.backend.network.addresses import Names
from citywise.backend.settings import Web


def origin(web: Web) -> str:
    """Scheme, host and port for a link.

    Anybody can write any host into the head of a request. Without `web.public_url` it counts
    where it is this machine's, or a trusted proxy vouches for it.
    """
    if web.public_url is not None:
        return web.public_url
    if web.trusted_proxies or is_ours(request.host, web):
        return request.host_url.rstrip("/")
    host = f"[{web.host}]" if ":" in web.host else web.host
    return f"{request.scheme}://{host}:{web.port}"


def is_ours(host: str, web: Web) -> bool:
    """Whether the head of a request names this machine; `host` may have a port."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if name in (web.host.lower(), "localhost"):
        return True
    names = _always()
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name in names.hosts
    return address.is_loopback or address in names.addresses


@cache
def _always() -> Names:
    """Interfaces come and go seldom; whoever has others sets `web.public_url`."""
    return addresses.always()

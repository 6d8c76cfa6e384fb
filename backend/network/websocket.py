"""Where browsers reach the broker: MQTT over WebSocket."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from citywise.backend.settings import Settings

_NAME = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]")


def address(settings: Settings, host: str) -> str | None:
    """The broker's address for a browser that has our pages from `host` (name, and port if any).

    None where there is none: an external broker or a proxy of which `broker.websocket_url` does
    not say where it listens.
    """
    broker = settings.broker
    if broker.websocket_url is not None:
        return broker.websocket_url
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if not is_open(settings) or not broker.websocket_port or not _NAME.fullmatch(name):
        return None
    scheme = "wss" if settings.web.certificate is not None else "ws"
    return f"{scheme}://{name}:{broker.websocket_port}"


def origin(url: str) -> str:
    """What a content security policy calls an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def is_open(settings: Settings) -> bool:
    """Whether the embedded broker listens for browsers: over TLS, or on this machine only."""
    web = settings.web
    is_reached = web.certificate is not None or (web.is_local and web.public_url is None)
    return settings.broker.embedded and is_reached

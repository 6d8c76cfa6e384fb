"""Headers that keep the pages to themselves: a strict Content-Security-Policy and others."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from flask import Flask, Response, g

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), payment=(), usb=()",
}


def nonce() -> str:
    """The nonce of the current request's inline scripts and styles."""
    if "nonce" not in g:
        g.nonce = secrets.token_urlsafe(18)
    value = g.nonce
    assert isinstance(value, str)
    return value


def tile_source(template: str | None) -> str:
    """The CSP source of a tile server's URL template; empty without one."""
    if not template:
        return ""
    address = urlsplit(template.replace("{s}", "*"))
    return f" {address.scheme}://{address.netloc}"


def policy(nonce_value: str, tiles: str | None) -> str:
    """Only our own host, only our own scripts and styles; tiles where they are configured."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce_value}'",
            f"style-src 'self' 'nonce-{nonce_value}'",
            f"img-src 'self' data:{tile_source(tiles)}",
            "font-src 'self'",
            "connect-src 'self'",
            "manifest-src 'self'",
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


def install(app: Flask, tiles: str | None) -> None:
    """Add the headers to every answer of `app`."""

    @app.after_request
    def _secure(answer: Response) -> Response:
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        answer.headers["Content-Security-Policy"] = policy(nonce(), tiles)
        return answer

"""Headers that keep the pages to themselves and what is personal out of every cache."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from werkzeug.middleware.proxy_fix import ProxyFix

from backend.network import certificates
from backend.settings import Settings

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), payment=(), usb=(), geolocation=(self)",
}
_YEAR_S = 365 * 24 * 3600


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


def install(app: Flask, settings: Settings) -> None:
    """Add the headers to every answer of `app`, and believe the proxies that are trusted."""
    web = settings.web
    # Who has yet to trust our own authority comes to its page by HTTP.
    strict = not certificates.is_ours(web.certificate, settings.data_dir)
    if web.trusted_proxies:
        count = web.trusted_proxies
        app.wsgi_app = ProxyFix(  # type: ignore[method-assign]
            app.wsgi_app, x_for=count, x_proto=count, x_host=count
        )

    @app.after_request
    def _secure(answer: Response) -> Response:
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        answer.headers["Content-Security-Policy"] = policy(nonce(), web.tiles)
        if request.is_secure and strict:
            answer.headers["Strict-Transport-Security"] = f"max-age={_YEAR_S}"
        if "principal" in g:
            # It was asked who asks: the answer is theirs, and no cache's.
            answer.headers["Cache-Control"] = "no-store"
            answer.vary.update(("Authorization", "Cookie"))
        return answer

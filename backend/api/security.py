"""Headers that keep the pages to themselves and what is personal out of every cache."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.middleware.proxy_fix import ProxyFix

from citywise.backend.settings import Settings

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FEATURES = {
    **dict.fromkeys(("camera", "payment", "usb"), ""),
    **dict.fromkeys(("geolocation", "microphone", "accelerometer", "gyroscope"), "self"),
}
Directive = Literal["connect-src", "frame-src", "script-src"]
Feature = Literal["camera", "microphone", "display-capture"]
Grant = Directive | Feature
_ORIGIN = re.compile(r"(https|http|wss|ws)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?")
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


def allow(directive: Directive, source: str) -> None:
    """Let the page that is being answered, and it alone, use a source beside our own host.

    `source` is an origin: scheme, name and port. Raises `ValueError` for what is none.
    """
    if not _ORIGIN.fullmatch(source):
        raise ValueError(f"`{source}` is no origin such as https://meet.example.org")
    _allowed().append((directive, source))


def delegate(feature: Feature, origin: str) -> None:
    """Let the page that is being answered, and it alone, and its frames of an origin use a part
    of the device. Raises `ValueError` for what is no origin."""
    if not _ORIGIN.fullmatch(origin):
        raise ValueError(f"`{origin}` is no origin such as https://meet.example.org")
    g.setdefault("delegated_features", {}).setdefault(feature, []).append(origin)


def grant(origin: str, what: Iterable[Grant]) -> None:
    """Let the page that is being answered, and it alone, use another origin: load what the
    directives say, and let its frames use parts of the device."""
    for one in what:
        match one:
            case "connect-src" | "frame-src" | "script-src":
                allow(one, origin)
            case "camera" | "microphone" | "display-capture":
                delegate(one, origin)
            case _:
                raise ValueError(f"`{one}` is nothing that a page may be granted")


def permissions(delegated: Mapping[str, Sequence[str]]) -> str:
    """What a page and its frames may use of the device."""
    features = dict(_FEATURES)
    for feature, origins in delegated.items():
        features[feature] = " ".join(("self", *(f'"{origin}"' for origin in origins)))
    return ", ".join(f"{name}=({allowed})" for name, allowed in features.items())


def policy(
    nonce_value: str, tiles: str | None, allowed: Sequence[tuple[Directive, str]] = ()
) -> str:
    """Only our own host, only our own scripts and styles; tiles where they are configured, and
    what a page asked for."""
    directives = {
        "default-src": "'none'",
        "script-src": f"'self' 'nonce-{nonce_value}'",
        "style-src": f"'self' 'nonce-{nonce_value}'",
        "img-src": f"'self' data:{tile_source(tiles)}",
        "font-src": "'self'",
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "worker-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    for directive, source in allowed:
        directives[directive] = f"{directives.get(directive, '')} {source}".strip()
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


def _allowed() -> list[tuple[Directive, str]]:
    if "allowed_sources" not in g:
        g.allowed_sources = []
    found = g.allowed_sources
    assert isinstance(found, list)
    return found


def _is_ours(certificate: Path, data_dir: Path) -> bool:
    # Here, as few systems speak HTTPS themselves, and every web process would wait for it.
    from citywise.backend.network import certificates

    return certificates.is_ours(certificate, data_dir)


def install(app: Flask, settings: Settings) -> None:
    """Add the headers to every answer of `app`, and believe the proxies that are trusted."""
    web = settings.web
    # Who has yet to trust our own authority comes to its page by HTTP.
    strict = web.certificate is None or not _is_ours(web.certificate, settings.data_dir)
    if web.trusted_proxies:
        count = web.trusted_proxies
        app.wsgi_app = ProxyFix(  # type: ignore[method-assign]
            app.wsgi_app, x_for=count, x_proto=count, x_host=count
        )

    @app.before_request
    def _whole() -> None:
        """A body whose length nobody said is cut at the limit without a word by what reads it."""
        limit, environ = request.max_content_length, request.environ
        is_open = request.content_length is None and environ.get("wsgi.input_terminated")
        if limit and is_open and len(request.get_data()) >= limit:
            raise RequestEntityTooLarge

    @app.context_processor
    def _nonce() -> dict[str, str]:
        return {"nonce": nonce()}

    @app.after_request
    def _secure(answer: Response) -> Response:
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        answer.headers["Permissions-Policy"] = permissions(g.get("delegated_features", {}))
        answer.headers["Content-Security-Policy"] = policy(nonce(), web.tiles, _allowed())
        if request.is_secure and strict:
            answer.headers["Strict-Transport-Security"] = f"max-age={_YEAR_S}"
        if "principal" in g:
            # It was asked who asks: the answer is theirs, and no cache's.
            answer.headers["Cache-Control"] = "no-store"
            answer.vary.update(("Authorization", "Cookie"))
        return answer

"""The way in for a device that does not know our certificate yet: plain HTTP, and nothing else.

It serves the authority's certificate and a page that says how to trust it; every other path
leads to the same one over HTTPS.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from string import Template
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from citywise.backend.bounded_server import TIMEOUT_S, BoundedServer
from citywise.backend.errors import CitywiseError
from citywise.backend.network.authority import Authority

CERTIFICATE = "/citywise-ca.crt"
_TEXTS = Path(__file__).with_name("trust")
_NAME = re.compile(r'<html lang="(?P<code>[a-z]+)" title="(?P<name>[^"]+)">')
_SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class WelcomeError(CitywiseError):
    """There is no port at which to serve it; the message says which were tried."""


@dataclass(frozen=True)
class Answer:
    """What is answered to a path."""

    status: HTTPStatus
    body: bytes = b""
    kind: str = "text/plain; charset=utf-8"
    location: str | None = None


def answer(path: str, languages: str, url: str, host: str, authority: Authority | None) -> Answer:
    """The answer to `GET path`.

    `languages` is the header Accept-Language, `url` where the pages are over HTTPS. Without an
    authority of ours there is nothing to trust, and every path leads there.
    """
    asked = urlsplit(path)
    if authority is not None and asked.path == CERTIFICATE:
        # Android and iOS install what has this type.
        return Answer(HTTPStatus.OK, authority.der, "application/x-x509-ca-cert")
    if authority is not None and asked.path == "/trust.css":
        return Answer(HTTPStatus.OK, (_TEXTS / "trust.css").read_bytes(), "text/css")
    if authority is not None and asked.path in ("", "/"):
        wanted = parse_qs(asked.query).get("lang", [""])[0]
        return _page(_language(wanted, languages), url, host, authority)
    rest = "/" + asked.path.lstrip("/") + (f"?{asked.query}" if asked.query else "")
    return Answer(HTTPStatus.PERMANENT_REDIRECT, location=url + rest)


def _page(language: str, url: str, host: str, authority: Authority) -> Answer:
    others = " · ".join(
        f'<a href="/?lang={code}" hreflang="{code}" lang="{code}">{html.escape(name)}</a>'
        for code, name in _languages().items()
        if code != language
    )
    text = Template((_TEXTS / f"{language}.html").read_text(encoding="utf-8")).substitute(
        url=html.escape(url),
        host=html.escape(host),
        fingerprint=authority.fingerprint,
        others=others,
    )
    return Answer(HTTPStatus.OK, text.encode(), "text/html; charset=utf-8")


def _language(wanted: str, accepted: str) -> str:
    """The first of our languages that is wanted or accepted, in the order it is written."""
    names = [wanted, *(part.split(";")[0].strip().split("-")[0] for part in accepted.split(","))]
    return next((name.lower() for name in names if name.lower() in _languages()), "en")


@cache
def _languages() -> Mapping[str, str]:
    """What the languages of this page call themselves: a file each."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(_TEXTS.glob("*.html")))
    return {found["code"]: found["name"] for text in texts if (found := _NAME.search(text))}


class Welcome(BoundedServer):
    """Serves the way in at a port while it is used as a context."""

    def __init__(self, listen: str, port: int, url: str, authority: Authority | None) -> None:
        super().__init__(listen, port, _Handler)
        self.url, self.authority = url, authority
        self.host = urlsplit(url).hostname or ""

    @property
    def shown(self) -> str:
        """Its address, as people write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = self.server_address[1]
        return f"http://{host}/" if port == 80 else f"http://{host}:{port}/"


def welcome(listen: str, secure_port: int, url: str, authority: Authority | None) -> Welcome:
    """The way in to `url`, at port 80 or beside the secure one; raises `WelcomeError`."""
    for port in (80, secure_port + 1):
        try:
            return Welcome(listen, port, url, authority)
        except (OSError, OverflowError):
            continue
    raise WelcomeError(
        f"neither port 80 nor {secure_port + 1} of {listen} is free for the page that says how "
        "to trust our certificate; choose another port with --port"
    )


class _Handler(BaseHTTPRequestHandler):
    server: Welcome
    timeout: ClassVar[float] = TIMEOUT_S
    server_version, sys_version = "Citywise", ""

    def do_GET(self) -> None:
        languages = self.headers.get("Accept-Language", "")
        server = self.server
        found = answer(self.path, languages, server.url, server.host, server.authority)
        self.send_response(found.status)
        for name, value in _SECURITY.items():
            self.send_header(name, value)
        if found.location is not None:
            self.send_header("Location", found.location)
        self.send_header("Content-Type", found.kind)
        self.send_header("Content-Length", str(len(found.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: who looks is nobody's business."""

"""Requests that another site's page makes a browser send (CSRF, DNS rebinding): refused."""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

from flask import request

from citywise.backend.api.problems import ProblemError
from citywise.backend.api.state import state
from citywise.backend.people.principal import Principal

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
HEADER = "X-CSRF-Token"
_FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")
_BEARER = "bearer "


def bearer() -> str | None:
    """The bearer token of the request, if any; it is never sent by a browser by itself."""
    text = request.headers.get("Authorization", "")
    return text[len(_BEARER) :].strip() if text.lower().startswith(_BEARER) else None


def refuse_foreign() -> None:
    """Raise a 403 if a page of another site makes the browser send this.

    Browsers say so (Fetch Metadata, else `Origin`); what is no browser says nothing.
    """
    if request.method in SAFE or bearer() is not None:
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    foreign = site not in (None, "same-origin", "none")
    if foreign or (origin is not None and not _is_ours(origin)):
        raise ProblemError(
            403,
            "cross-site",
            "Cross-site request",
            f"this came from a page of another site ({origin or site}); only pages of "
            f"{request.host} may change anything here (web.public_url says what it is called)",
        )


def refuse_unproven(asker: Principal) -> None:
    """Raise a 403 if a logged-in browser changes something without its login's token."""
    if request.method in SAFE or asker.login is None:
        return
    if not hmac.compare_digest(request.headers.get(HEADER, "").encode(), asker.login.csrf.encode()):
        raise ProblemError(
            403,
            "csrf",
            "Not sent by our page",
            f"send the `csrf` that GET /api/v1/me gives in the header {HEADER}",
        )


def is_at_home() -> bool:
    """Whether the request comes by a name of this machine, and through no proxy that says so."""
    return is_loopback(request.host) and not any(name in request.headers for name in _FORWARDED)


def is_loopback(host: str) -> bool:
    """Whether a Host header names this machine by a name that no other site can have."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _is_ours(origin: str) -> bool:
    known = state().settings.web.public_url
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if known is not None and origin.lower() == known.lower():
        return True
    return parts.scheme in ("http", "https") and parts.netloc.lower() == request.host.lower()

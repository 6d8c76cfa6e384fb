"""The link with which somebody joins a meeting."""

from __future__ import annotations

from urllib.parse import quote

from citywise.backend.network import qr_codes


def url(origin: str, meeting_id: str, join_key: str) -> str:
    """The link; `origin` is where people reach the pages (`https://city.example`)."""
    return f"{origin}/meet/{quote(meeting_id, safe='')}?key={quote(join_key, safe='')}"


def svg(link: str) -> bytes:
    """The link as a code that phones read."""
    return qr_codes.as_svg(link)

"""The link with which somebody joins a meeting."""

from __future__ import annotations

import io
from urllib.parse import quote

import segno


def url(origin: str, meeting_id: str, join_key: str) -> str:
    """The link; `origin` is where people reach the pages (`https://city.example`)."""
    return f"{origin}/meet/{quote(meeting_id, safe='')}?key={quote(join_key, safe='')}"


def svg(link: str) -> bytes:
    """The link as a code that phones read: dark on white, whatever the page looks like."""
    output = io.BytesIO()
    code = segno.make(link, micro=False, error="m")
    code.save(output, kind="svg", scale=8, border=4, dark="#000", light="#fff", omitsize=True)
    return output.getvalue()

"""Addresses as codes that phones read."""

from __future__ import annotations

import io

import segno


def in_terminal(url: str) -> str:
    """An address as a code that phones read from a terminal."""
    output = io.StringIO()
    segno.make(url, micro=False).terminal(output, border=2, compact=True)
    return output.getvalue()


def as_svg(url: str) -> bytes:
    """An address as a drawing: dark on white, whatever the page around it looks like."""
    output = io.BytesIO()
    code = segno.make(url, micro=False, error="m")
    code.save(output, kind="svg", scale=8, border=4, dark="#000", light="#fff", omitsize=True)
    return output.getvalue()

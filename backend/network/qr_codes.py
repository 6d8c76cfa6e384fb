"""Addresses as codes that phones read."""

from __future__ import annotations

import io

import segno


def in_terminal(url: str) -> str:
    """An address as a code that phones read from a terminal."""
    output = io.StringIO()
    segno.make(url, micro=False).terminal(output, border=2, compact=True)
    return output.getvalue()


def as_svg(url: str) -> str:
    """An address as a drawing that is read whatever is behind it."""
    code = segno.make(url, micro=False, error="m")
    output = io.BytesIO()
    code.save(output, kind="svg", border=4, light="white", xmldecl=False, omitsize=True, nl=False)
    return output.getvalue().decode()

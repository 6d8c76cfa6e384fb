"""Addresses as codes that phones read."""

from __future__ import annotations

import io

import segno


def in_terminal(url: str) -> str:
    """An address as a code that phones read from a terminal."""
    output = io.StringIO()
    segno.make(url, micro=False).terminal(output, border=2, compact=True)
    return output.getvalue()

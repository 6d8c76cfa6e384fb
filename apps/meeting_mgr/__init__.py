"""Meetings of people on the move: what each can do right now, and an agenda that adapts.

What people's devices tell becomes capabilities (`capabilities`), what they can do becomes an
agenda (`agenda`); both by rules in `rules/` (thesis, 7.2). The rest keeps, shows and tells it.
"""

from __future__ import annotations

from pathlib import Path

RULES = Path(__file__).parent / "rules"
"""Where the C-ASP is."""

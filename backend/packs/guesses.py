"""What somebody probably meant who wrote a name that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """The question which of the names that there are was meant; else what to say `otherwise`."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean `{near[0]}`?" if near else otherwise

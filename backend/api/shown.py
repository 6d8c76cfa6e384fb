"""Which kinds of observations whoever asks may see."""

from __future__ import annotations

from citywise.backend.api import identity
from citywise.backend.api.state import state
from citywise.backend.kinds import Kinds


def shown_kinds() -> Kinds:
    """All kinds to who is logged in or has a token; else those that are public."""
    kinds = state().kinds()
    if all(kind.public for kind in kinds.values()):
        return kinds  # Nobody is asked who they are: the answer is the same for all.
    if identity.principal().user is not None:
        return kinds
    return kinds.of(name for name, kind in kinds.items() if kind.public)

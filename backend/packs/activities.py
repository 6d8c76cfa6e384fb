"""The activities of users that our ontology knows."""

from __future__ import annotations

from functools import cache

from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.ontology import PREFIXES, city, local_name

_ACTIVITY = f"{PREFIXES['ctx']}Activity"


@cache
def activities() -> tuple[str, ...]:
    """Our activities, as IRIs."""
    return tuple(sorted(term for term, types in city().terms.items() if _ACTIVITY in types))


def unknown_activity(name: str) -> str | None:
    """What is wrong with the name of an activity: a local name, or an IRI.

    Names are those of our ontology; apps may have others, by IRIs of their own.
    """
    names = sorted(map(local_name, activities()))
    own = ":" in name and not name.startswith(PREFIXES["ctx"])
    if own or name in activities() or name in names:
        return None
    hint = did_you_mean(local_name(name), names, f"there are {', '.join(names)}")
    return f"`{name}` is no activity; {hint}"

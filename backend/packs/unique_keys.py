"""JSON objects none of whose keys comes twice: readers of JSON keep the last, silently."""

from __future__ import annotations

from typing import Any


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of some pairs, as `object_pairs_hook` of `json.loads`; raises `ValueError`."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key `{key}` comes twice; remove one")
        found[key] = value
    return found

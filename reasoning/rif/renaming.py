"""Local names, which mean something in their document alone (W3C RIF BLD, 2.2: rif:local)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import TypeVar

from reasoning.rdf.mapping import Blank, Iri, Literal
from reasoning.rif.document import Local

_Part = TypeVar("_Part")
_LEAVES = (Iri, Literal, Blank, Local)


def local_names(part: object) -> Iterator[str]:
    """The local names in a rule, formula or term, or in a tuple of them."""
    if isinstance(part, Local):
        yield part.name
    elif isinstance(part, tuple) and not isinstance(part, _LEAVES):
        for item in part:
            yield from local_names(item)
    elif is_dataclass(part):
        for field in fields(part):
            yield from local_names(getattr(part, field.name))


def renamed(part: _Part, names: Mapping[str, str]) -> _Part:
    """A rule, formula or term, or a tuple of them, with other local names."""
    changed = _renamed(part, names) if names else part
    assert isinstance(changed, type(part))
    return changed


def apart(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """New names for those that are taken: `p'1`, `p'2`, …"""
    known = set(taken)
    return {
        name: next(new for number in count(1) if (new := f"{name}'{number}") not in known)
        for name in dict.fromkeys(names)
        if name in known
    }


def _renamed(part: object, names: Mapping[str, str]) -> object:
    if isinstance(part, Local):
        return Local(names.get(part.name, part.name))
    if isinstance(part, tuple) and not isinstance(part, _LEAVES):
        return tuple(_renamed(item, names) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        inner = {each.name: _renamed(getattr(part, each.name), names) for each in fields(part)}
        return replace(part, **inner)
    return part

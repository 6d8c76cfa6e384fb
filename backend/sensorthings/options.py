"""The query options of SensorThings (`$filter`, `$expand`, …), read into a tree.

Source: OGC 18-088 (SensorThings API 1.1), clause 9.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from citywise.backend.sensorthings.filters import Expression, OptionError, parse

USUAL, MOST = 100, 1000
_DEEPEST = 4
NAMES = ("$filter", "$expand", "$select", "$orderby", "$top", "$skip", "$count")


@dataclass(frozen=True)
class Options:
    """What is asked of a collection or an entity."""

    filter: Expression | None = None
    expand: Mapping[str, Options] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    order: tuple[tuple[Expression, bool], ...] = ()
    """Each with whether it descends."""
    top: int = USUAL
    skip: int = 0
    count: bool = False
    told: Mapping[str, str] = field(default_factory=dict)
    """As they were written, for the link to the next page."""


def read(told: Mapping[str, str], depth: int = 0) -> Options:
    """Options by name; raises `OptionError`."""
    for name in told:
        if name not in NAMES:
            raise OptionError(f"{name}: expected one of {', '.join(NAMES)}")
    if depth > _DEEPEST:
        raise OptionError(f"$expand: nests deeper than {_DEEPEST}")
    return Options(
        filter=parse(told["$filter"]) if "$filter" in told else None,
        expand=_expand(told.get("$expand", ""), depth),
        select=tuple(name.strip() for name in told.get("$select", "").split(",") if name.strip()),
        order=tuple(_order(part) for part in _split(told.get("$orderby", ""), ",")),
        top=min(_number(told, "$top", USUAL), MOST),
        skip=_number(told, "$skip", 0),
        count=_truth(told.get("$count", "false")),
        told=dict(told),
    )


def _expand(text: str, depth: int) -> dict[str, Options]:
    found: dict[str, Options] = {}
    for part in _split(text, ","):
        match = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:/(.+))?", part, re.DOTALL)
        if match is None:
            raise OptionError(f"$expand: `{part[:60]}` is not a name with options in brackets")
        name, inner, rest = match.groups()
        told = dict(_option(each) for each in _split(inner or "", ";"))
        if rest:
            told["$expand"] = rest
        if name in found and rest:  # `Datastreams/Sensor,Datastreams/ObservedProperty`
            before = dict(found[name].told)
            told = {**before, "$expand": f"{before.get('$expand', '')},{rest}".strip(",")}
        found[name] = read(told, depth + 1)
    return found


def _option(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise OptionError(f"$expand: `{text[:60]}` has no value")
    return name.strip(), value.strip()


def _order(text: str) -> tuple[Expression, bool]:
    name, _, direction = text.partition(" ")
    if direction.strip() not in ("", "asc", "desc"):
        raise OptionError(f"$orderby: `{text[:60]}`: expected asc or desc")
    return parse(name), direction.strip() == "desc"


def _split(text: str, mark: str) -> list[str]:
    """The parts of a text between marks that are in no brackets and no quotes."""
    parts, depth, quoted = [""], 0, False
    for character in text:
        if character == "'":
            quoted = not quoted
        elif not quoted:
            depth += (character == "(") - (character == ")")
        if character == mark and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    if depth or quoted:
        raise OptionError(f"`{text[:60]}`: a bracket or quote is not closed")
    return [part.strip() for part in parts if part.strip()]


def _number(told: Mapping[str, str], name: str, usual: int) -> int:
    text = told.get(name)
    if text is None:
        return usual
    if not text.isdecimal() or len(text) > 9:
        raise OptionError(f"{name}: `{text[:20]}` is no whole number from 0")
    return int(text)


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise OptionError(f"$count: `{text[:20]}` is neither true nor false")
    return text == "true"


def as_query(told: Mapping[str, Any], skip: int) -> dict[str, str]:
    """The options of the page that begins at `skip`."""
    return {**{name: str(value) for name, value in told.items()}, "$skip": str(skip)}

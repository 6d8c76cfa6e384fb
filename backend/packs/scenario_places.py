"""The places that the lines of a scenario name must be places that it says there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from citywise.backend.kinds import Kinds
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.parameters import ANY_PLACE, PlaceParameter
from citywise.backend.packs.template import TemplateVersion, Values


@dataclass(frozen=True)
class Mention:
    """A place that a line names, and what says which places are meant there."""

    line: int
    where: str
    place: str
    meant: PlaceParameter = ANY_PLACE


def of_values(
    line: int, instance: str, template: TemplateVersion, values: Values
) -> Iterator[Mention]:
    """The places that the values of an instance name."""
    for name, place, meant in template.places(values):
        yield Mention(line, f"instance `{instance}`: {name}", place, meant)


def fault(mention: Mention, there: Mapping[str, Mapping[str, Any]], kinds: Kinds) -> str | None:
    """What is wrong with a mention where there are some places, by id."""
    known = there.get(mention.place)
    if known is None:
        names = ", ".join(there) or "none"
        hint = did_you_mean(mention.place, there, f"the scenario's places are: {names}")
        return f"{mention.where}: there is no place `{mention.place}`; {hint}"
    if not mention.meant.takes(known["kind"], kinds):
        expected = f"expected a {mention.meant.wanted}"
        return f"{mention.where}: `{mention.place}` is a {known['kind']}, {expected}"
    return None

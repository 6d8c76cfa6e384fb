"""The places that the lines of a scenario name must be places that it says there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.template import TemplateVersion, Values


@dataclass(frozen=True)
class Mention:
    """A place that a line names, and which kind of place is meant there (None: any)."""

    line: int
    where: str
    place: str
    kind: str | None = None


def of_values(
    line: int, instance: str, template: TemplateVersion, values: Values
) -> Iterator[Mention]:
    """The places that the values of an instance name."""
    for name, place, kind in template.places(values):
        yield Mention(line, f"instance `{instance}`: {name}", place, kind)


def fault(mention: Mention, there: Mapping[str, Mapping[str, Any]]) -> str | None:
    """What is wrong with a mention where there are some places, by id."""
    known = there.get(mention.place)
    if known is None:
        names = ", ".join(there) or "none"
        hint = did_you_mean(mention.place, there, f"the scenario's places are: {names}")
        return f"{mention.where}: there is no place `{mention.place}`; {hint}"
    if mention.kind not in (None, known["kind"]):
        return f"{mention.where}: `{mention.place}` is a {known['kind']}, expected a {mention.kind}"
    return None

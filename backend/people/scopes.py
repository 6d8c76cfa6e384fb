"""What a device's token is for: kinds, sensors, places and sources by patterns, in which `*` is any
text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from citywise.backend.people.errors import PeopleError

_PATTERN = r"^[A-Za-z0-9_.:*-]{1,64}$"
_MOST = 200
Patterns = Annotated[tuple[Annotated[str, Field(pattern=_PATTERN)], ...], Field(max_length=_MOST)]


class Known(NamedTuple):
    """A place that there is: its id, its kind, and the kinds of its observations."""

    id: str
    kind: str
    sensors: tuple[str, ...]


class Scope(BaseModel):
    """What the rights `sensors` and `places` of a token are limited to; nothing given: all.

    With `kinds` or `sensors` it tells no events, since no event is a sensor's own. With anything
    but `sources` it sends nothing at the topics of sources, and with them alone only there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kinds: Patterns = ()
    """Kinds of observations."""
    sensors: Patterns = ()
    places: Patterns = ()
    """Ids of places that it may describe."""
    remove: bool = False
    """Whether it may remove these places."""
    sources: Patterns = ()
    """Names of sources at whose topics it may send, in the form that their connector reads."""

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Self | None:
        """A scope as somebody wrote it; raises `PeopleError` for one that is none."""
        if given is None:
            return None
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            fault = error.errors()[0]
            name = ".".join(str(part) for part in ("scope", *fault["loc"]))
            raise PeopleError(
                name,
                "expected patterns of letters, digits and _ . : - in which * is any text, such as "
                f"n1*, at most {_MOST}",
            ) from None

    @property
    def is_of_sources(self) -> bool:
        """Whether it tells in the words of sources only."""
        return bool(self.sources) and not (self.kinds or self.sensors)

    def sends_to(self, source: str) -> bool:
        """Whether it may send at the topics of a source."""
        if not self.sources:
            return not (self.kinds or self.sensors or self.places)
        return matches(self.sources, source)

    def tells(self, kind: str, sensor: str | None = None) -> bool:
        """Whether it may tell observations of a kind, of a sensor if one is named."""
        if self.is_of_sources or (self.kinds and not matches(self.kinds, kind)):
            return False
        return sensor is None or not self.sensors or matches(self.sensors, sensor)

    def observation_topics(self, known: Iterable[Known]) -> Iterator[str]:
        """The own topics of those sensors that there are (for a broker that knows no patterns)."""
        for place in () if self.is_of_sources else known:
            if not self.sensors or matches(self.sensors, place.id):
                kinds = (k for k in place.sensors if not self.kinds or matches(self.kinds, k))
                yield from (f"observations/{kind}/{place.id}" for kind in kinds)

    def place_topics(self, known: Iterable[Known]) -> Iterator[str]:
        """The topics of those places that there are, and of those that a pattern names whole."""
        whole = [pattern for pattern in self.places if "*" not in pattern]
        yield from (f"places/+/{name}" for name in whole)
        for place in known:
            if place.id not in whole and (not self.places or matches(self.places, place.id)):
                yield f"places/{place.kind}/{place.id}"


def matches(patterns: Iterable[str], name: str) -> bool:
    """Whether a name is one of some patterns'."""
    return any(fnmatchcase(name, re.sub(r"[\[\]?]", "", pattern)) for pattern in patterns)

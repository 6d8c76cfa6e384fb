"""How an instance's user stood to an event or a place, in words: why facts about them lacked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from citywise.backend.space import Relation

ROUTE = ("near_route", "ahead", "passed", "opposite", "off_route", "has_route")
POSITION = ("near_me", "distance", "has_position", "i_am_inside")
"""Predicates that need the user's way, or the user's position."""


@dataclass(frozen=True)
class Stance:
    """What was known of a user and a thing when a template answered last."""

    user: str
    about: str
    """Id of the event or place."""
    stands: bool
    """Whether there was one of that id."""
    hidden: tuple[str, ...]
    """What the rules need of the user, but the app may not see: `route`, `position`."""
    unknown: tuple[str, ...]
    """What the rules need of the user, but nobody had told."""
    radius_m: int
    """The largest in use."""
    relation: Relation | None
    """How the user stood to it, however far it was; None where that is not known."""

    def words(self) -> Iterator[str]:
        """Sentences that say why facts lacked, if any did."""
        if not self.stands:
            yield f"no event or place `{self.about}` stood then: it was over, or not yet begun"
        for subject in self.hidden:
            yield f'the app may not see it: `permissions` in its app.toml lists no "{subject}"'
        for subject in self.unknown:
            yield f"no {subject} of {self.user} was known"
        if self.stands and self.relation is not None:
            yield from self._where(self.relation)

    def _where(self, relation: Relation) -> Iterator[str]:
        name, way = self.about, f"{self.user}'s way"
        if relation.behind:
            yield f"{name} was near {way}, but only near the part behind {self.user}"
        elif relation.route_m is not None and relation.route_m > self.radius_m:
            yield f"{name} was {ceil(relation.route_m)} m from what remained of {way}; {self._most}"
        if relation.opposite:
            yield f"{name} was on a road against {self.user}'s direction of travel"
        if relation.away_m is not None and relation.away_m > self.radius_m:
            yield f"{name} was {ceil(relation.away_m)} m from {self.user}'s position; {self._most}"

    @property
    def _most(self) -> str:
        return f"near is up to {self.radius_m} m"

"""A situation as facts, and what the template `critical_events` concludes from it.

The facts are written by hand, as the framework would supply them (docs/apps.md), so that what
the rules say is tested without streams, geometry or a pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Self

import clingo

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse_file
from citywise.reasoning.model.engine import WindowFacts
from citywise.reasoning.rdf.knowledge import background

PACK = REPOSITORY / "backend" / "context" / "pack"
TEMPLATE = PACK / "templates" / "critical_events.casp"

SUPERCLASSES = {
    "TrafficJam": ("TransportationEvent", "CityEvent"),
    "ParkingFull": ("TransportationEvent", "CityEvent"),
    "RoadWorks": ("TransportationEvent", "CityEvent"),
    "PoorAir": ("EnvironmentEvent", "CityEvent"),
    "CulturalEvent": ("PublicEvent", "CityEvent"),
}
DEFAULTS: dict[str, str | int] = {
    "interest": "my_route",
    "radius": 100,
    "affecting": "my_activity",
    "ranking": "linear",
    "weight_distance": 50,
    "weight_level": 50,
    "first": "distance",
    "horizon": 50,
    "least_criticality": 1,
}
"""As in the manifest; the horizon is in tenths of a kilometre, as its fact is."""


@cache
def _engine() -> SolverEngine:
    request = parse_file(TEMPLATE)
    return SolverEngine(request, background(request))


@dataclass
class Conclusion:
    """What is concluded of all instances."""

    notices: dict[tuple[str, str], int] = field(default_factory=dict)
    """Criticality by instance and event."""
    details: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    closed: set[tuple[str, str, str]] = field(default_factory=set)
    """Instance, event and reason."""

    def of(self, me: str = "me") -> dict[str, int]:
        """Criticality by event, of one instance."""
        return {event: c for (who, event), c in self.notices.items() if who == me}

    def ranks(self, me: str = "me") -> dict[str, int]:
        """Rank by event, of one instance."""
        return {e: found["rank"] for (who, e), found in self.details.items() if who == me}


class Situation:
    """Events, and instances with their values and what the framework knows of their users."""

    def __init__(self) -> None:
        self._facts: list[str] = []

    def fact(self, name: str, *arguments: str | int) -> Self:
        """Add a fact; texts become strings."""
        terms = (f'"{a}"' if isinstance(a, str) else str(a) for a in arguments)
        self._facts.append(f"{name}({','.join(terms)}).\n")
        return self

    def event(
        self, name: str, level: int = 3, kind: str = "TrafficJam", source: str = "sensor"
    ) -> Self:
        """An open event of a type in `SUPERCLASSES`."""
        for each in (kind, *SUPERCLASSES[kind]):
            self.fact("rdf_type", name, f"ev_{each}")
        return self.fact("ev_level", name, level).fact("ev_source", name, source)

    def instance(self, me: str = "me", /, **values: str | int | list[str]) -> Self:
        """An instance with these values, and the default of the others."""
        for name, value in {**DEFAULTS, **values}.items():
            for item in value if isinstance(value, list) else [value]:
                self.fact(name, me, item)
        return self

    def ahead(self, event: str, metres: int | None = 1, me: str = "me", radius: int = 100) -> Self:
        """The event lies on what remains of the route, so far ahead; None: nobody knows.

        At 0 m it is no longer ahead: what is level with the user, or near behind.
        """
        self.fact("near_route", me, event, radius)
        if metres is None:
            return self
        return self.fact("ahead", me, event, metres).fact("has_position", me)

    def around(self, event: str, metres: int, me: str = "me", radius: int = 100) -> Self:
        """The event is so far from the user's position; farther than the radius if it is."""
        if metres <= radius:
            self.fact("near_me", me, event, radius)
        return self.fact("distance", me, event, metres).fact("has_position", me)

    def conclude(self) -> Conclusion:
        """Evaluate the template; there is exactly one answer."""
        (answer,) = _engine().answer_sets(WindowFacts("".join(self._facts)))
        found = Conclusion()
        for text in answer.atoms:
            atom = clingo.parse_term(text)
            match [_value(a) for a in atom.arguments]:
                case [str(me), "critical_event", str(event), int(level)]:
                    assert (me, event) not in found.notices, "two criticalities of one event"
                    found.notices[me, event] = level
                case [str(me), "critical_event", str(event), str(why)]:
                    found.closed.add((me, event, why))
                case [str(me), "critical_event", str(event), str(name), int(value)]:
                    details = found.details.setdefault((me, event), {})
                    assert name not in details, f"two values of `{name}` of one event"
                    details[name] = value
                case _:
                    raise AssertionError(text)
        return found


def _value(symbol: clingo.Symbol) -> str | int:
    return symbol.string if symbol.type == clingo.SymbolType.String else symbol.number

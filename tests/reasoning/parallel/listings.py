"""Programs taken apart, the thesis' listings among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from citywise.reasoning.asp.dependencies import (
    Edge,
    ExtendedGraph,
    InputGraph,
    extended_graph,
    input_graph,
    input_predicates,
)
from citywise.reasoning.asp.rules import AspRule, read
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.engine import AspProgram, program
from citywise.reasoning.model.request import Request, Signature

FOLDER = Path(__file__).parents[2] / "cases" / "thesis"
R7 = "\n(r7) traffic_jam(X) :- car_fire(X), many_cars(X).\n"
"""What section 6.1.2 adds to Listing 5.4."""
JAM = ("average_speed/2", "car_number/2", "traffic_light/2")
FIRE = ("car_in_smoke/2", "car_location/2", "car_speed/2")


@dataclass(frozen=True)
class Listing:
    """A request with its rules and inputs."""

    request: Request
    rules: tuple[AspRule, ...]
    inputs: frozenset[Signature]

    @property
    def extended(self) -> ExtendedGraph:
        return extended_graph(self.rules)

    @property
    def graph(self) -> InputGraph:
        return input_graph(self.extended, self.inputs)

    @property
    def program(self) -> AspProgram:
        return program(self.request, frozenset())


def taken_apart(text: str) -> Listing:
    """The request of a C-ASP text."""
    request = parse(text)
    rules = read(request.rules, request.labels).rules
    return Listing(request, rules, input_predicates(request, rules))


def listing(number: str, more: str = "") -> Listing:
    """A listing of the thesis, with more rules after its own."""
    return taken_apart((FOLDER / f"listing_{number}.casp").read_text(encoding="utf-8") + more)


def pairs(edges: Iterable[Edge]) -> set[str]:
    """Edges as text: `p/1 q/2`."""
    return {f"{p} {q}" for p, q in edges}


def texts(signatures: Iterable[Signature]) -> list[str]:
    return sorted(map(str, signatures))

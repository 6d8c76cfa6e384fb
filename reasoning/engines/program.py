"""What an engine evaluates: rules, knowledge and a window's facts, as text for clingo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from reasoning.program import Request, Signature

OURS = "citywise_"
"""How the names begin that engines add to a program; messages do not name them."""


class Knowledge(Protocol):
    """Facts that hold in every window."""

    @property
    def text(self) -> str:
        """One `atom.` a line."""

    @property
    def supplied(self) -> frozenset[Signature]:
        """Predicates of the facts."""


@dataclass(frozen=True)
class WindowFacts:
    """The facts of a window, one `atom.` a line, and the predicates that the request's
    streams have supplied so far."""

    text: str
    supplied: frozenset[Signature] = frozenset()


@dataclass(frozen=True)
class Program:
    """A request's name, its rules with `#show` statements, and its costs' priorities."""

    name: str
    rules: str
    priorities: tuple[int, ...] = ()


def program(request: Request, supplied: frozenset[Signature]) -> Program:
    """The program of a request whose streams and knowledge bases supply `supplied`.

    Where nothing is declared shown, every atom of a predicate is that some rule derives
    and nothing supplies (DESIGN A4), and what is fed back.
    """
    rules = request.rules + "\n"
    if not (request.shows or request.shows_terms):
        derived = sorted(request.derived - request.inputs - supplied | request.feedback)
        rules += "#show.\n" + "".join(f"#show {signature}.\n" for signature in derived)
    return Program(request.name, rules, request.priorities)

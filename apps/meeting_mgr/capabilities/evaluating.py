"""What people can do, evaluated by the rules, many at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache

from citywise.apps.meeting_mgr import RULES
from citywise.apps.meeting_mgr.capabilities.conclusions import Conclusions, concluded
from citywise.apps.meeting_mgr.capabilities.facts import Facts, Told
from citywise.apps.meeting_mgr.capabilities.situation import Concluded, Situation
from citywise.reasoning import Limits, Request, WindowFacts, parse_file
from citywise.reasoning.engines.clingo.solver import SolverEngine

MOST_KNOWN = 10_000
"""So many different facts about somebody are remembered with what was concluded of them."""


@cache
def reasoners() -> Request:
    """Event detection and the user reasoner (thesis, Figure 7.10) as one request: what the
    first concludes is input of the second, and its events are shown as well."""
    first, second = (parse_file(RULES / f"{n}.casp") for n in ("event_detection", "user_reasoner"))
    rules = f"{first.rules}\n{second.rules}\n#show event/3.\n"
    return replace(second, name="capabilities", rules=rules)


class Capabilities:
    """Concludes what people can do; a pure function of what it is given.

    `limits` are those of one evaluation in this process (`SolverEngine`).
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._engine = SolverEngine(reasoners(), limits=limits)
        self._facts = Facts()
        self._known: dict[Told, Conclusions] = {}

    def evaluate(self, now_ms: int, situations: Sequence[Situation]) -> dict[str, Concluded]:
        """What is concluded of each person at `now_ms`, by their id."""
        told = [self._facts.told(now_ms, situation) for situation in situations]
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        self._ask(dict.fromkeys(one for one in told if one not in self._known))
        return {
            situation.person: concluded(now_ms, situation, self._known[one])
            for situation, one in zip(situations, told, strict=True)
        }

    def _ask(self, unknown: Collection[Told]) -> None:
        """Let the rules conclude of what they have not been told before."""
        if unknown:
            (answer,) = self._engine.answer_sets(WindowFacts(self._facts.text(unknown)))
            found = _by_person(answer.atoms)
            self._known |= {one: found[person] for person, one in enumerate(unknown)}


def _by_person(atoms: Iterable[str]) -> defaultdict[int, Conclusions]:
    found: defaultdict[int, Conclusions] = defaultdict(Conclusions)
    for atom in atoms:
        predicate, _bracket, arguments = atom[:-1].partition("(")
        person, subject, *value = arguments.split(",")
        found[int(person)].take(predicate, subject, value[0] if value else "")
    return found

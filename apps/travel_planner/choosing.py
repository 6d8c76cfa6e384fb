"""Choosing among candidates by decision support, and saying why of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from citywise.apps.travel_planner.decisions import (
    Constraint,
    Decision,
    Direction,
    Option,
    Question,
    Reason,
    Wish,
    decide,
)
from citywise.apps.travel_planner.requests import Bound, ParkingLimit, Preference
from citywise.apps.travel_planner.wording import Among, Values, Words

UPPER = ("<", "<=")
STEPS = {
    "time": 60.0, "distance": 100.0, "pollution": 0.1, "cost": 1.0, "walk": 10.0, "air": 1.0,
    "changes": 1.0,
}  # fmt: skip
"""To whose multiples a relaxed limit is rounded outward."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of the candidates of one plan."""

    constraints: tuple[Constraint, ...]
    wishes: tuple[Wish, ...]
    criteria: Mapping[str, Direction]

    @property
    def is_unusual(self) -> bool:
        """Whether something else than the least of a quantity is wanted."""
        limited = any(each.op not in UPPER for each in self.constraints)
        return limited or any(wish.direction == "maximise" for wish in self.wishes)

    @classmethod
    def of(
        cls,
        constraints: Sequence[Bound | ParkingLimit],
        preferences: Sequence[Preference],
        criteria: Sequence[str],
        otherwise: str,
    ) -> Wanted:
        """Limits and wishes of a request; without any wish, `otherwise` is to be least."""
        wishes = tuple(Wish(wish.on, wish.direction) for wish in preferences)
        return cls(
            tuple(Constraint(each.on, each.op, each.value) for each in constraints),
            wishes or (Wish(otherwise, "minimise"),),
            dict.fromkeys(criteria, "minimise"),
        )


@dataclass(frozen=True)
class Choice:
    """What was decided among candidates, and why, in words."""

    decision: Decision
    wanted: Wanted
    values: Mapping[str, Values]
    words: Words
    among: Among
    complete: bool = False
    """Whether the candidates are all there are: garages, not ways."""

    @property
    def chosen(self) -> str | None:
        return self.decision.chosen

    @property
    def others(self) -> list[str]:
        """Those that are not offered: dominated first, then those beyond a limit, of which the
        one that a relaxation would admit comes first."""
        conflict = self.decision.conflict
        nearest = conflict.relaxation.option if conflict and conflict.relaxation else None
        beyond = sorted(self.decision.violated, key=lambda name: name != nearest)
        return [*self.decision.dominated, *beyond]

    def told(self, option: str, names: Mapping[str, str]) -> dict[str, Any]:
        """What an answer says of the choice beside one candidate; `names` are the ids by which the
        answer knows candidates."""
        return {
            "chosen": option == self.chosen,
            "why": self.why(option),
            "reasons": self.reasons(option, names),
            "difference": self.difference(option),
            "best_at": self.best_at(option),
        }

    def why(self, option: str) -> str:
        """The sentences for one candidate."""
        return self.words.why(option, self.decision.reasons[option], self.among)

    def reasons(self, option: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
        """The same as codes and values; `names` are the ids by which the answer knows them."""
        return [reason_object(reason, names) for reason in self.decision.reasons[option]]

    def best_at(self, option: str) -> list[str]:
        """The criteria in which no candidate on offer is better than this one."""
        offered = [self.values[each] for each in self.decision.order]
        if self.values[option] not in offered:
            return []
        return [on for on in self.wanted.criteria if _is_least(self.values[option], offered, on)]

    def difference(self, option: str) -> str | None:
        """What another candidate than the chosen one means, in a sentence."""
        if self.chosen is None or option == self.chosen:
            return None
        return self.words.difference(self.values[option], self.values[self.chosen])


def choose(values: Mapping[str, Values], wanted: Wanted, words: Words, what: str) -> Choice:
    """Decide among candidates by their values; `what` they are: `ways` or `garages`."""
    options = [Option(name, found) for name, found in values.items()]
    question = Question(options, wanted.constraints, wanted.wishes, wanted.criteria, STEPS)
    decision = decide(question)
    limited = bool(decision.violated)
    count = len(decision.order) + len(decision.dominated)
    counted = words.say("counted_within" if limited else "counted", what, n=count)
    among = Among(counted, limited, decision.chosen)
    return Choice(decision, wanted, values, words, among, complete=what == "garages")


def reason_object(reason: Reason, names: Mapping[str, str]) -> dict[str, Any]:
    """A reason as JSON: what it does not say is left out."""
    named = replace(reason, against=names.get(reason.against or ""))
    return {key: value for key, value in asdict(named).items() if value not in (None, ())}


def conflict_object(choice: Choice, sentence: str, names: Mapping[str, str]) -> Any:
    """Why there is no answer, and what to allow (docs/api.md); None where there is one.

    `sentence` says which sentence tells of the relaxation, `names` what the candidates are
    called in it.
    """
    conflict = choice.decision.conflict
    if conflict is None:
        return None
    words, relaxation = choice.words, conflict.relaxation
    blamed = dict.fromkeys(each for some in conflict.minimal for each in some)
    option = names[relaxation.option] if relaxation else ""
    certain = choice.complete or all(map(_is_exact, conflict.minimal))
    said = words.relaxation(conflict, option, sentence)
    return {
        "wishes": [words.limit(each) for each in blamed],
        "sets": [[words.limit(each) for each in some] for some in conflict.minimal],
        "constraints": [[asdict(each) for each in some] for some in conflict.minimal],
        "relaxation": said if certain else f"{said} {words.say('conflict', 'of_those_found')}",
        "certain": certain,
        "relaxed": [asdict(each.loosened) for each in relaxation.loosenings] if relaxation else [],
        "then": _then(choice) if relaxation else None,
    }


def _is_exact(limits: Sequence[Constraint]) -> bool:
    """Whether that limits cannot be kept is true of all ways, not only of those found: the least
    of each sum is always among them."""
    return len(limits) == 1 and limits[0].op in UPPER and limits[0].on != "air"


def _then(choice: Choice) -> dict[str, Any]:
    """The request's limits as they would be."""
    assert choice.decision.conflict is not None
    relaxation = choice.decision.conflict.relaxation
    assert relaxation is not None
    loosened = {each.constraint: each.loosened for each in relaxation.loosenings}
    limits = [asdict(loosened.get(each, each)) for each in choice.wanted.constraints]
    return {"constraints": limits, "option": relaxation.option}


def _is_least(values: Values, offered: Sequence[Values], on: str) -> bool:
    mine = values.get(on)
    return mine is not None and all(
        other is None or mine <= other for each in offered for other in [each.get(on)]
    )

"""From a question to its answer, by the rules of answer set programming beside this."""

from __future__ import annotations

from collections.abc import Mapping

from citywise.apps.travel_planner.decisions.choice import Choice, choose
from citywise.apps.travel_planner.decisions.conflicts import conflict
from citywise.apps.travel_planner.decisions.decision import Decision, Reason
from citywise.apps.travel_planner.decisions.encoding import distinct
from citywise.apps.travel_planner.decisions.question import Constraint, Question
from citywise.apps.travel_planner.decisions.reasons import Reasoning


def decide(question: Question) -> Decision:
    """Choose by constraints and ordered wishes (thesis, 7.1.3; CityPulse's decision support).

    Admissible is an option that meets all constraints. Of these the Pareto set is kept,
    ordered lexicographically by the wishes and then by the criteria. Without any, the
    conflict says which constraints cannot be met together and how to loosen them least.
    Threads may call it at the same time; nothing is shared but the rules as read.
    """
    found = choose(question)
    ids = [option.id for option in question.options]
    constraints = distinct(question)
    violated = {
        ids[o]: tuple(constraints[c] for c in broken) for o, broken in found.violated.items()
    }
    best = [ids[o] for o in found.best]
    return Decision(
        chosen=best[0] if best else None,
        ties=tuple(best[1:]),
        order=tuple(ids[o] for o in found.order),
        dominated={ids[o]: ids[by] for o, by in found.dominated_by.items()},
        violated=violated,
        reasons=_reasons(question, found, violated),
        conflict=conflict(question, found.violated) if ids and not best else None,
    )


def _reasons(
    question: Question, found: Choice, violated: Mapping[str, tuple[Constraint, ...]]
) -> dict[str, tuple[Reason, ...]]:
    """Why, for every option in the question's order."""
    why, options = Reasoning(question), question.options
    said = {o: why.dominated(options[o], options[by]) for o, by in found.dominated_by.items()}
    said |= {o: why.rejected(options[o], violated[options[o].id]) for o in found.violated}
    if found.order:
        first, *ties = found.best
        chosen, equals = options[first], [options[o] for o in ties]
        others = [o for o in found.order if o not in found.best] or found.dominated_by
        said[first] = why.chosen(chosen, equals, [options[o] for o in others])
        said |= {o: why.tie(options[o], chosen) for o in ties}
        said |= {o: why.behind(options[o], chosen) for o in found.order if o not in found.best}
    return {option.id: tuple(said[o]) for o, option in enumerate(options)}

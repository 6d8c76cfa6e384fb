"""A question as facts for the rules: as people read it, or as it costs no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from citywise.apps.travel_planner.decisions.bounds import bounds, thousandths
from citywise.apps.travel_planner.decisions.question import Constraint, Question, QuestionError
from citywise.reasoning.rdf.mapping import quote

MOST_WRITTEN = 2_000_000
"""In facts values are thousandths, as integers of 32 bits."""


def facts(question: Question) -> str:
    """A question's facts with names and values in thousandths, one `atom.` a line.

    With the rules they give what `decide` says, and `citywise explain` says why. Raises
    `QuestionError` for values beyond `MOST_WRITTEN`, which `decide` takes.
    """
    _refuse_long_numbers(question)
    ids = [option.id for option in question.options]
    lines = _facts(question, lambda position: quote(ids[position]), _written)
    return "".join(f"{fact}.\n" for fact in lines)


def _written(_on: str, number: int) -> int:
    """A bound beyond all values that can be written as the next number after them."""
    most = MOST_WRITTEN * 1000 + 1
    return max(-most, min(most, number))


def _refuse_long_numbers(question: Question) -> None:
    for option in question.options:
        for on, value in option.values.items():
            if value is not None and abs(value) > MOST_WRITTEN:
                raise QuestionError(
                    f"option `{option.id}` has {on} = {value}; only values from "
                    f"-{MOST_WRITTEN:,} to {MOST_WRITTEN:,} can be written as facts"
                )


def ranked(question: Question) -> str:
    """The same, but options by position and values by their rank among those compared.

    clingo keeps every term that it ever saw: new values would cost 13 kB with each
    decision over 15 options, ranks are the same again and again.
    """
    ranks = _ranks(question)
    lines = _facts(question, str, lambda on, number: ranks[on][number])
    return "".join(f"{fact}.\n" for fact in lines)


def _facts(
    question: Question, option: Callable[[int], str], number: Callable[[str, int], int]
) -> Iterator[str]:
    asked = {constraint.on for constraint in question.constraints}
    names = list(dict.fromkeys([*question.directions, *sorted(asked)]))
    for position, found in enumerate(question.options):
        this = option(position)
        yield f"option({this})"
        for on in names:
            value = found.values.get(on)
            if value is None:
                yield f"unknown({this},{quote(on)})"
            else:
                yield f"value({this},{quote(on)},{number(on, thousandths(value))})"
    for position, constraint in enumerate(distinct(question)):
        for op, bound in bounds(constraint):
            on = constraint.on
            yield f'constraint({position},{quote(on)},"{op}",{number(on, bound)})'
    for place, (on, direction) in enumerate(question.directions.items(), 1):
        yield f"counts({place},{quote(on)},{direction})"


def distinct(question: Question) -> tuple[Constraint, ...]:
    """The constraints of a question, each once; the rules name them by position."""
    return tuple(dict.fromkeys(question.constraints))


def _ranks(question: Question) -> dict[str, dict[int, int]]:
    """By name, the rank of every number that is compared under it."""
    numbers: dict[str, set[int]] = {}
    for option in question.options:
        for on, value in option.values.items():
            if value is not None:
                numbers.setdefault(on, set()).add(thousandths(value))
    for constraint in question.constraints:
        parts = bounds(constraint)
        numbers.setdefault(constraint.on, set()).update(bound for _op, bound in parts)
    return {
        on: {number: rank for rank, number in enumerate(sorted(found))}
        for on, found in numbers.items()
    }

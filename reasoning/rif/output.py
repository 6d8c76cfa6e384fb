"""Answers of RIF as streams and as JSON (DESIGN A4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count
from typing import Any

from reasoning.output import Operator
from reasoning.reasoner import Evaluation
from reasoning.rif.evaluation import Fact, Instance
from reasoning.rif.names import Names
from reasoning.rif.reasoner import RifEvaluation
from reasoning.streams import Item

_NEVER = float("inf")


def emitted(
    evaluations: Iterable[Evaluation], operator: Operator, names: Names, stream: str = ""
) -> Iterator[Item]:
    """The answers as the items of a stream: triples, and atoms of what is none.

    `istream` is P: every instance once, at the instant from which it is entailed and with
    the last one at which it counts as its `until`; `dstream` is N. Both need evaluations
    with instances. `rstream` has all that is shown, at each evaluation. An evaluation that
    failed gives nothing.
    """
    positions = count()
    for evaluation in evaluations:
        if isinstance(evaluation, RifEvaluation) and evaluation.error is None:
            said = _said(evaluation, operator)
            for fact, until in sorted(said, key=lambda s: (names.atom(s[0]), repr(s))):
                triple = names.triple(fact)
                content = names.atom(fact) if triple is None else (triple,)
                yield Item(evaluation.time, content, next(positions), until, stream)


def _said(evaluation: RifEvaluation, operator: Operator) -> Iterator[tuple[Fact, int | None]]:
    if operator == "rstream":
        yield from ((fact, None) for fact in evaluation.facts)
    elif operator == "istream":
        yield from ((instance.fact, instance.last) for instance in evaluation.entailed)
    else:
        yield from ((instance.fact, None) for instance in evaluation.negated)


def described(
    instances: Collection[Instance], names: Names, write: Callable[[int], int | str]
) -> list[dict[str, Any]]:
    """Instances as values JSON can hold, by atom and time; `write` gives the form of times."""
    found = [(names.atom(fact), since, last) for fact, since, last in instances]
    found.sort(key=lambda each: (*each[:2], _NEVER if each[2] is None else each[2]))
    return [
        {"atom": atom, "from": write(since), "until": None if last is None else write(last)}
        for atom, since, last in found
    ]

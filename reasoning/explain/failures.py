"""The literal at which a rule breaks, with the values that were tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from clingo import Symbol
from clingo.ast import AST, Sign

from reasoning.explain import aggregates
from reasoning.explain.aggregates import guards
from reasoning.explain.instances import Counted, elements
from reasoning.explain.model import Model
from reasoning.explain.prefixes import Attempt, Step
from reasoning.explain.rules import Part
from reasoning.explain.syntax import Substitution
from reasoning.explain.tree import Node
from reasoning.explain.why import counted_text, ground_text, listed, unique

Values = Mapping[str, Symbol]


def failure(attempt: Attempt, model: Model, rest: Callable[[AST], Iterable[Node]]) -> Node:
    """The broken literal of `attempt`; `rest` explains the first atom it is about, which
    may have variables left."""
    step = attempt.broken
    assert step is not None
    tried = [{**attempt.values, **binding} for binding in attempt.bindings]
    texts = _told(step, tried, model)
    more = attempt.count - len(texts)
    told = "; ".join(dict.fromkeys(texts)) + (f"; … ({attempt.count} tried)" if more > 0 else "")
    values = tuple(
        {**filled_values(binding), "literal": text}
        for binding, text in zip(attempt.bindings, texts, strict=True)
    )
    part = step.parts[0]
    single = len(step.parts) == 1 and part.kind in ("atom", "not")
    below = rest(Substitution(tried[0]).visit(part.atom)) if single else ()
    return Node(
        "fails", f"{step.text}  fails: {told}", literal=step.text, count=attempt.count,
        values=values, children=tuple(below),
    )  # fmt: skip


def filled_values(values: Values) -> dict[str, str]:
    """An assignment as text; variables that `_` was given are left out of it."""
    return {name: str(value) for name, value in values.items() if not name.startswith("Any")}


def _told(step: Step, tried: list[dict[str, Symbol]], model: Model) -> list[str]:
    """For each assignment, what was found instead."""
    if len(step.parts) > 1:
        texts = [[aggregates.filled(p.source, values) for p in step.parts] for values in tried]
        return [f"{'; '.join(text)} do not hold together" for text in texts]
    part = step.parts[0]
    if part.kind == "aggregate":
        found = elements(part, tried, model)
        return [
            f"{counted_text(part, values, unique(counted))[0]}, {_unmet(part, values)}"
            for values, counted in zip(tried, found, strict=True)
        ]
    if part.kind == "conditional":
        return [_cases(part, values, e) for values, e in _exceptions(part, tried, model)]
    return [_simply(part, values) for values in tried]


def _unmet(part: Part, values: Values) -> str:
    """What an aggregate's value is not, or is behind `not`."""
    demanded = guards(part.source, values, signed=False)
    return f"{'so' if part.source.sign == Sign.Negation else 'not'} {demanded}"


def _simply(part: Part, values: Values) -> str:
    if part.kind == "atom":
        return f"there is no {ground_text(part, values)}"
    if part.kind == "not" and part.source.sign == Sign.Negation:
        return f"{ground_text(part, values)} is in the answer"
    if part.kind == "not":
        return f"{ground_text(part, values)} is not in the answer"
    return f"{aggregates.filled(part.source, values)} is false"


def _exceptions(
    part: Part, tried: list[dict[str, Symbol]], model: Model
) -> Iterator[tuple[Values, list[Counted]]]:
    """For each assignment the cases of a conditional literal in which it does not hold."""
    element = part.elements[0]
    condition = replace(
        element, condition=element.premises, positive=element.positive[: element.conditions]
    )
    every = elements(replace(part, elements=(condition,)), tried, model)
    held = elements(part, tried, model)
    for values, cases, good in zip(tried, every, held, strict=True):
        keys = {case.key for case in good}
        yield values, [case for case in cases if case.key not in keys]


def _cases(part: Part, values: Values, cases: list[Counted]) -> str:
    names = [str(node) for node in part.elements[0].key]
    told = []
    for case in cases:
        local = dict(zip(names, case.key.arguments, strict=True))
        told.append(aggregates.filled(part.source.literal, {**values, **local}))
    return f"it does not hold for {listed(list(dict.fromkeys(told)))}"

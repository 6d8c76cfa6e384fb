"""Long streams of random programs of plain LARS: every form of every answer, on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from citywise.reasoning.languages.lars.incremental import IncrementalEvaluator
from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.program import At, LarsProgram, LarsRule, Point
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.values import variables
from tests.lars import programs
from tests.lars.grounding import Fact
from tests.lars.programs import INPUTS, VALUES, Example
from tests.lars.recordings import Item, Reach
from tests.lars.reference import perfect_stream
from tests.lars.running import ENGINES, Make, agreed, engines

TRIED = settings(
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink a long run takes minutes
    report_multiple_bugs=False,
    deadline=None,
)
REACH = Reach(points=12, tuples=6)
"""Beyond the longest windows of random programs."""


_PLAIN = (
    "{h}(Y) :- <> b(X,Y) [{w}].",
    "{h}(Y) :- <> b(Y,Y) [{w}].",
    "{h}(X,Y) :- <> b(X,Y) [{w}], <> a(Y) [{v}].",
    "{h}(Y) :- <> a(Y) [{w}], <> b(X,X) [{v}].",
    "{h}(X) :- <> a(X) [{w}], not <> b(X,X) [{v}].",
    "{h}(Y) :- <> a(Y) [{w}], {g}(Z).",
)
"""Rules that give many rows, of which some end just when they come again."""
_STEPS: Sequence[Sequence[int]] = ((0, 0, 1, 1), (1, 1, 2), (1, 2, 3), (0, 1, 5))
"""How time goes on from item to item."""


class Rebuilt(IncrementalEvaluator):
    """Makes its relations anew now and then, as after a step that was stopped."""

    random = Random(0)

    def step(self, point: Point, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Evaluator`."""
        self._stopped = self._stopped or self.random.randrange(12) == 0
        return super().step(point, models)


ALL: dict[str, Make] = ENGINES | {"rebuilt": Rebuilt}


def is_bounded(program: LarsProgram) -> bool:
    """Whether all that a program looks at, and where it places heads, is in windows."""
    bodies = [[e.formula for e in rule.body] for rule in program.rules]
    within = all(not isinstance(f, At) or f.window is not None for body in bodies for f in body)
    return within and all(_is_placed_within(rule) for rule in program.rules)


def _is_placed_within(rule: LarsRule) -> bool:
    if rule.time is None:
        return True
    times = [e.formula.time for e in rule.body if isinstance(e.formula, At) and not e.negated]
    return variables(rule.time) <= {name for time in times for name in variables(time)}


@st.composite
def plain_programs(draw: DrawFn) -> LarsProgram:
    """A few rules whose rows only come and end."""
    rules = draw(st.lists(st.sampled_from(_PLAIN[:-1]), min_size=2, max_size=3))
    rules += draw(st.lists(st.just(_PLAIN[-1]), max_size=1))
    sizes = st.integers(1, 6)
    lines = [rule.format(h=f"h{n}", g=_read(rules), w=draw(sizes), v=draw(sizes))
             for n, rule in enumerate(rules)]  # fmt: skip
    return parse("\n".join(lines))


def _read(rules: Sequence[str]) -> str:
    """The head of the first rule with one argument; `a` if there is none."""
    return next((f"h{n}" for n, rule in enumerate(rules[:-1]) if "{h}(X,Y)" not in rule), "a")


@st.composite
def examples(draw: DrawFn, points: int) -> Example:
    """Programs whose windows have bounds, and streams of so many points of time, at which
    other atoms are likely for a while."""
    program = draw(plain_programs() | programs.programs().filter(is_bounded))
    random = Random(draw(st.integers(0, 2**32)))
    heads = {r.head.name: len(r.head.terms) for r in program.rules if r.head is not None}
    known = draw(st.lists(programs.facts({"k": 1}), max_size=2))
    return Example(program, _items(random, points, heads), tuple(known))


def _items(random: Random, points: int, heads: dict[str, int]) -> tuple[Item, ...]:
    found: list[Item] = []
    time, likely, steps = random.randint(0, 2), _mood(random, {}), _STEPS[0]
    last = time + points
    while time < last:
        if random.randrange(25) == 0:
            likely = _mood(random, heads if random.randrange(15) == 0 else {})
            steps = random.choice(_STEPS)
        until = time + random.randint(0, 6) if random.randrange(12) == 0 else None
        found.append(Item(time, random.choice(likely), until))
        time += random.choice(steps)
    return tuple(found)


def _mood(random: Random, heads: dict[str, int]) -> Sequence[Fact]:
    predicates = {**INPUTS, **heads}
    names = random.sample(sorted(predicates), random.randint(1, len(predicates)))
    several = random.choice((1, 2, 6))
    return [_fact(random, name, predicates[name]) for name in names for _ in range(several)]


def _fact(random: Random, name: str, arity: int) -> Fact:
    return name, tuple(random.choice((*VALUES, 4, 5)) for _ in range(arity))


def compare(number: int, points: int) -> int:
    """Compare so many random programs; the number of evaluations, over all engines."""
    compared = 0

    @settings(TRIED, max_examples=number)
    @given(examples(points))
    def check(example: Example) -> None:
        nonlocal compared
        evaluations = len(agreed(example, perfect_stream, REACH, ALL))
        compared += evaluations * len(engines(example.program, ALL))

    check()
    return compared


def test_evaluations_over_long_streams_are_those_of_the_reference() -> None:
    assert compare(3, 60) >= 400


@pytest.mark.slow
def test_3_000_evaluations_over_long_streams_are_those_of_the_reference() -> None:
    assert compare(9, 130) >= 3_000


@pytest.mark.long
def test_200_000_evaluations_over_long_streams_are_those_of_the_reference() -> None:
    compared = 0
    while compared < 200_000:
        compared += compare(50, 200)

"""Long streams under RDFS and OWL 2 RL in C-ASP: each window has the atoms of its closure."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import chain
from random import Random

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from citywise.reasoning.engines.choosing import Choice, engine_for
from citywise.reasoning.model.request import Entailment
from citywise.reasoning.rdf.entailment import closure
from citywise.reasoning.rdf.knowledge import background
from citywise.reasoning.rdf.mapping import Mapper, Triple
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation
from tests.rdf.graphs import instances, schema
from tests.rdf.test_inferring import ENGINES, LOST, NAMES, REGIMES, SHOWN, is_triple, over, plain

WIDTH = 9
"""Of the windows of `test_inferring.HEAD`, which slide by one second."""
RULES = f"""{SHOWN} #show near/2. #show lone/1.
near(X,Y) :- e_p(X,Z), e_q(Y,Z).
lone(X) :- rdf_type(X,"e_C"), not e_p(X,_).
"""


def evaluated(
    regime: Entailment,
    static: tuple[Triple, ...],
    items: Sequence[Item],
    engine: Choice,
    random: Random,
) -> tuple[Mapper, list[Evaluation]]:
    """The evaluations over a stream; the answers of some of them are read while they are new."""
    what, read = over(regime, static, RULES)
    known = background(what, read=read)
    made = engine_for(what, known, choice=engine)
    with closing(made), Reasoner(what, background=known, engine=made, start=0) as reasoner:
        found: list[Evaluation] = []
        pushed = (each for item in items for each in reasoner.push(item))
        for each in chain(pushed, reasoner.finish(items[-1].time + WIDTH + 2)):
            found.append(each)
            if random.random() < 0.5:
                list(chain.from_iterable(answer.atoms for answer in each.answer_sets))
        return Mapper(what), found


class Windows:
    """The atoms of the closures of windows; of equal windows once."""

    def __init__(self, regime: Entailment, static: tuple[Triple, ...], mapper: Mapper) -> None:
        self._regime, self._static, self._mapper = regime, static, mapper
        self._known: dict[frozenset[Triple], set[str] | None] = {}

    def of(self, counting: frozenset[Triple]) -> set[str] | None:
        """What a window has; None where it contradicts itself."""
        if counting not in self._known:
            self._known[counting] = self._atoms((*self._static, *counting))
        return self._known[counting]

    def _atoms(self, given: tuple[Triple, ...]) -> set[str] | None:
        known = closure(given, self._regime)
        rules = {told.partition("(rule ")[2].partition(")")[0] for told in known.inconsistencies}
        assume(not rules & LOST)
        if rules:
            return None
        atoms = {a for t in (*given, *known.inferred) for a in self._mapper.facts(t)}
        return {a for a in atoms if a.split("(")[0] in NAMES}


@st.composite
def streams(draw: st.DrawFn, regime: Entailment, length: int) -> list[Item]:
    """A few triples that come again and again."""
    kinds = draw(instances(regime, most=7).map(plain).filter(bool))
    random = Random(draw(st.integers(0, 1 << 32)))
    found: list[Item] = []
    now = 0
    for position in range(length):
        chosen = tuple(random.sample(kinds, min(len(kinds), random.choice((1, 1, 2)))))
        found.append(Item(now, chosen, position, stream="http://s"))
        now += random.choice((0, 1, 2, 6))
    return found


def triples(item: Item) -> tuple[Triple, ...]:
    """The content of an item of these streams."""
    assert isinstance(item.content, tuple)
    return item.content


def windows_agree(regime: Entailment, static: tuple[Triple, ...], items: list[Item]) -> int:
    """How many answers, of both engines, have the atoms of the closures."""
    assume(not closure(static, regime).inconsistencies)
    windows, answers = None, dict[int, set[str]]()
    count, random = 0, Random(len(items))
    for engine in ENGINES:
        mapper, evaluations = evaluated(regime, static, items, engine, random)
        windows = windows or Windows(regime, static, mapper)
        random.shuffle(evaluations)
        for evaluation in evaluations:
            now = evaluation.time
            counting = [item for item in items if now - WIDTH <= item.time <= now]
            expected = windows.of(frozenset(t for item in counting for t in triples(item)))
            assert bool(evaluation.answer_sets) is (expected is not None), (engine, now)
            if expected is not None:
                (answer,) = evaluation.answer_sets
                found = set(answer.atoms)
                shown = {a for a in found if a.split("(")[0] in NAMES and is_triple(a)}
                assert shown == expected, (engine, now)
                assert answers.setdefault(now, found) == found, (engine, now)
            count += 1
    return count


@pytest.mark.thorough
@pytest.mark.parametrize("regime", REGIMES)
def test_hundreds_of_windows_have_the_atoms_of_their_closures(regime: Entailment) -> None:
    count = 0

    @settings(max_examples=6)
    @given(schema(regime).map(plain), streams(regime, 100))
    def compare(static: tuple[Triple, ...], items: list[Item]) -> None:
        nonlocal count
        count += windows_agree(regime, static, items)

    compare()
    assert count > 500


@pytest.mark.long
@pytest.mark.parametrize("regime", REGIMES)
def test_thousands_of_windows_have_the_atoms_of_their_closures(regime: Entailment) -> None:
    count = 0

    @settings(max_examples=5, phases=(Phase.generate,))
    @given(schema(regime).map(plain), streams(regime, 300))
    def compare(static: tuple[Triple, ...], items: list[Item]) -> None:
        nonlocal count
        count += windows_agree(regime, static, items)

    while count < 50_000:
        compare()

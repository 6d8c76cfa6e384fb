"""Long streams of random documents, in every form of their answers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from citywise.reasoning.languages.rif.document import RifWindow
from citywise.reasoning.languages.rif.parsing import parse
from citywise.reasoning.languages.rif.reasoner import RifEvaluation, RifReasoner
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.values import value
from citywise.reasoning.model.request import Entailment
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.rdf.entailment import closure
from citywise.reasoning.rdf.mapping import Iri, Literal, Triple
from citywise.reasoning.streams.items import Item
from tests.rdf.graphs import instances, schema
from tests.rif.forms import agree, run
from tests.rif.programs import long_programs, programs
from tests.rif.reference import WindowedProgram

REGIMES: tuple[Entailment, ...] = ("rdfs", "owl-rl")
SOME = settings(max_examples=5)
MANY = settings(max_examples=20, phases=(Phase.generate,))
"""Again and again, until there are enough evaluations."""
RANDOM = st.integers(0, 1 << 32).map(Random)


def compared(program: WindowedProgram, reader: WindowedProgram, random: Random) -> int:
    """How many evaluations agree in all forms."""
    with tempfile.TemporaryDirectory() as folder:
        return agree(program, reader, random, Path(folder))


@pytest.mark.slow
def test_thousands_of_evaluations_over_long_streams_agree_in_every_form() -> None:
    count = 0

    @SOME
    @given(long_programs(), programs(), RANDOM)
    def compare(program: WindowedProgram, reader: WindowedProgram, random: Random) -> None:
        nonlocal count
        count += compared(program, reader, random)

    compare()
    assert count > 1_500


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # it would hide the failure
@pytest.mark.parametrize("_share", range(16))
def test_a_million_evaluations_over_long_streams_agree_in_every_form(_share: int) -> None:
    count = 0

    @MANY
    @given(long_programs(longest=600), programs(), RANDOM)
    def compare(program: WindowedProgram, reader: WindowedProgram, random: Random) -> None:
        nonlocal count
        count += compared(program, reader, random)

    while count < 1_000_000 // 16:
        compare()


# -- regimes -----------------------------------------------------------------------------------

RULES = parse(
    """Document(Prefix(e <http://e/>) 5 s Group(
    Forall ?x ?p ?y (e:seen(?x ?p ?y) :- ?x[?p -> ?y])
    Forall ?x ?y ?z (?x[e:r -> ?y] :- And(?x[e:p -> ?z] ?y[e:q -> ?z] ?y # e:C))
    ))"""
)
WINDOW = 5
SEEN = "<http://e/seen>/3"
P, Q, R, C = (Iri(f"http://e/{name}") for name in "pqrC")
TYPE = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
HAS_VALUE = Iri("http://www.w3.org/2002/07/owl#hasValue")


class Closures:
    """What a regime and the rules make of triples; of equal sets once."""

    def __init__(self, regime: Entailment, static: Sequence[Triple]) -> None:
        self._regime, self._static = regime, static
        self._known: dict[frozenset[Triple], set[Triple] | None] = {}

    def of(self, counting: frozenset[Triple]) -> set[Triple] | None:
        """All triples there are; None where they contradict each other."""
        if counting not in self._known:
            self._known[counting] = self._closed({*self._static, *counting})
        return self._known[counting]

    def _closed(self, known: set[Triple]) -> set[Triple] | None:
        while True:
            found = closure(sorted(known, key=repr), self._regime)
            if found.inconsistencies:
                return None
            known = known.union(found.inferred)
            if known.issuperset(derived := set(_derived(known))):
                return known
            known |= derived


def _derived(known: set[Triple]) -> Iterator[Triple]:
    """What the second rule concludes."""
    kind = {t.subject for t in known if t.predicate == TYPE and t.object == C}
    other = [t for t in known if t.predicate == Q and t.subject in kind]
    for one in known:
        if one.predicate == P:
            yield from (Triple(one.subject, R, t.subject) for t in other if t.object == one.object)


@st.composite
def regime_streams(
    draw: st.DrawFn, regime: Entailment, length: int
) -> tuple[tuple[Triple, ...], list[Item]]:
    """Static triples, and a stream of a few triples that come again and again."""
    static = tuple(t for t in draw(schema(regime)) if t.predicate != HAS_VALUE)
    kinds = draw(instances(regime, most=7).map(_of_things).filter(bool))
    random = draw(RANDOM)
    found: list[Item] = []
    now = 1
    for position in range(length):
        until = now + random.randrange(3) if random.random() < 0.2 else None
        found.append(Item(now, (random.choice(kinds),), position, until))
        now += random.choice((0, 1, 2, 5))
    return static, found


def _triples(item: Item) -> tuple[Triple, ...]:
    assert isinstance(item.content, tuple)
    return item.content


def _of_things(found: tuple[Triple, ...]) -> list[Triple]:
    return [triple for triple in found if not isinstance(triple.object, Literal)]


def regimes_agree(
    regime: Entailment, static: tuple[Triple, ...], items: list[Item], random: Random
) -> int:
    """The answers over a stream are those of a closure of each window; how many there are."""
    reasoner = RifReasoner(Theory(RULES, RULES.rules, static, regime), instances=True)
    assert RULES.window == RifWindow(WINDOW)
    closures, evaluations = Closures(regime, static), list(run(reasoner, items, random))
    before: set[Fact] = set()
    for evaluation in evaluations:
        now = evaluation.time
        counting = [item for item in items if item.time <= now < item.end + WINDOW]
        known = closures.of(frozenset(t for item in counting for t in _triples(item)))
        assert (evaluation.error is None) is (known is not None), now
        if known is not None:
            expected = {_seen(each) for each in known}
            assert _shown(evaluation) == expected, now
            assert _without_literals(evaluation.came) == expected - before, now
            assert _without_literals(evaluation.gone) == before - expected, now
            before = expected
    for evaluation in evaluations:
        (answer,) = evaluation.answer_sets or ((),)
        assert len(getattr(answer, "atoms", ())) == len(set(evaluation.facts))
    return len(evaluations)


def _seen(triple: Triple) -> Fact:
    return SEEN, tuple(map(value, triple))


def _shown(evaluation: RifEvaluation) -> set[Fact]:
    return _without_literals(evaluation.facts)


def _without_literals(found: object) -> set[Fact]:
    """What is seen of things: closures leave out triples about literals."""
    assert isinstance(found, Sequence | set | frozenset)
    return {
        (relation, row)
        for relation, row in found
        if relation == SEEN and isinstance(row[0], str) and row[0][0] in "<_"
    }


@pytest.mark.slow
@pytest.mark.parametrize("regime", REGIMES)
def test_hundreds_of_windows_are_their_closures(regime: Entailment) -> None:
    count = 0

    @settings(max_examples=4)
    @given(regime_streams(regime, 100), RANDOM)
    def compare(given: tuple[tuple[Triple, ...], list[Item]], random: Random) -> None:
        nonlocal count
        count += regimes_agree(regime, *given, random)

    compare()
    assert count > 200


@pytest.mark.long
@pytest.mark.parametrize("regime", REGIMES)
def test_many_windows_are_their_closures(regime: Entailment) -> None:
    count = 0

    @MANY
    @given(regime_streams(regime, 500), RANDOM)
    def compare(given: tuple[tuple[Triple, ...], list[Item]], random: Random) -> None:
        nonlocal count
        count += regimes_agree(regime, *given, random)

    while count < 50_000:
        compare()

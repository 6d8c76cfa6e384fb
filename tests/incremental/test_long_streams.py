"""Long streams of random C-ASP requests: every form of every answer, on every engine.

What rests on rows that came and went long ago is seen by hundreds of evaluations of one run,
and each form of an answer (whole, as changes, fed back, emitted, explained) is made in its own
way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from pathlib import Path
from random import Random
from typing import cast

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings

from citywise.reasoning.asp.translation.bodies import UnsupportedError
from citywise.reasoning.engines.choosing import (
    KEPT,
    WHOLE,
    Adaptive,
    AutoEngine,
    Turn,
    Way,
    engine_for,
)
from citywise.reasoning.engines.choosing import Choice as Choosing
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.engines.programs import IncrementalEngine, SplitEngine
from citywise.reasoning.explain import Explainer
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.atoms import signature
from citywise.reasoning.model.engine import Engine
from citywise.reasoning.model.request import Request
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.explained import RecordedExplainer
from citywise.reasoning.run.reasoner import Reasoner, State
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.recordings import write
from citywise.reasoning.streams.results import Evaluation, Operator, OutputStream
from tests.incremental.recordings import Recording, recordings
from tests.reasoning.parallel.inline import Inline
from tests.reasoning.reference import plain
from tests.reasoning.reference.answers import TooLargeError
from tests.reasoning.test_explain_oracle import answers, assert_explained

Make = Callable[[Request, Background, Random], Engine]
REFUSED = ("only its own recursion gives", "computes what has no value")
"""Why some programs are not in the fragment though their predicates have strata."""
TRIED = settings(
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink a long run takes minutes
    report_multiple_bugs=False,
    deadline=None,
)
OPERATORS: tuple[Operator, ...] = ("rstream", "istream", "dstream")


# -- the engines -----------------------------------------------------------------------


def incremental(request: Request, known: Background, _random: Random) -> Engine:
    """The engine; rejects the few programs that need more than strata of predicates."""
    try:
        return IncrementalEngine(request, known)
    except UnsupportedError as error:
        if not any(reason in str(error) for reason in REFUSED):
            raise
        reject()


def split(request: Request, known: Background, _random: Random) -> Engine:
    """The incremental engine below, clingo above; rejects what cannot be cut."""
    try:
        return SplitEngine(request, known)
    except UnsupportedError:
        reject()


def solver(request: Request, known: Background, _random: Random) -> Engine:
    return SolverEngine(request, known)


class Tossed(Adaptive):
    """Says at random, at each evaluation, in which way it is done, or tried."""

    def __init__(self, random: Random, ways: Sequence[Way]) -> None:
        super().__init__(ways)
        self._random, self._among = random, ways

    def choose(self, facts: int) -> Turn:
        super().choose(facts)
        return Turn(self._random.choice(self._among), self._random.choice([None, 1e9]))


def switching(request: Request, known: Background, random: Random) -> Engine:
    """`auto`, that changes its engine all the time, or tries the other."""
    engine = engine_for(request, known)
    if isinstance(engine, AutoEngine):
        engine._ways = Tossed(random, (KEPT, KEPT, WHOLE))
    return engine


class InParts(ParallelEngine):
    """Changes at random into how many parts facts are dealt, and who evaluates them."""

    random: Random

    @property
    def _fixed(self) -> Way:
        way, kept = super()._fixed, self._kept is not None
        ways = (way, way._replace(incremental=False), way._replace(buckets=1), WHOLE)
        return self.random.choice((*ways, KEPT) if kept else ways)


def in_parts(request: Request, known: Background, random: Random) -> Engine:
    """`--parallel`, in one process."""
    engine = InParts(request, known, executor=Inline(), partitions=3, adaptive=False, engine="auto")
    engine.random = random
    return engine


ENGINES: dict[str, Make] = {
    "incremental": incremental,
    "solver": solver,
    "switching": switching,
    "in parts": in_parts,
    "restarted": incremental,
}
GUESSING: dict[str, Make] = {**ENGINES, "incremental": split, "restarted": split}


# -- runs ------------------------------------------------------------------------------


@dataclass
class Run:
    """A recording on one engine."""

    recording: Recording
    make: Make
    random: Random
    restarts: bool = False

    def __post_init__(self) -> None:
        self.request = parse(self.recording.text)
        self.fresh: set[int] = set()
        """Numbers of evaluations that followed a restart."""

    def evaluations(self) -> Iterator[Evaluation]:
        """All of them; items are pushed a few at a time, some answers are looked at at once."""
        items, number, at = self.recording.items, 0, 0
        reasoner, engine = self._begun()
        try:
            while at < len(items):
                if self.restarts and self.random.randrange(20) == 0:
                    self.fresh.add(number)
                    resume = reasoner.resume_from(at)
                    state = json.dumps(reasoner.snapshot(at).to_json())
                    engine.close()
                    reasoner, engine = self._begun()
                    reasoner.restore(State.from_json(json.loads(state)), items[resume:at])
                pushed = items[at : at + self.random.randint(1, 4)]
                at += len(pushed)
                for evaluation in reasoner.push(pushed):
                    number += 1
                    yield self._looked(evaluation)
            for evaluation in reasoner.finish():
                yield self._looked(evaluation)
        finally:
            engine.close()

    def _begun(self) -> tuple[Reasoner, Engine]:
        known = self.recording.background
        engine = self.make(self.request, known, self.random)
        supplied = {signature(str(item.content)) for item in self.recording.items}
        return Reasoner(self.request, background=known, engine=engine, supplied=supplied), engine

    def _looked(self, evaluation: Evaluation) -> Evaluation:
        if self.random.random() < 0.7:
            _ = [answer.atoms for answer in evaluation.answer_sets]
        return evaluation

    def emitted(self, operator: Operator, evaluations: Iterator[Evaluation]) -> list[Item]:
        """The items that the answers are as a stream."""
        output = OutputStream(self.request)
        streams = {"rstream": output.rstream, "istream": output.istream}
        return list(streams.get(operator, output.dstream)(evaluations))


def agreed(recording: Recording, engines: dict[str, Make]) -> int:
    """Fail where an engine says anything that the reference does not; the number of evaluations
    that were compared."""
    try:
        expected = list(plain.evaluations(recording.plain))
    except TooLargeError:
        reject()
    compared = 0
    for number, (name, make) in enumerate(engines.items()):
        random = Random(recording.seed + number)
        run = Run(recording, make, random, restarts=name == "restarted")
        told, kept = tee(run.evaluations())
        several = any(len(e.answers) > 1 or e.ambiguous for e in expected)
        operator = random.choice(OPERATORS)
        emitted = None if several else run.emitted(operator, told)
        found = list(kept)
        for one, right in zip(found, expected, strict=True):
            assert (name, *described(one)) == (name, *wanted(right))
        if emitted is not None:
            _check_changes(name, run, found, expected)
            _check_emitted(name, run, expected, {operator: emitted} | {
                one: run.emitted(one, iter(found)) for one in OPERATORS if one != operator
            })  # fmt: skip
        compared += len(found)
    return compared


def described(evaluation: Evaluation) -> tuple[object, ...]:
    """What an engine says, but for what changes."""
    answers = tuple((tuple(answer.atoms), answer.cost) for answer in evaluation.answer_sets)
    items = sorted((i.time, str(i.content), i.stream) for i in evaluation.items)
    return evaluation.time, answers, evaluation.error is not None, evaluation.fed_back, items


def wanted(evaluation: plain.Evaluation) -> tuple[object, ...]:
    """The same of the reference."""
    items = sorted((a.time, a.atom, a.stream) for a in evaluation.window)
    answers, fed_back = evaluation.answers, evaluation.fed_back
    return evaluation.time, answers, evaluation.ambiguous, fed_back, items


def _check_changes(
    name: str, run: Run, found: Sequence[Evaluation], expected: Sequence[plain.Evaluation]
) -> None:
    """What is said to come and go does, against the last answer that the engine had."""
    for number, (e, right) in enumerate(zip(found, plain.changes(expected), strict=True)):
        if e.added is not None and e.removed is not None and number not in run.fresh:
            assert (name, e.time, e.added, e.removed) == (name, *right)


def _check_emitted(
    name: str,
    run: Run,
    expected: Sequence[plain.Evaluation],
    emitted: dict[Operator, list[Item]],
) -> None:
    changes = list(plain.changes(expected))
    right: dict[Operator, list[tuple[int, str]]] = {
        "rstream": [(e.time, atom) for e in expected for atom in sorted(e.atoms)],
        "istream": [(time, atom) for time, came, _gone in changes for atom in came],
        "dstream": [(time, atom) for time, _came, gone in changes for atom in gone],
    }
    for operator, items in emitted.items():
        if not run.restarts:
            atoms = [(item.time, item.content) for item in items]
            assert (name, operator, atoms) == (name, operator, right[operator])


# -- explanations ----------------------------------------------------------------------


def explained(recording: Recording, folder: Path) -> int:
    """Fail where an explanation of some evaluations is not right; how many were explained."""
    run, random = recording.plain, Random(recording.seed)
    expected = list(plain.evaluations(run))
    program, stream, known = folder / "p.casp", folder / "s.jsonl", folder / "k.lp"
    program.write_text(recording.text, encoding="utf-8")
    lines = "".join(f"{line}\n" for line in write(recording.items, "s", "integer"))
    stream.write_text(lines, encoding="utf-8")
    known.write_text("".join(f"{fact}.\n" for fact in run.knowledge), encoding="utf-8")
    chosen = random.sample(range(len(expected)), min(2, len(expected)))
    for number in chosen:
        evaluation = expected[number]
        nth = sum(e.time == evaluation.time for e in expected[: number + 1])
        engine: Choosing = random.choice(("auto", "solver"))
        told = Recorded(program, [stream], [known], limits=None, engine=engine)
        asked = RecordedExplainer(told, evaluation.time, evaluation=nth).explainer
        _check_explained(cast("Explainer", asked), run, evaluation)
    return len(chosen)


def _check_explained(
    asked: Explainer, request: plain.Request, evaluation: plain.Evaluation
) -> None:
    """Each atom of the answer has a true derivation from what the window held, others have
    none."""
    facts = "".join(f"{fact}.\n" for fact in {*evaluation.facts, *request.knowledge})
    constants = [line for line in request.rules.splitlines() if line.startswith("#const")]
    (given_facts,) = map(set, answers("\n".join([*constants, facts])))
    found = answers(request.rules + evaluation.since + facts)
    if not found:
        assert asked.explain("p(1)").question == "conflict"
        return
    (answer,) = found
    assert evaluation.atoms <= answer
    assert_explained(asked, given_facts, answer)
    mentioned = re.findall(r"\w+", request.rules)
    for atom in ("p(1)", "q(1,2)", "r(2,2)", "s(3)", "t", "u(f(1))", "v(1,a)", "new(0)"):
        explanation = asked.explain(atom)
        seen = atom in answer and atom.partition("(")[0] in mentioned
        assert explanation.question == ("why" if seen else "why not")


# -- tests -----------------------------------------------------------------------------


def compare(number: int, length: int, guessing: bool = False, timed: bool = False) -> int:
    """Compare so many random requests, about so many evaluations on each engine."""
    compared = 0

    @settings(TRIED, max_examples=number)
    @given(recordings(length, guessing, timed))
    def check(recording: Recording) -> None:
        nonlocal compared
        compared += agreed(recording, GUESSING if guessing else ENGINES)

    check()
    return compared


def test_evaluations_over_long_streams_are_those_of_the_reference() -> None:
    assert compare(3, 80) + compare(1, 40, guessing=True) >= 1_000


@pytest.mark.long
@pytest.mark.parametrize("_share", range(10))
def test_a_million_evaluations_over_long_streams_are_those_of_the_reference(_share: int) -> None:
    compared = 0
    while compared < 1_000_000 // 10:
        compared += compare(70, 300) + compare(20, 100, guessing=True)


@pytest.mark.thorough
def test_times_that_rules_see_over_long_streams_are_those_of_the_reference() -> None:
    assert compare(6, 60, timed=True) + compare(3, 30, guessing=True, timed=True) >= 1_500


@pytest.mark.long
@pytest.mark.parametrize("_share", range(10))
def test_times_in_2_000_random_programs_are_those_of_the_reference(_share: int) -> None:
    assert compare(150, 100, timed=True) + compare(50, 60, guessing=True, timed=True) >= 10_000


@pytest.mark.slow
def test_explanations_of_evaluations_long_after_the_first_are_right(tmp_path: Path) -> None:
    explain(tmp_path, 10)


@pytest.mark.slow
def test_explanations_that_speak_of_times_are_right(tmp_path: Path) -> None:
    explain(tmp_path, 10, timed=True)


@pytest.mark.long
def test_2_000_evaluations_are_explained_rightly(tmp_path: Path) -> None:
    explain(tmp_path, 1_000)


def explain(folder: Path, number: int, timed: bool = False) -> None:
    """Explain two evaluations of so many random requests."""

    @settings(TRIED, max_examples=number)
    @given(recordings(60, timed=timed))
    def check(recording: Recording) -> None:
        explained(recording, folder)

    check()

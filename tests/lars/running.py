"""An example on the engines that are compared with the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise

from hypothesis import reject

from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.languages.lars.compile import obstacle
from citywise.reasoning.languages.lars.language import evaluator
from citywise.reasoning.languages.lars.program import Evaluator, LarsProgram
from citywise.reasoning.languages.lars.reasoner import LarsReasoner
from citywise.reasoning.languages.lars.solver import OneShot
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation, OutputStream
from tests.lars.programs import Example, example
from tests.lars.recordings import Answers, Reach, answers, signature, written
from tests.lars.reference import Search, TooManyError, perfect_stream

Make = Callable[[LarsProgram, Background], Evaluator]


def chosen(choice: Choice) -> Make:
    """The evaluator that `--engine` gives."""
    return lambda program, known: evaluator(program, known, choice=choice)


ENGINES: dict[str, Make] = {
    "incremental": chosen("incremental"),
    "one-shot": OneShot,
}


def engines(program: LarsProgram, among: Mapping[str, Make] | None = None) -> dict[str, Make]:
    """The engines that can evaluate a program."""
    able = (among or ENGINES).keys() if obstacle(program) is None else {"one-shot"}
    return {name: make for name, make in (among or ENGINES).items() if name in able}


def expected(example: Example, search: Search, reach: Reach | None = None) -> Answers:
    """What the reference says; rejects an example that is too large for it."""
    what = example
    try:
        return answers(
            what.program, what.items, what.knowledge, what.start, what.until, search, reach
        )
    except TooManyError:
        reject()


def found(example: Example, make: Make) -> Answers:
    """What an engine says; None where it says that an evaluation failed."""
    facts = tuple(dict.fromkeys(map(written, example.knowledge)))
    known = Background(facts, supplied=frozenset(map(signature, example.knowledge)))
    supplied = frozenset(signature(item.fact) for item in example.items)
    engine = make(example.program, known)
    try:
        reasoner = LarsReasoner(example.program, engine, start=example.start, supplied=supplied)
        items = [
            Item(item.time, written(item.fact), position, item.until)
            for position, item in enumerate(example.items)
        ]
        evaluations = []
        for evaluation in chain(reasoner.push(items), reasoner.finish(example.until)):
            evaluations.append(evaluation)
            if evaluation.time // 3 % 12:  # the others are looked at when all is over
                _atoms(evaluation)
        _check_changes(evaluations)
        _check_emitted(example.program, evaluations)
        return {
            e.time: None if e.error else [list(answer.atoms) for answer in e.answer_sets]
            for e in evaluations
            if example.until is None or e.time <= example.until
        }
    finally:
        engine.close()


def _check_changes(evaluations: Sequence[Evaluation]) -> None:
    """What is said to come and go is what does, between two answers."""
    for before, after in pairwise(evaluations):
        if after.added is not None and after.removed is not None and not before.error:
            old, new = _atoms(before), _atoms(after)
            changes = sorted(new - old), sorted(old - new)
            assert (after.time, list(after.added), list(after.removed)) == (after.time, *changes)


def _check_emitted(program: LarsProgram, evaluations: Sequence[Evaluation]) -> None:
    """What is emitted is what comes, what goes, and what there is."""
    answered = [e for e in evaluations if e.error is None]
    if any(len(e.answer_sets) > 1 for e in answered):
        return
    states = [(e.time, _atoms(e)) for e in answered]
    steps = [(t, new, old) for (_, old), (t, new) in pairwise([(0, set[str]()), *states])]
    right = {
        "rstream": [(t, a) for t, new, _ in steps for a in sorted(new)],
        "istream": [(t, a) for t, new, old in steps for a in sorted(new - old)],
        "dstream": [(t, a) for t, new, old in steps for a in sorted(old - new)],
    }
    output = OutputStream(program.request)
    for emit in (output.rstream, output.istream, output.dstream):
        found = [(item.time, item.content) for item in emit(evaluations)]
        assert (emit.__name__, found) == (emit.__name__, right[emit.__name__])


def _atoms(evaluation: Evaluation) -> set[str]:
    return {atom for answer in evaluation.answer_sets for atom in answer.atoms}


def agreed(
    what: Example,
    search: Search = perfect_stream,
    reach: Reach | None = None,
    among: Mapping[str, Make] | None = None,
) -> Answers:
    """The answers of the reference; fails where an engine gives others."""
    answers = expected(what, search, reach)
    for name, make in engines(what.program, among).items():
        assert (name, found(what, make)) == (name, answers)
    return answers


def outputs(what: Example) -> dict[int, list[str]]:
    """The output at each point of time: that of the definitions, which all engines give."""
    answers = agreed(what)
    return {t: streams[0] for t, streams in answers.items() if streams}


def points(program: str, stream: str, start: int, until: int) -> list[int]:
    """The points of time at which a program of one rule derives anything."""
    derived = outputs(example(program, stream, start=start, until=until))
    return [t for t, atoms in derived.items() if atoms]

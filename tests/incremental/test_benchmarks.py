"""The benchmarks of the incremental engine compare systems that say the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from benchmarks import casp, lars, metric
from benchmarks.incremental import overlap
from benchmarks.incremental.laser import EXPERIMENTS, Experiment, joins
from benchmarks.incremental.overlap import Answer, Overlap, overlapping, slides
from benchmarks.incremental.systems import Incremental, MultiShot, Naive
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.request import Request
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.streams.items import Item

WIDTH, RATE, POINTS = 3, 8, 60


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_fresh_clingo_has_our_answer_at_every_point(name: str) -> None:
    found = _compared(EXPERIMENTS[name])
    assert all(ours == naive for ours, naive in found)
    assert len(set(found)) > 1, "the answer never changes"


def test_the_join_occurs_as_often_as_it_is_asked_for() -> None:
    found = _compared(joins(3))
    assert all(ours == naive for ours, naive in found)
    assert {atom.split("(")[0] for atom in found[-1][0]} == {"q1", "q2", "q3"}


@pytest.mark.parametrize("name", [n for n, each in EXPERIMENTS.items() if each.arriving])
def test_one_clingo_for_all_points_has_our_answer_at_each(name: str) -> None:
    experiment = EXPERIMENTS[name]
    ours, theirs = Incremental(experiment.program(WIDTH)), MultiShot(experiment, WIDTH)
    for now, atoms in enumerate(islice(experiment.stream(RATE, WIDTH), POINTS)):
        ours.step(now, atoms)
        symbols = theirs.step(now, atoms)
        texts = {f"{s.name}({s.arguments[0]},{s.arguments[1]})" for s in symbols}
        assert texts == set(ours.answer())


def test_what_a_cell_measures_is_one_value_for_each_repetition() -> None:
    cell = lars.Cell(EXPERIMENTS["join"], RATE, WIDTH)
    cell.measure(repeats=2)
    assert {len(found) for found in cell.seconds.values()} == {2}
    row = cell.row()
    assert set(row) > {*lars.FORMS, *lars.CLINGO}
    assert all(value is not None and value > 0 for value in row.values())


def test_a_cell_complains_when_clingo_has_another_answer() -> None:
    wrong = Experiment("q(A) :- <> p(A,_) [{n}].", "q(B) :- p(_,B). #show q/1.", False, _pairs)
    with pytest.raises(SystemExit, match="another answer"):
        lars.Cell(wrong, RATE, WIDTH).measure(repeats=1)


def test_bounds_are_met_or_not_by_what_was_measured() -> None:
    wide = _row("diamond", 80, deltas=0.4, ratio=500)
    narrow = _row("diamond", 10, deltas=0.2, ratio=100)
    start = {"program": "diamond", "ready_s": 0.1, "first_step_s": 0.1}
    found = lars.bounds({"start": [start], "experiments": [wide, narrow]})
    assert [(each["what"], each["kind"], each["met"]) for each in found] == [
        ("diamond: naive clingo", "must", "yes"),
        ("diamond: naive clingo", "goal", "NOT MET"),
        ("diamond: answer as text", "goal", "yes"),
        ("diamond: window 80 to window 10", "must", "NOT MET"),
        ("diamond: 800 atoms", "goal", "NOT MET"),
        ("start of a program", "must", "yes"),
    ]


@pytest.mark.thorough
def test_the_whole_benchmark_runs_in_small() -> None:
    results = lars.run("tiny")
    assert {row["program"] for row in results["experiments"]} == set(lars.BOUNDS)
    text = lars.report(results)
    assert "x naive" in text
    assert "start of a program" in text


def test_windows_that_overlap_have_the_same_answers_in_all_systems() -> None:
    what = _request()
    row = Overlap(what, Background(), _items()).measure(rounds=2, warm=1)
    assert row["windows"] == 2 * (len(list(slides(what, _items()))) - 1)
    assert (row["shown"], row["changed"]) == (5, 2)
    assert row["x clingo"] > 0


def test_a_row_that_there_is_not_is_told_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(casp, "PACK", tmp_path)
    with pytest.raises(SystemExit, match=r"no row `Q99`; there are Q1, .*, Q8, .*, 300/s, "):
        casp.run("incremental", "Q99")
    monkeypatch.setattr(casp, "PACK", tmp_path / "none")
    with pytest.raises(SystemExit, match="none without the data pack"):
        casp.run("incremental", "Q4")


def test_it_is_told_when_a_system_has_another_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap.Clingo, "answer", lambda *_: Answer(0.1, ("q(0)",)))
    with pytest.raises(SystemExit, match="answers differ at 5"):
        Overlap(_request(), Background(), _items()).measure(rounds=1, warm=1)


def _compared(experiment: Experiment) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Our answer and naive clingo's at each point."""
    ours, naive = Incremental(experiment.program(WIDTH)), Naive(experiment, WIDTH)
    found = []
    for now, atoms in enumerate(islice(experiment.stream(RATE, WIDTH), POINTS)):
        ours.step(now, atoms)
        naive.push(now, atoms)
        found.append((ours.answer(), tuple(sorted(map(str, naive.evaluate())))))
    return found


def _pairs(rate: int, _width: int) -> Any:
    return ([f"p(a{now},b{number})" for number in range(rate)] for now in range(200))


def _row(program: str, window: int, *, deltas: float, ratio: float) -> dict[str, Any]:
    key = {"program": program, "atoms": 800, "window": window}
    return {**key, "deltas": deltas, "text of answer": 4.0, "x naive": ratio}


def _request() -> Request:
    text = "#from stream <urn:s> [time 1s step 1s].\n#input p/1.\nq(X) :- p(X), not p(X+1).\n"
    return overlapping(parse(text), width=4, slide=1)


def _items() -> Sequence[Item]:
    """An atom each second; every other number is left out, so that each of them counts."""
    return [Item(t, f"p({2 * t})", t, stream="urn:s") for t in range(1, 12)]


def test_windows_that_end_before_now_are_compared_without_a_peer_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metric, "installed", lambda: False)
    results = metric.run("3")
    assert [row["system"] for row in results["metric"]] == [
        "incremental", "solver", "meteor_reasoner is absent",
    ]  # fmt: skip
    assert results["metric"][0]["facts"] > 20
    assert "is absent" in metric.report(results)

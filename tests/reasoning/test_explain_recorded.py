"""Explanations of a run over a recording: which evaluation, and items that do not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citywise.reasoning.run.explained import RecordedExplainer
from citywise.reasoning.run.language import RecordedError
from citywise.reasoning.run.recorded import Recorded

COUNT = "#from stream <s> [time 2s step 1s]. in(X) :- d(X)."
PAIRS = """#lateness 3s.
#from stream <a> [count 2 step 2].
#from stream <b> [time 3s step 5s].
x(X) :- p(X).
y(X) :- q(X).
"""


class Run:
    """A program and its recording in a folder."""

    def __init__(self, folder: Path, program: str, items: list[dict[str, Any]]) -> None:
        self.program, self.stream = folder / "a.casp", folder / "a.jsonl"
        self.program.write_text(program, encoding="utf-8")
        self.stream.write_text("".join(json.dumps(item) + "\n" for item in items))

    def about(
        self, at: int | None, evaluation: int | None = None, start: int | None = None
    ) -> RecordedExplainer:
        run = Recorded(self.program, [self.stream], start=start, limits=None)
        return RecordedExplainer(run, at, evaluation=evaluation)

    def said(self, at: int | None, atom: str, **more: int) -> str:
        text = str(self.about(at, **more).explainer.explain(atom))
        return text.replace(f"{self.stream.parent}/", "")


def items(*given: tuple[int, str, str]) -> list[dict[str, Any]]:
    return [{"t": t, "atom": atom, "stream": stream} for t, atom, stream in given]


def counting(times: range) -> list[dict[str, Any]]:
    return [{"t": t, "atom": f"d({t})"} for t in times]


def test_of_several_evaluations_at_one_time_the_last_or_the_one_asked_for_is_taken(
    tmp_path: Path,
) -> None:
    """At 8 the window of <a> is {1, 2}, then {3, 4}; then <b> is evaluated too."""
    given = items((7, "p(1)", "a"), (8, "q(1)", "b"), *((8, f"p({n})", "a") for n in (2, 3, 4)))
    run = Run(tmp_path, PAIRS, [*given, *items((20, "q(2)", "b"))])
    assert run.about(8).evaluations == 3
    assert "pushed out of the count window by later items" in run.said(8, "x(1)")
    assert run.said(8, "x(1)", evaluation=1).startswith("x(1) at 8  by rule line 4")
    later = "p(3)  stream <a> at 8 (a.jsonl:4) had not arrived yet"
    assert later in run.said(8, "x(3)", evaluation=1)
    assert run.said(8, "x(3)", evaluation=2).startswith("x(3) at 8  by rule line 4")
    assert run.said(8, "y(1)", evaluation=2).startswith("y(1) at 8  is not in the answer")
    assert run.said(8, "y(1)", evaluation=3).startswith("y(1) at 8  by rule line 5")
    with pytest.raises(RecordedError, match="--evaluation 4: there are 3 evaluations"):
        run.about(8, 4)


OUTSIDE = {
    "late, of a count window": (8, "x(5)", "came too late: its time had been closed"),
    "late, after the run had gone by": (8, "x(6)", "came too late: its time had been closed"),
    "since the window was last evaluated": (8, "x(1)", "was not evaluated since it came"),
    "to come": (8, "x(3)", "had not arrived yet"),
    "late, of a time window": (13, "y(9)", "came too late: its time had been closed"),
    "of a window not evaluated yet": (7, "y(0)", "was not evaluated since it came"),
    "after a time window": (8, "y(5)", "is after the window [5, 8]"),
}


@pytest.mark.parametrize("name", list(OUTSIDE))
def test_an_item_that_does_not_count_is_told_truly_why(tmp_path: Path, name: str) -> None:
    """The window of <a> is {2, 4} from 7 and {1, 3} from 10 on; <b> is evaluated at 8 and 13."""
    at, atom, said = OUTSIDE[name]
    arriving = items((8, "p(1)", "a"), (7, "p(2)", "a"), (7, "q(0)", "b"), (10, "p(3)", "a"),
                     (7, "p(4)", "a"), (6, "p(5)", "a"), (14, "q(5)", "b"), (10, "q(9)", "b"),
                     (19, "q(6)", "b"), (8, "p(6)", "a"))  # fmt: skip
    assert said in Run(tmp_path, PAIRS, arriving).said(at, atom)


def test_an_item_before_the_start_is_said_to_be(tmp_path: Path) -> None:
    run = Run(tmp_path, COUNT, counting(range(6)))
    told = "(a.jsonl:2) is before the start of the run: it begins at 2\n"
    assert told in run.said(4, "in(1)", start=2)
    assert "(a.jsonl:2) is before the window [2, 4]\n" in run.said(4, "in(1)")


def test_an_item_with_an_interval_counts_until_its_end(tmp_path: Path) -> None:
    run = Run(tmp_path, COUNT, [{"t": 0, "until": 3, "atom": "d(1)"}, {"t": 9, "atom": "d(9)"}])
    assert "d(1)  stream <s> at 0 until 3 (a.jsonl:1)\n" in run.said(5, "in(1)")
    assert "at 0 until 3 (a.jsonl:1) is before the window [4, 6]\n" in run.said(6, "in(1)")


def test_an_item_without_a_value_is_said_to_be_refused(tmp_path: Path) -> None:
    program = (
        "#prefix e : <http://e/>. #from stream <s> [time 2s step 1s]. r(X) :- e_p(X,V), V > 3."
    )
    number = "http://www.w3.org/2001/XMLSchema#decimal"
    triple = {"s": "<http://e/a>", "p": "<http://e/p>", "o": f'"4.5"^^<{number}>'}
    run = Run(tmp_path, program, [{"t": 0, **triple}, {"t": 3, **triple}])
    said = run.said(2, 'r("e_a")')
    assert 'e_p("e_a","4.5")  stream <s> at 0 (a.jsonl:1) was refused: `e_p`' in said
    assert "#scale e_p 100" in said
    assert 'e_p("e_a","4.5")  stream <s> at 3 (a.jsonl:2) is after the window [0, 2]' in said


def test_an_item_that_is_no_input_is_said_to_be_filtered(tmp_path: Path) -> None:
    program = f"{COUNT} #input d/1. b(X) :- d(X), not c(X)."
    given = [*counting(range(3)), {"t": 2, "atom": "c(2)"}]
    said = Run(tmp_path, program, given).said(2, "c(2)")
    assert "c(2)  stream <s> at 2 (a.jsonl:4) is not among the request's inputs\n" in said


def test_what_was_fed_back_tells_the_time_of_its_answer(tmp_path: Path) -> None:
    """There is no answer at 2, so that 3 goes on from 1."""
    program = """#from stream <s> [time 0s step 1s].
        #feedback k/1.
        #show k/1.
        k(X) :- d(X), X < 2. k(X) :- prev_k(X). :- d(2)."""
    run = Run(tmp_path, program, counting(range(6)))
    assert "prev_k(0)  from the previous answer, at 1\n" in run.said(3, "k(0)")
    assert "the answer before, if there is one, has no k(4)\n" in run.said(3, "k(4)")


def test_items_are_found_whose_names_stand_for_a_constant(tmp_path: Path) -> None:
    program = "#from stream <s> [time 1s step 1s]. #const a = 2. p(X) :- d(X)."
    run = Run(tmp_path, program, [{"t": 0, "atom": "d((1,a))"}, {"t": 3, "atom": "d(a)"}])
    assert "d((1,2))  stream <s> at 0 (a.jsonl:1)\n" in run.said(1, "p((1,2))")
    assert "d(2)  stream <s> at 3 (a.jsonl:2) is after the window [0, 1]" in run.said(1, "p(2)")


def test_without_a_time_it_is_the_last_evaluation(tmp_path: Path) -> None:
    run = Run(tmp_path, COUNT, counting(range(6)))
    assert run.said(None, "in(5)").startswith("in(5) at 5  by rule")
    assert run.about(None).evaluations == 1


def test_each_evaluation_up_to_the_one_explained_has_the_time_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.lars").write_text("b(X) :- <> a(X) [9].\n", encoding="utf-8")
    (tmp_path / "s.jsonl").write_text('{"t": 1, "atom": "a(1)"}\n', encoding="utf-8")
    signs: list[None] = []
    monkeypatch.setattr("citywise.reasoning.budget.progressed", lambda: signs.append(None))
    Recorded(tmp_path / "p.lars", [tmp_path / "s.jsonl"], until=7).explainer(7)
    assert len(signs) >= 7

"""The examples of the Laser paper, by the definitions and on every engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.run.recorded import Recorded
from tests.lars.grounding import Fact
from tests.lars.programs import example
from tests.lars.recordings import data_stream, written
from tests.lars.reference import Stream, time_window, tuple_window
from tests.lars.running import outputs, points

A1: Fact = ("a", ("x1", "y"))
A2: Fact = ("a", ("x2", "y"))
A3: Fact = ("a", ("x3", "y"))
B: Fact = ("b", ("y", "z"))
FIGURE_1 = """
    36: a(x1,y)
    38: a(x2,y) b(y,z)
    40: a(x3,y)
"""
JOIN = "q(X,Y,Z) :- <> a(X,Y) [3], <> b(Y,Z) [#3]."
EXAMPLE_4 = {
    35: [],
    36: [],
    37: [],
    38: ["q(x1,y,z)", "q(x2,y,z)"],
    39: ["q(x1,y,z)", "q(x2,y,z)"],
    40: ["q(x2,y,z)", "q(x3,y,z)"],
    41: ["q(x2,y,z)", "q(x3,y,z)"],
    42: ["q(x3,y,z)"],
}


def test_example_1_a_time_window_and_a_tuple_window_of_size_3_at_41() -> None:
    what = example(JOIN, FIGURE_1)
    data = data_stream(what.items, (), range(35, 42))
    window = Stream(range(38, 42), ((A2, 38), (B, 38), (A3, 40)))
    assert data.pairs == ((A1, 36), *window.pairs)
    assert time_window(data, 3, 41) == window
    assert tuple_window(data, 3, 41) == window


def test_example_1_the_tuple_window_of_size_2_drops_what_arrived_first() -> None:
    what = example(JOIN, FIGURE_1)
    data = data_stream(what.items, (), range(35, 42))
    assert tuple_window(data, 2, 41) == Stream(range(38, 42), ((B, 38), (A3, 40)))


def test_examples_2_and_3_the_join_at_41() -> None:
    what = example(JOIN, FIGURE_1, start=35, until=42)
    assert outputs(what)[41] == ["q(x2,y,z)", "q(x3,y,z)"]


def test_example_4_is_wrong_at_42_by_definition_3() -> None:
    """The paper lists q(x2,y,z) at 42 as well, but a(x2,y) came at 38, and the time window of
    size 3 at 42 is [39, 42] (Definition 3); at 38 to 41 the paper is right."""
    what = example(JOIN, FIGURE_1, start=35, until=42)
    assert outputs(what) == EXAMPLE_4


def test_example_5_the_window_atom_holds_up_to_its_horizon() -> None:
    assert points("h(X,Y) :- <> a(X,Y) [3].", "36: a(x1,y)", 35, 42) == [36, 37, 38, 39]


def test_examples_6_and_7_annotations_overlap() -> None:
    both = points("h(X) :- <> a(X) [9].", "5: a(y)\n8: a(y)", 0, 20)
    assert both == list(range(5, 18))
    assert points("h(X) :- <> a(X) [9].", "5: a(y)", 0, 20) == list(range(5, 15))


def test_example_8_a_box_holds_at_the_end_of_its_window_and_no_longer() -> None:
    stream = "5: a(y)\n6: a(y)\n7: a(y)"
    assert points("h(X) :- [] a(X) [2].", stream, 0, 9) == [7]


def test_example_9_a_tuple_window_expires_by_count_whatever_the_time() -> None:
    program = "h(X,Y) :- <> b(X,Y) [#3]."
    late = FIGURE_1 + "50: a(x4,y)\n51: a(x5,y)\n52: c"
    assert points(program, late, 35, 55) == list(range(38, 51))
    assert points(program, FIGURE_1 + "40: a(x4,y) a(x5,y)", 35, 45) == [38, 39]


# -- Figure 4 ------------------------------------------------------------------------------

FIGURE_4 = """
    (r1) @T steam(V) :- @T temp(V) [n], V >= 100.
    (r2) @T liquid(V) :- @T temp(V) [n], V >= 1, V < 100.
    (r3) @T isSteam :- @T steam(V) [n].
    (r4) @T isLiquid :- @T liquid(V) [n].
    (r5) alarm :- [] isSteam [n].
    (r6) normal :- [] isLiquid [n].
    (r7) freeze :- not alarm, not normal.
    (r8) veryHot(T) :- @T steam(V) [n], V >= 150.
    (r9) veryCold(T) :- @T liquid(V) [n], V = 1.
    #const n = 2.
"""
READINGS = """
    0: temp(50)
    1: temp(60)
    2: temp(1)
    3: temp(100)
    4: temp(120) temp(99)
    5: temp(150)
    6: temp(130)
"""


COOLING = {
    0: ["isLiquid", "liquid(50)", "normal"],
    1: ["isLiquid", "liquid(60)", "normal"],
    2: ["isLiquid", "liquid(1)", "normal", "veryCold(2)"],
    3: ["freeze", "isSteam", "steam(100)", "veryCold(2)"],
    4: ["freeze", "isLiquid", "isSteam", "liquid(99)", "steam(120)", "veryCold(2)"],
    5: ["alarm", "isSteam", "steam(150)", "veryHot(5)"],
    6: ["alarm", "isSteam", "steam(130)", "veryHot(5)"],
    7: ["freeze", "veryHot(5)"],
    8: ["freeze"],
}


def test_figure_4_the_cooling_system() -> None:
    assert outputs(example(FIGURE_4, READINGS, until=8)) == COOLING


@pytest.mark.parametrize(
    ("rule", "expected_points"),
    [
        ("hot :- <> isSteam [n].", [3, 4, 5, 6, 7, 8]),
        ("hot :- [] isSteam [n].", [5, 6]),
        ("hot :- isSteam always [1].", [4, 5, 6]),
        ("hot :- @T isSteam [n], T < 5.", [3, 4, 5, 6]),
        ("hot :- @4 isSteam.", [4, 5, 6]),
        ("hot :- isSteam.", [3, 4, 5, 6]),
        ("hot :- isSteam at least 2 [n].", [4, 5, 6, 7]),
        ("hot :- isSteam at most 0 [n].", [0, 1, 2]),
        ("hot :- isSteam count 3 [n].", [5, 6]),
        ("hot :- not <> isSteam [n].", [0, 1, 2]),
        ("hot :- not [] isSteam [n].", [0, 1, 2, 3, 4, 7, 8]),
        ("hot :- not @5 isSteam [n].", [0, 1, 2, 3, 4, 8]),
        ("hot :- <> temp(120) [#3].", [4, 5]),
        ("hot :- [] temp(150) [#2].", []),
        ("hot :- [] temp(130) [#1].", [6]),
        ("hot :- @T temp(120) [#3], T < 5.", [4, 5]),
        ("@T hot :- @T isSteam [n].", [3, 4, 5, 6]),
    ],
)
def test_figure_4_with_each_operator(rule: str, expected_points: list[int]) -> None:
    program = f"{FIGURE_4} {rule} #show hot/0."
    assert points(program, READINGS, 0, 8) == expected_points


@pytest.mark.parametrize("engine", ["auto", "incremental", "solver"])
def test_files_are_evaluated_as_the_paper_says(tmp_path: Path, engine: Choice) -> None:
    assert recorded(tmp_path, JOIN, FIGURE_1, 35, 42, engine) == EXAMPLE_4
    assert recorded(tmp_path, FIGURE_4, READINGS, 0, 8, engine) == COOLING


def recorded(
    folder: Path, program: str, stream: str, start: int, until: int, engine: Choice
) -> dict[int, list[str]]:
    """The outputs of a recorded run, as the command prints them."""
    file, items = folder / "program.lars", folder / "stream.jsonl"
    file.write_text(program)
    lines = [{"t": item.time, "atom": written(item.fact)} for item in example("", stream).items]
    items.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = Recorded(file, [items], start=start, until=until, engine=engine)
    return {e.time: list(e.answer_sets[0].atoms) for e in run.evaluations()}

"""`citywise reason` of programs in plain LARS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import Folder

COOLING = """
#const n = 2.
@T steam(V) :- @T temp(V) [n], V >= 100.
@T liquid(V) :- @T temp(V) [n], V >= 1, V < 100.
@T isSteam :- @T steam(V) [n].
@T isLiquid :- @T liquid(V) [n].
alarm :- [] isSteam [n].
normal :- [] isLiquid [n].
freeze :- not alarm, not normal.
veryHot(T) :- @T steam(V) [n], V >= 150.
#show alarm/0. #show normal/0. #show freeze/0. #show veryHot/1.
"""
RIVALS = "in(X) :- a(X), not out(X). out(X) :- a(X), not in(X). seen(X) :- <> a(X) [1]."


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.write("cooling.lars", COOLING)
    readings = [50, 60, 70, 160, 120, 110]
    found.write("temp.jsonl", [{"t": t, "atom": f"temp({v})"} for t, v in enumerate(readings)])
    found.write("rivals.lars", RIVALS)
    found.write("a.jsonl", [{"t": 1, "atom": "a(1)"}, {"t": 2, "atom": "a(2)"}])
    return found


@pytest.mark.parametrize("engine", ["auto", "incremental", "solver"])
def test_each_point_of_time_is_a_line(folder: Folder, engine: str) -> None:
    found = folder.results("cooling.lars", "--stream", "temp.jsonl", "--engine", engine)
    assert [line["t"] for line in found] == list(range(6))
    assert [line["answer_sets"] for line in found] == [
        [["normal"]],
        [["normal"]],
        [["normal"]],
        [["freeze", "veryHot(3)"]],
        [["freeze", "veryHot(3)"]],
        [["alarm", "veryHot(3)"]],
    ]


@pytest.mark.parametrize("engine", ["incremental", "solver"])
def test_deltas_say_what_came_and_went(folder: Folder, engine: str) -> None:
    options = ("--stream", "temp.jsonl", "--engine", engine, "--deltas", "--until", "7")
    found = folder.results("cooling.lars", *options)
    changes = [(line["added"], line["removed"]) for line in found]
    assert changes[:4] == [
        (["normal"], []),
        ([], []),
        ([], []),
        (["freeze", "veryHot(3)"], ["normal"]),
    ]
    assert changes[5:] == [(["alarm"], ["freeze"]), (["freeze"], ["alarm", "veryHot(3)"]), ([], [])]


def test_from_and_until_bound_the_timeline(folder: Folder) -> None:
    options = ("--stream", "temp.jsonl", "--from", "2", "--until", "3")
    assert folder.results("cooling.lars", *options) == [
        {"t": 2, "answer_sets": [["normal"]]},
        {"t": 3, "answer_sets": [["freeze", "veryHot(3)"]]},
    ]


def test_times_are_written_as_the_recording_has_them(folder: Folder) -> None:
    folder.write("q.lars", "q(X) :- <> a(X) [2 s].")
    folder.write("iso.jsonl", [{"t": "2014-08-05T00:00:00+02:00", "atom": "a(1)"}])
    found = folder.results("q.lars", "--stream", "iso.jsonl", "--until", "2014-08-04T22:00:03Z")
    assert [(line["t"][-3:], line["answer_sets"]) for line in found] == [
        ("00Z", [["q(1)"]]),
        ("01Z", [["q(1)"]]),
        ("02Z", [["q(1)"]]),
        ("03Z", [[]]),
    ]


def test_a_program_with_rivals_has_all_its_answer_streams(folder: Folder) -> None:
    found = folder.results("rivals.lars", "--stream", "a.jsonl")
    assert found[0]["answer_sets"] == [["in(1)", "seen(1)"], ["out(1)", "seen(1)"]]
    assert len(found[1]["answer_sets"]) == 2
    one = folder.results("rivals.lars", "--stream", "a.jsonl", "--models", "1")
    assert [len(line["answer_sets"]) for line in one] == [1, 1]


def test_the_incremental_engine_refuses_a_loop_and_names_it(folder: Folder) -> None:
    done = folder.run("reason", "rivals.lars", "--stream", "a.jsonl", "--engine", "incremental")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "rivals" in done.stderr
    assert "in/1" in done.stderr
    assert "out/1" in done.stderr


def test_knowledge_holds_at_every_point_of_every_window(folder: Folder) -> None:
    folder.write("k.lp", "limit(100). a(7).")
    folder.write(
        "k.lars",
        "over(V) :- <> temp(V) [1], limit(L), V > L. always(X) :- [] a(X) [3]. "
        "times(X,T) :- @T a(X) [1]. #show over/1. #show always/1. #show times/2.",
    )
    for engine in ("incremental", "solver"):
        options = ("--stream", "temp.jsonl", "--kb", "k.lp", "--engine", engine)
        found = folder.results("k.lars", *options)
        assert found[0]["answer_sets"] == [["always(7)", "times(7,0)"]]
        assert found[4]["answer_sets"] == [
            ["always(7)", "over(120)", "over(160)", "times(7,3)", "times(7,4)"]
        ]


def test_a_failed_point_is_told_and_the_others_are_evaluated(folder: Folder) -> None:
    folder.write("back.lars", "#stream p/1. p(X) :- a(X). q(X) :- <> p(X) [5]. :- a(2).")
    folder.write("b.jsonl", [{"t": t, "atom": f"a({t})"} for t in (1, 2, 3)])
    done = folder.run("reason", "back.lars", "--stream", "b.jsonl")
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line.get("answer_sets") for line in lines] == [
        [["p(1)", "q(1)"]],
        None,
        [["p(3)", "q(1)", "q(3)"]],
    ]
    assert (
        "at 2: program `back` feeds back (`#stream p/1.`) but has no answer stream" in done.stderr
    )


def test_answers_leave_as_a_stream(folder: Folder) -> None:
    folder.write("q.lars", "q(X) :- <> a(X) [1].")
    done = folder.run(
        "reason", "q.lars", "--stream", "a.jsonl", "--until", "4", "--emit", "dstream"
    )
    assert done.returncode == 0
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"t": 3, "atom": "q(1)"},
        {"t": 4, "atom": "q(2)"},
    ]


def test_an_item_that_comes_late_is_told(folder: Folder) -> None:
    folder.write("q.lars", "q(X) :- <> a(X) [9].")
    folder.write("late.jsonl", [{"t": t, "atom": f"a({t})"} for t in (1, 5, 3)])
    done = folder.run("reason", "q.lars", "--stream", "late.jsonl")
    assert "late.jsonl:3: came 2s too late and is left out; sort the recording" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["answer_sets"] == [["q(1)", "q(5)"]]


def test_without_a_recording_it_says_what_is_missing(folder: Folder) -> None:
    done = folder.run("reason", "cooling.lars")
    assert done.returncode == 2
    assert "reads a stream; give a recording: --stream FILE" in done.stderr

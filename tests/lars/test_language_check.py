"""Programs of plain LARS: what is remarkable about them, and what evaluates them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.run.language import check
from tests.command import Done, Folder


def findings(folder: Path, text: str, *, partitioned: bool = False) -> list[str]:
    """Findings of a program as `LINE:COL severity code: message`."""
    path = folder / "program.lars"
    path.write_text(text, encoding="utf-8")
    return [
        f"{f.location.line}:{f.location.column} {f.severity} {f.code}: {f.message}"
        for f in check(path, partitioned=partitioned)
    ]


REMARKABLE = [
    ("d(X) :- a(X).\nc(X) :- b(X), <> d(X) [#3].", "2:15 warning derived-tuple: `d/1` is derived"),
    ("d :- a. b :- c, not [] d [3].", "1:17 warning forgotten: `d/0` is derived now and forgotten"),
    ("d :- a. b :- c, <> d [1..3].", "1:17 warning forgotten: `d/0` is derived now and forgotten"),
    ("d :- a. b :- d since c [3].", "1:14 warning forgotten: `d/0` is derived now and forgotten"),
    ("d :- a. b :- c since d [1..3].", "1:14 warning forgotten: `d/0` is derived now and"),
    ("b(T) :- c, @T a.", "1:12 warning unbounded-history: `@` without a window keeps all there"),
    ("b :- not @5 a.", "1:6 warning unbounded-history: `@` without a window keeps all there ever"),
    ("#input a/1. #input b/1.\na(X) :- b(X).", "2:1 warning derived-input: `a/1` is declared"),
    ("b(X) :- a(X,_) at least 3 [30 s].", "1:9 warning each-value: each value of `_` is counted"),
    ("b(N) :- a(_) count N [3].", "1:9 warning each-value: each value of `_` is counted by itself"),
    (
        "b :- @N c [0], @T a [9], N-T > 5, N-T < 3.",
        "1:6 warning never-over: `N-T < 3`: no duration is both at least 6 and at most 2",
    ),
    (
        "b :- @N c [0], @T a [9], T-N >= 2.",
        "1:6 warning never-over: `T-N >= 2`: this time is never after now",
    ),
    (
        "b :- @N c [0], @T a [5], T+9 <= N.",
        "1:6 warning short-window: `T+9 <= N`: the window reaches back 5 points of time",
    ),
    (
        "b :- @N c [0], @T a [2..5], N = T+1.",
        "1:6 warning short-window: `N = T+1`: the window ends 2 points of time before now",
    ),
    ("b :- a at least 7 [5].", "1:6 warning never-over: [5] has 6 points of time at most: 7 never"),
    ("b :- c, a count 5 [5].", "1:9 warning closed-window: [5] is closed at both ends: it holds 6"),
    ("b(X) :- [] a(X,_) [3].", "1:9 warning each-value: each value of `_` is counted by itself"),
    ("(r1) @5 a(1).", "1:6 warning fixed-time: `@5` is outside the timeline until then"),
    ("@(T+1) b :- @T a [0].", "1:1 warning future: this time is always after now"),
    ("@(2+T) b :- @T a [0].", "1:1 warning future: this time is always after now"),
    ("#show a/0. a :- b. #show c/0.", "1:20 warning show-nothing: `#show c/0` shows nothing"),
    ("#input b/1. a(X) :- b(X), <> c(X) [3].", "1:30 warning unknown-predicate: nothing derives"),
    ("a(X) :- hotl(X). c(X) :- hotel(X). hotel(X) :- b(X).", "1:9 warning unknown-pre"),
    ("#show a/1. a(X) :- b(X). c(X) :- b(X).", "1:26 warning unused-predicate: `c/1` is derived"),
    ("(r) a :- b. (r) a :- c.", "1:13 warning repeated-label: line 1 has a rule r too"),
    ("#from <missing.ttl>. a :- b.", "1:1 error knowledge: there is no file `"),
    ("a(X,Y) :- <> b(X) [3], <> c(Y) [3].", "1:1 warning product: "),
    ("n(0). n(X+1) :- n(X).", "1:7 warning unbounded: "),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), REMARKABLE, ids=[text for text, _ in REMARKABLE])
def test_what_is_remarkable_is_told_once_with_its_place(
    tmp_path: Path, text: str, expected: str
) -> None:
    (found,) = findings(tmp_path, text)
    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("element", "cure"),
    [
        ("a(X,_) at least 3 [30 s]", "`any_a(X)` with a rule `@T any_a(X) :- @T a(X,_) [30 s].`"),
        ("a(_) at least 3 [#9]", "`any_a` with a rule `@T any_a :- @T a(_) [#9].`"),
        ('[] -a(f(X,_),Y,"A,_") [3]', "`any_a(X,Y)` with a rule `@T any_a(X,Y) :- @T -a(f(X,_),"),
    ],
)
def test_what_counts_whatever_the_value_is_told(tmp_path: Path, element: str, cure: str) -> None:
    (found,) = findings(tmp_path, f"b :- {element}.")
    assert f"to count whatever the value, count {cure}" in found


UNREMARKABLE = [
    "#stream d/1. d(X) :- a(X). c(X) :- b(X), <> d(X) [#3].",
    "b(T) :- c, @T a [9].",
    "b(X) :- a(X) since c(X,_) [9].",
    "@T d :- @T a [3]. b :- d since c [3].",
    "b(X) :- a(X), not d(X) since c(X,_) [9].",
    "@T d :- @T a [3]. b :- [] d [3].",
    "d :- a. b :- d, <> d [0].",
    "@T b :- @T a [0].",
    "@(T-1) b :- @T a [0].",
    "@(T+1) b :- @T a [3].",
    "@(T+0) b :- @T a [0].",
    "a(X,Y) :- @T b(X) [3], @T c(Y) [3].",
    "a :- not b. b :- not a.",
    "b(X) :- <> a(X,_) [3].",
    "b(X) :- [] a(X,_) [0].",
    "b(X) :- a(X,_X) at least 3 [9], _X > 1.",
    'b(X) :- a(X,"_") at least 3 [9].',
    "@T any_a(X) :- @T a(X,_) [30 s]. b(X) :- any_a(X) at least 3 [30 s].",
    "#defined c/1. #input b/1. a(X) :- b(X), not c(X).",
]


@pytest.mark.parametrize("text", UNREMARKABLE)
def test_what_is_sound_is_passed_over_in_silence(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "cycle"),
    [
        ("a :- not <> b [3].\nb :- a, d.", "a/0 -> not b/0 -> a/0 (lines 1, 2)"),
        ("a :- [] b [3].\nb :- a.", "a/0 -> not b/0 -> a/0 (lines 1, 2)"),
        ("a :- b at least 2 [3].\n@T b :- @T c [2], a.", "a/0 -> not b/0 -> a/0 (lines 1, 2)"),
    ],
)
def test_partitions_demand_that_there_is_no_loop_through_what_must_be_complete(
    tmp_path: Path, text: str, cycle: str
) -> None:
    before = findings(tmp_path, text)
    (found,) = set(findings(tmp_path, text, partitioned=True)) - set(before)
    assert found.startswith(f"1:1 error unstratified: {cycle}")
    assert not any("unstratified" in finding for finding in before)


def test_a_window_of_tuples_and_one_of_length_0_make_no_loop(tmp_path: Path) -> None:
    text = "#stream a/0. a :- not <> a [#3], b. c :- [] d [0]. d :- c."
    assert findings(tmp_path, text, partitioned=True) == []


# --- The commands --------------------------------------------------------------------------

PROGRAM = """\
#show warn/1.
(r1) @T warn(S) :- hot(S), @T alarm(S) [3], not <> off(S) [1 m].
(r2) hot(S) :- temp(S,V), V >= 30.
"""


def run(folder: Path, *arguments: str) -> Done:
    return Folder(REPOSITORY).run(*(a.replace("FOLDER", str(folder)) for a in arguments))


def plan(folder: Path, text: str) -> Any:
    (folder / "p.lars").write_text(text, encoding="utf-8")
    done = run(folder, "plan", "FOLDER/p.lars", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_plan_names_fragment_engine_and_graphs_by_labels(tmp_path: Path) -> None:
    found = plan(tmp_path, PROGRAM)
    (partition,) = found.pop("partitions")
    assert (found["language"], found["fragment"]) == ("lars", "stratified")
    assert (found["engine"], found["outside"]) == ("incremental", [])
    assert found["strata"] == [["alarm/1", "hot/1", "off/1", "temp/2"], ["warn/1"]]
    assert found["input_predicates"] == ["alarm/1", "off/1", "temp/2"]
    assert found["extended_graph"]["directed"] == [
        ["alarm/1", "warn/1"], ["hot/1", "warn/1"], ["off/1", "warn/1"], ["temp/2", "hot/1"],
    ]  # fmt: skip
    assert ["off/1", "off/1"] in found["extended_graph"]["undirected"]
    assert (partition["rules"], partition["shows"]) == (["r1", "r2"], ["warn/1"])


@pytest.mark.parametrize(
    ("text", "fragment", "engine"),
    [
        ("a(X) :- <> b(X) [3], c(X) at least 2 [5].", "positive", "incremental"),
        ("a(X) :- <> b(X) [3], c(X) at most 2 [5].", "stratified", "incremental"),
        ("a :- b, not c. c :- b, not a.", "normal", "solver"),
    ],
)
def test_the_fragment_decides_the_engine(
    tmp_path: Path, text: str, fragment: str, engine: str
) -> None:
    found = plan(tmp_path, text)
    assert (found["fragment"], found["engine"]) == (fragment, engine)
    assert bool(found["outside"]) == (engine == "solver")


def test_a_plan_is_also_text_and_graphs(tmp_path: Path) -> None:
    (tmp_path / "p.lars").write_text("a :- b, not c. c :- b, not a.", encoding="utf-8")
    text = run(tmp_path, "plan", "FOLDER/p.lars").stdout
    assert text.startswith("p.lars: lars, normal, engine solver\n")
    assert "a/0 -> c/0" in text
    assert run(tmp_path, "plan", "FOLDER/p.lars", "--format", "dot").stdout.startswith("digraph")


def test_check_finds_programs_of_plain_lars_in_folders(tmp_path: Path) -> None:
    (tmp_path / "fine.lars").write_text(PROGRAM)
    (tmp_path / "wrong.lars").write_text("a :- <> b.")
    done = run(tmp_path, "check", "FOLDER")
    assert (done.returncode, done.stderr) == (1, "")
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"{tmp_path}/wrong.lars:1:6: error window: `<> b` has no window")

"""What `citywise reason --revise` takes, refuses and prints (docs/revision.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import Folder

REQUEST = """#from stream <http://e/s> [time 3s step 1s].
#show q/2.
q(A,C) :- p(A,B), p(B,C), not r(A).
"""
DOCUMENT = """Document(Prefix(e <http://e/>) 4 s Group(
  Forall ?x ?y ?z (e:q(?x ?z) :- And(e:p(?x ?y) e:p(?y ?z)))))
"""


def _run(
    folder: Path, lines: list[Any], *options: str, program: str = REQUEST, name: str = "a.casp"
) -> tuple[int, list[dict[str, Any]], str]:
    runner = Folder(folder)
    runner.write(name, program)
    runner.write("s.jsonl", lines)
    done = runner.run("reason", name, "--stream", "s.jsonl", *options)
    return done.returncode, [json.loads(t) for t in done.stdout.splitlines()], done.stderr


def _item(time: Any, atom: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"t": time, "atom": atom} | ({} if name is None else {"id": name}) | more


LATE = [_item(1, "p(1,2)"), _item(3, "p(2,3)"), _item(6, "x"), _item(2, "r(1)", "r")]


def test_a_late_item_revises_the_evaluations_it_affects_and_no_other(tmp_path: Path) -> None:
    code, found, said = _run(tmp_path, LATE, "--from", "0", "--revise", "10s")
    assert (code, said) == (0, "")
    assert [(r["t"], r["answer_sets"], r.get("revision")) for r in found] == [
        (3, [["q(1,3)"]], None), (4, [["q(1,3)"]], None), (5, [[]], None),
        (3, [[]], 1), (4, [[]], 1), (6, [[]], None),
    ]  # fmt: skip


def test_a_withdrawn_item_that_comes_again_is_back(tmp_path: Path) -> None:
    lines = [*LATE, {"withdraw": "r"}, _item(2, "r(1)", "r")]
    _code, found, _said = _run(tmp_path, lines, "--from", "0", "--revise", "10")
    at_3 = [(r["answer_sets"], r.get("revision")) for r in found if r["t"] == 3]
    assert at_3 == [([["q(1,3)"]], None), ([[]], 1), ([["q(1,3)"]], 2), ([[]], 3)]


def test_changes_are_told_against_the_line_before_of_the_same_time(tmp_path: Path) -> None:
    _code, found, _said = _run(tmp_path, LATE, "--from", "0", "--revise", "10", "--deltas")
    (first, again) = [(r["added"], r["removed"]) for r in found if r["t"] == 4]
    assert first == ([], [])
    assert again == ([], ["q(1,3)"])


def test_an_evaluation_after_the_last_item_that_is_left_has_no_answer_sets(tmp_path: Path) -> None:
    lines = [_item(0, "p(1,1)"), _item(5, "x", "last"), _item(6, "x", "more"), {"withdraw": "more"},
             {"withdraw": "last"}, _item(4, "p(2,2)")]  # fmt: skip
    _code, found, _said = _run(tmp_path, lines, "--from", "0", "--revise", "10")
    at_5 = [(r["answer_sets"], r.get("revision")) for r in found if r["t"] == 5]
    assert at_5 == [([[]], None), (None, 1)]
    at_4 = [(r["answer_sets"], r.get("revision")) for r in found if r["t"] == 4]
    assert at_4 == [([[]], None), (None, 1), ([["q(2,2)"]], 2)]


def test_an_item_that_comes_at_the_newest_time_brings_back_what_is_due_before_it(
    tmp_path: Path,
) -> None:
    lines = [_item(7, "x", "i"), _item(1, "x", "i"), _item(7, "x"), _item(4, "p(1,1)")]
    _code, found, _said = _run(tmp_path, lines, "--from", "2", "--revise", "9")
    assert [(r["t"], r["answer_sets"], r.get("revision")) for r in found] == [
        (5, [[]], None), (6, [[]], None), (5, None, 1), (6, None, 1),
        (5, [[]], 2), (6, [[]], 2), (5, [["q(1,1)"]], 3), (6, [["q(1,1)"]], 3),
        (7, [["q(1,1)"]], None),
    ]  # fmt: skip


def test_what_is_beyond_the_horizon_is_left_out_with_a_warning(tmp_path: Path) -> None:
    code, found, said = _run(tmp_path, LATE, "--from", "0", "--revise", "3s")
    assert code == 0
    assert not [r for r in found if "revision" in r]
    assert "s.jsonl:4: is 4s behind the newest time and is left out" in said


def test_the_withdrawal_of_what_never_came_is_refused_with_its_line(tmp_path: Path) -> None:
    code, _found, said = _run(tmp_path, [*LATE, {"withdraw": "s"}], "--from", "0", "--revise", "9")
    assert code == 1
    assert "s.jsonl:5: withdraws 's', which has not come" in said


@pytest.mark.parametrize("line", [{"withdraw": "r"}, _item(2, "r(2)", "r")])
def test_without_a_horizon_corrections_and_withdrawals_are_refused(
    tmp_path: Path, line: dict[str, Any]
) -> None:
    code, found, said = _run(tmp_path, [_item(1, "r(1)", "r"), line, _item(4, "x")])
    assert code == 1
    assert "s.jsonl:2: " in said
    assert "--revise HORIZON" in said
    assert len(found) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"withdraw": 7}, '"withdraw" is 7; expected a string'),
        ({"withdraw": "r", "t": 4}, 'a withdrawal has "withdraw" and "stream" only; found "t"'),
        (_item(2, "r(1)") | {"id": 7}, '"id" is 7; expected a string'),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: dict[str, Any], message: str) -> None:
    code, _found, said = _run(tmp_path, [*LATE, line], "--from", "0", "--revise", "9")
    assert code == 1
    assert f"s.jsonl:5: {message}" in said


@pytest.mark.parametrize(
    "options",
    [("--revise", "1h"), ("--revise", "1h", "--from", "0", "--models", "1"),
     ("--revise", "soon", "--from", "0"), ("--revise", "-1", "--from", "0")],
)  # fmt: skip
def test_wrong_usage_is_said(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert _run(tmp_path, LATE, *options)[0] == 2


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("a.casp", REQUEST + "#revise 10s."),
        ("a.lars", "#revise 10.\n#show q/2.\nq(A,C) :- <> p(A,B) [3], <> p(B,C) [3]."),
        ("a.rifps", "#revise 10s.\n" + DOCUMENT),
    ],
)  # fmt: skip
def test_a_program_says_itself_how_far_back_it_revises(
    tmp_path: Path, name: str, program: str
) -> None:
    rif = name.endswith("rifps")
    lines = [_item(1, "p(1,2)"), _item(6, "x"), _item(3, "p(2,3)", "p")]
    if rif:
        lines = [line | {"atom": line["atom"].replace("p(", "e_p(")} for line in lines]
    code, found, said = _run(tmp_path, lines, "--from", "0", program=program, name=name)
    assert (code, said) == (0, "")
    last = [r for r in found if r["t"] == 3][-1]
    assert last["answer_sets"] == [["e_q(1,3)" if rif else "q(1,3)"]]
    assert _run(tmp_path, lines, program=program, name=name)[0] == 2


def test_iso_times_are_revised_by_durations(tmp_path: Path) -> None:
    lines = [line | {"t": f"2014-08-05T00:00:0{line['t']}Z"} for line in LATE]
    start = ("--from", "2014-08-05T00:00:00Z")
    code, found, _said = _run(tmp_path, lines, *start, "--revise", "1m")
    assert code == 0
    assert found[-2] == {"t": "2014-08-05T00:00:04Z", "answer_sets": [[]], "revision": 1}


def test_a_line_without_a_time_follows_the_one_before_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"t": 9, "atom": "x"}\n')
    lines = [_item(1, "p(1,2)"), _item(3, "p(2,3)", "p"), {"withdraw": "p"}, _item(4, "x")]
    code, found, _said = _run(
        tmp_path, lines, "--stream", "b.jsonl", "--from", "0", "--revise", "2"
    )
    assert code == 0  # it was withdrawn at 3, when 9 had not been seen
    assert all(r["answer_sets"] == [[]] for r in found)


def test_the_next_program_ends_with_the_same_stream(tmp_path: Path) -> None:
    _code, lines, _said = _run(
        tmp_path,
        LATE,
        "--from",
        "0",
        "--revise",
        "9",
        "--emit",
        "rstream",
        "--emit-as",
        "http://e/o",
    )
    assert lines == [
        {"id": "a-3-0", "t": 3, "atom": "q(1,3)", "stream": "http://e/o"},
        {"id": "a-4-0", "t": 4, "atom": "q(1,3)", "stream": "http://e/o"},
        {"withdraw": "a-3-0", "stream": "http://e/o"},
        {"withdraw": "a-4-0", "stream": "http://e/o"},
    ]


def test_an_explanation_is_of_the_stream_as_it_is_in_the_end(tmp_path: Path) -> None:
    runner = Folder(tmp_path)
    runner.write("a.casp", REQUEST + "#revise 10s.")
    runner.write("s.jsonl", [_item(1, "p(1,3)", "p"), _item(6, "x"), _item(3, "p(2,3)"),
                             _item(1, "p(1,2)", "p")])  # fmt: skip
    given = ("explain", "a.casp", "--stream", "s.jsonl", "--from", "0", "--at", "3")
    done = runner.run(*given, "--atom", "q(1,3)")
    assert done.returncode == 0, done.stderr
    assert "s.jsonl:4" in done.stdout

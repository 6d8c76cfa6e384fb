"""Why and why not in programs of plain LARS, and the same reasons as in C-ASP."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.errors import ItemError
from citywise.reasoning.explain.tree import Explanation, TreeNode
from citywise.reasoning.model.engine import OURS
from citywise.reasoning.run.language import RecordedError
from citywise.reasoning.run.recorded import Recorded
from tests.command import Folder
from tests.lars.program_text import program_text
from tests.lars.programs import Example, examples
from tests.lars.recordings import written

Line = dict[str, Any]


def atoms(*items: tuple[int, str]) -> list[Line]:
    """The lines of a recording."""
    return [{"t": time, "atom": atom} for time, atom in items]


def asked(
    folder: Path,
    name: str,
    text: str,
    stream: Sequence[Line],
    at: int | str,
    atom: str,
    *,
    number: int = 1,
    engine: Choice = "auto",
    start: int | None = None,
    knowledge: str = "",
) -> Explanation:
    """Why an atom is in an answer of a program, or why it is not."""
    program, recording, facts = folder / name, folder / "s.jsonl", folder / "k.lp"
    program.write_text(text, encoding="utf-8")
    recording.write_text("".join(json.dumps(line) + "\n" for line in stream), encoding="utf-8")
    facts.write_text(knowledge, encoding="utf-8")
    run = Recorded(program, [recording], [facts], start=start, limits=None, engine=engine)
    return run.explainer(at, number).explainer.explain(atom)


def said(folder: Path, text: str, stream: Sequence[Line], at: int, atom: str, **more: Any) -> str:
    """What is said of a program of plain LARS, without the folder's name."""
    found = asked(folder, "p.lars", text, stream, at, atom, **more)
    return str(found).replace(f"{folder}/", "")


# -- the same reasons in both languages and on both engines ------------------------------------

WINDOW = "#from stream <s> [time 3s step 1s].\n"
PATHS = atoms((36, "p(a,b)"), (38, "p(b,c)"), (38, "hot(b)"), (39, "p(c,d)"), (40, "p(x,y)"))
TRIPLES = [
    {"t": t, "s": f"<http://x.org/{who}>", "p": "<http://x.org/v>", "o": "<http://x.org/o>"}
    for t, who in [(36, "a"), (37, "a"), (38, "a"), (38, "b"), (40, "b")]
]
PREFIX = "#prefix x : <http://x.org/>.\n"
PAIRS = {
    "join": (
        "(j) q(A,C) :- p(A,B), p(B,C).",
        "(j) q(A,C) :- <> p(A,B) [3], <> p(B,C) [3].",
        PATHS, ["q(a,c)", "q(b,d)", "q(a,d)", "q(x,y)"],
    ),
    "negation": (
        "(n) cool(A) :- p(A,B), not hot(A). (m) odd(A) :- cool(A), not q. (q) q :- hot(A), A > z.",
        ("(n) cool(A) :- <> p(A,B) [3], not <> hot(A) [3]. (m) odd(A) :- cool(A), not q. "
         "(q) q :- <> hot(A) [3], A > z."),
        PATHS, ["cool(b)", "cool(c)", "odd(a)", "odd(b)", "q"],
    ),
    "count": (
        ("(c) busy(S) :- x_v(S,O), #count { T : x_v(S,O,T) } >= 3. "
         "(r) rest(S) :- x_v(S,O), not busy(S)."),
        ("(c) busy(S) :- <> x_v(S,O) [3], x_v(S,O) at least 3 [3]. "
         "(r) rest(S) :- <> x_v(S,O) [3], not busy(S)."),
        TRIPLES, ['busy("x_a")', 'busy("x_b")', 'rest("x_b")', 'rest("x_a")'],
    ),
    "recursion": (
        "(b) r(A,B) :- p(A,B). (s) r(A,C) :- r(A,B), p(B,C), A != C.",
        "(b) r(A,B) :- <> p(A,B) [3]. (s) r(A,C) :- r(A,B), <> p(B,C) [3], A != C.",
        PATHS, ["r(a,d)", "r(d,a)"],
    ),
}  # fmt: skip


def folded(node: TreeNode) -> tuple[Any, ...]:
    """A tree of reasons without notation: windows and streams are not named, a time at which
    an atom held is its last argument, and rules go by their names."""
    text = node.text
    if node.rule is not None:
        text = text.replace(node.rule.text, "")
    text = re.sub(r"not (.*?) at least (\d+)", r"not \2 <= #count", text)
    text = re.sub(r"\S+ at least \d+ \[3\]|\d <= #count \{.*?\}", "COUNT", text)
    text = re.sub(r"@(\S+) (\w+)\((.*?)\) \[3\]", r"\2(\3,\1)", text)
    text = text.replace("<> ", "").replace(" [3]", "").replace("stream <s>", "stream")
    return node.kind, text, node.count, *map(folded, node.children)


@pytest.mark.parametrize("pair", PAIRS)
def test_a_request_and_the_program_that_says_the_same_give_the_same_reasons(
    tmp_path: Path, pair: str
) -> None:
    casp, lars, stream, questions = PAIRS[pair]
    for question in questions:
        trees = [
            folded(asked(tmp_path, name, PREFIX + text, stream, 39, question).tree)
            for name, text in (("p.casp", WINDOW + casp), ("p.lars", "\n" + lars))
        ]
        assert trees[0] == trees[1], question


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("language", ["casp", "lars"])
def test_the_reasons_are_those_of_any_engine(tmp_path: Path, pair: str, language: str) -> None:
    casp, lars, stream, questions = PAIRS[pair]
    text = PREFIX + (WINDOW + casp if language == "casp" else lars)
    for question in questions:
        incremental, solver = (
            str(asked(tmp_path, f"p.{language}", text, stream, 39, question, engine=engine))
            for engine in ("incremental", "solver")
        )
        assert incremental == solver


# -- why ---------------------------------------------------------------------------------------


def test_an_atom_of_a_window_names_the_items_that_gave_it(tmp_path: Path) -> None:
    program = "(r1) q(A,C) :- <> p(A,B) [3], [] p(B,C) [1].\n"
    stream = atoms((36, "p(a,b)"), (38, "p(b,c)"), (39, "p(b,c)"))
    assert said(tmp_path, program, stream, 39, "q(a,c)") == (
        "q(a,c) at 39  by rule r1: q(A,C) :- <> p(A,B) [3], [] p(B,C) [1].\n"
        "├─ <> p(a,b) [3]  stream at 36 (s.jsonl:1)\n"
        "└─ [] p(b,c) [1]  stream at 38 (s.jsonl:2); stream at 39 (s.jsonl:3)\n"
    )


def test_what_heads_place_and_windows_see_of_it_is_followed_to_the_items(tmp_path: Path) -> None:
    program = "@T up(X) :- @T p(X) [4].\nsome(X) :- <> up(X) [3], X != z.\nall(X) :- [] up(X) [1]."
    stream = atoms((38, "p(a)"), (39, "p(a)"), (40, "p(b)"))
    assert said(tmp_path, program, stream, 40, "some(a)") == (
        "some(a) at 40  by rule line 2: some(X) :- <> up(X) [3], X != z.\n"
        "├─ <> up(a) [3]  holds at 38\n"
        "│  └─ @38 up(a)  by rule line 1: @T up(X) :- @T p(X) [4].\n"
        "│     └─ @38 p(a) [4]  stream at 38 (s.jsonl:1)\n"
        "└─ a != z\n"
    )
    assert said(tmp_path, program, stream, 39, "all(a)") == (
        "all(a) at 39  by rule line 3: all(X) :- [] up(X) [1].\n"
        "└─ [] up(a) [1]  holds at every point from 38 to 39\n"
        "   ├─ @38 up(a) [1]  by rule line 1: @T up(X) :- @T p(X) [4].\n"
        "   │  └─ @38 p(a) [4]  stream at 38 (s.jsonl:1)\n"
        "   └─ @39 up(a) [1]  by rule line 1\n"
        "      └─ @39 p(a) [4]  stream at 39 (s.jsonl:2)\n"
    )


def test_knowledge_is_named_wherever_a_window_sees_it(tmp_path: Path) -> None:
    program = "q(X) :- k(X), <> k(X) [3], [] k(X) [#2], p."
    found = said(tmp_path, program, atoms((3, "p")), 3, "q(1)", knowledge="k(1).\n")
    assert found == (
        "q(1) at 3  by rule line 1: q(X) :- k(X), <> k(X) [3], [] k(X) [#2], p.\n"
        "├─ k(1)  knowledge k.lp: line 1\n"
        "├─ <> k(1) [3]  knowledge k.lp: line 1\n"
        "├─ [] k(1) [#2]  knowledge k.lp: line 1\n"
        "└─ p  stream at 3 (s.jsonl:1)\n"
    )


def test_a_count_names_the_points_of_time(tmp_path: Path) -> None:
    program = "(hot) hot(X) :- p(X,_) at least 2 [5]."
    stream = atoms((36, "p(a,1)"), (38, "p(a,1)"))
    assert said(tmp_path, program, stream, 38, "hot(a)") == (
        "hot(a) at 38  by rule hot: hot(X) :- p(X,_) at least 2 [5].\n"
        "└─ #count = 2: @36 p(a,1) [5], @38 p(a,1) [5]  (2 <= #count)\n"
        "   ├─ @36 p(a,1) [5]  stream at 36 (s.jsonl:1)\n"
        "   └─ @38 p(a,1) [5]  stream at 38 (s.jsonl:2)\n"
    )


def test_what_was_fed_back_is_from_the_answer_of_its_time(tmp_path: Path) -> None:
    program = "on :- go. on :- <> on [1], not stop. seen :- on. #stream on/0. #show seen/0."
    found = said(tmp_path, program, atoms((1, "go"), (3, "x")), 3, "seen")
    assert "<> on [1]  from the previous answer, at 2\n" in found


def test_of_several_answer_streams_one_is_explained(tmp_path: Path) -> None:
    program = "a :- <> p [1], not b. b :- <> p [1], not a."
    first, second = (
        asked(tmp_path, "p.lars", program, atoms((0, "p")), 0, "a", number=number)
        for number in (1, 2)
    )
    assert (first.holds, second.holds) == (True, False)
    assert [node.kind for node in second.tree.children][-1] == "elsewhere"


def test_texts_that_look_like_the_encoding_are_left_alone(tmp_path: Path) -> None:
    program = "q(X) :- <> p(X,Y) [2]."
    stream = atoms((0, 'p("citywise_w0(1)","a)\\",(b")'))
    assert said(tmp_path, program, stream, 0, 'q("citywise_w0(1)")') == (
        'q("citywise_w0(1)") at 0  by rule line 1: q(X) :- <> p(X,Y) [2].\n'
        '└─ <> p("citywise_w0(1)","a)\\",(b") [2]  stream at 0 (s.jsonl:1)\n'
    )


def test_of_derivations_that_are_alike_the_first_is_told_whatever_the_hash_seed(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path)
    folder.write("p.lars", "q :- p(X).\n")
    folder.write("s.jsonl", atoms(*((1, f"p({n})") for n in (3, 1, 4, 2))))
    asked = ("explain", "p.lars", "--stream", "s.jsonl", "--at", "1", "--atom", "q")
    for seed in (1, 2):
        assert "─ p(3)  stream" in folder.run(*asked, seed=seed).stdout


# -- why not -----------------------------------------------------------------------------------


def test_items_outside_of_a_window_are_named_with_the_window(tmp_path: Path) -> None:
    program = "q(X) :- <> p(X) [2]. r(X) :- @T p(X) [2], T > 36. s(X) :- p(X)."
    stream = atoms((35, "p(a)"), (41, "p(a)"))
    for question, formula in (("q(a)", "<> p(a) [2]"), ("r(a)", "@35 p(a) [2]")):
        found = said(tmp_path, program, stream, 40, question)
        assert f"{formula}  stream at 35 (s.jsonl:1) is before the window [38, 40]\n" in found
        assert "stream at 41 (s.jsonl:2) is after the window [38, 40]\n" in found
    found = said(tmp_path, program, stream, 40, "s(a)")
    assert "p(a)  stream at 35 (s.jsonl:1) is before the window [40, 40]\n" in found


@pytest.mark.parametrize(
    ("stream", "start", "words"),
    [
        (atoms((1, "p(a)"), (2, "x"), (3, "y")), None, "has been pushed out of the count window"),
        (atoms((3, "y"), (1, "p(a)")), None, "came too late: its time had been closed"),
        (
            atoms((1, "p(a)"), (3, "y"), (3, "z")),
            2,
            "is before the start of the run: it begins at 2",
        ),
    ],
)
def test_items_that_do_not_count_are_named_with_the_reason(
    tmp_path: Path, stream: Sequence[Line], start: int | None, words: str
) -> None:
    found = said(tmp_path, "q(X) :- <> p(X) [#2].", stream, 3, "q(a)", start=start)
    assert re.search(rf"<> p\(a\) \[#2\]  stream at 1 \(s.jsonl:\d\) {words}", found)


def test_an_item_without_a_value_is_named(tmp_path: Path) -> None:
    program = PREFIX + "big(S) :- <> x_size(S,V) [2], V > 3."
    size = '"3.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    stream = [
        {"t": 1, "s": "<http://x.org/a>", "p": "<http://x.org/size>", "o": size},
        {"t": 1, "s": "<http://x.org/b>", "p": "<http://x.org/size>", "o": "<http://x.org/c>"},
    ]
    found = said(tmp_path, program, stream, 1, 'big("x_a")')
    assert '<> x_size("x_a","3.5") [2]  stream at 1 (s.jsonl:1) was refused' in found


def test_a_box_that_fails_says_where_the_atom_was_given(tmp_path: Path) -> None:
    stream = atoms((37, "p(a)"), (38, "p(a)"), (40, "p(a)"))
    found = said(tmp_path, "q(X) :- [] p(X) [3].", stream, 40, "q(a)")
    assert "p(a) is given at 3 of 4 points of the window, not at 39\n" in found


def test_rules_for_what_a_window_sees_fall_away(tmp_path: Path) -> None:
    program = "@T up(X) :- @T p(X) [4], X != b.\nsome(X) :- <> up(X) [3]."
    found = said(tmp_path, program, atoms((38, "p(b)")), 38, "some(b)")
    assert "citywise" not in found
    assert found.startswith(
        "some(b) at 38  is not in the answer\n"
        "└─ rule line 2: some(X) :- <> up(X) [3].\n"
        "   └─ <> up(b) [3]  fails: there is no <> up(b) [3]\n"
        "      └─ <> up(b) [3]  is not in the answer\n"
    )
    assert "rule line 1: @T up(X) :- @T p(X) [4], X != b.\n" in found
    assert "b != b  fails: b != b is false\n" in found


def test_without_an_answer_stream_the_conflict_is_told(tmp_path: Path) -> None:
    program = "q :- <> p [2].\n(no) :- q, x."
    found = said(tmp_path, program, atoms((1, "p"), (2, "x")), 2, "q")
    assert found == (
        "there is no answer set at 2: this cannot be met\n└─ rule no: :- q, x.\n"
        "   └─ forbids q; x\n"
    )


def test_a_head_outside_of_the_timeline_is_told(tmp_path: Path) -> None:
    found = said(tmp_path, "@(T+2) q(X) :- @T p(X) [2].", atoms((4, "p(a)")), 4, "q(a)")
    assert found == (
        "there is no answer set at 4: this cannot be met\n"
        "└─ rule line 1: @(T+2) q(X) :- @T p(X) [2].  places an atom outside of the timeline "
        "[4, 4]\n"
        "   └─ forbids @4 p(a) [2]; (4+2) > 4\n"
    )


def test_a_time_that_is_not_on_the_timeline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordedError, match="near by are those at 2 and 3"):
        said(tmp_path, "q :- p.", atoms((1, "p"), (3, "x")), 9, "q")


# -- any program -------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(examples(rivals=True))
def test_every_explanation_says_what_the_answers_say(example: Example) -> None:
    with tempfile.TemporaryDirectory() as name:
        run = recorded(Path(name), example)
        found = [e for e in run.evaluations() if e.error is None]
        for evaluation in found[:: max(1, len(found) // 3)]:
            for number, answer in enumerate(evaluation.answer_sets[:2], 1):
                about = run.explainer(evaluation.time, number)
                others = {f"{s.name}(1)" for s in example.program.derived if s.arity == 1}
                for atom in [*answer.atoms[:4], *sorted(others - {*answer.atoms})]:
                    explanation = about.explainer.explain(atom)
                    assert explanation.holds == (atom in answer.atoms)
                    assert OURS not in f"{explanation}{explanation.to_json()}".lower()


def recorded(folder: Path, example: Example) -> Recorded:
    """The example as files; everything derived is shown."""
    shown = replace(example.program, shows=example.program.derived)
    program, recording, facts = folder / "p.lars", folder / "s.jsonl", folder / "k.lp"
    program.write_text(program_text(shown), encoding="utf-8")
    lines = [{"t": i.time, "atom": written(i.fact), "until": i.until} for i in example.items]
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    facts.write_text("".join(f"{written(f)}.\n" for f in example.knowledge), encoding="utf-8")
    return Recorded(program, [recording], [facts], example.start, example.until, limits=None)


# -- what rules place outside of a window ------------------------------------------------------

PLACED = """
@T d :- @T a [5].
b :- [] d [2].
e(T) :- @T d.
g :- @2 d [0].
k :- <> d [0].
"""
ARRIVED = atoms((1, "a"), (2, "a"), (3, "c"))


@pytest.mark.parametrize(
    ("atom", "reason"),
    [
        ("b", "d holds at 2 of 3 points of the window, not at 3"),
        ("g", "@2 d [0]  is not in the answer\n         └─ d holds at 2, before the window [3, 3]"),
        ("k", "d holds at 1, 2, before the window [3, 3]"),
    ],
)
def test_a_window_that_lacks_derived_atoms_says_when_they_hold(
    tmp_path: Path, atom: str, reason: str
) -> None:
    found = said(tmp_path, PLACED, ARRIVED, 3, atom)
    assert reason in found
    assert found.count("@3 a") == 3 * found.count("─ d  is not") + 3 * found.count("@3 d  is not")


def test_an_atom_at_another_point_of_time_can_be_asked_about(tmp_path: Path) -> None:
    found = asked(tmp_path, "p.lars", PLACED, ARRIVED, 3, "@2 d")
    assert found.atom == "@2 d"
    assert str(found).startswith("@2 d at 3")
    assert "@2 a [5]" in str(found)
    assert "d at 3  is not in the answer" in said(tmp_path, PLACED, ARRIVED, 3, "@3 d")
    with pytest.raises(ItemError, match="no head places `b/0`"):
        asked(tmp_path, "p.lars", PLACED, ARRIVED, 3, "@2 b")


SINCE = """
(b) back(S) :- up(S) since down(S,_) [5].
(n) quiet(S) :- near(S), not up(S) since down(S,_) [5].
@T on(S) :- @T up(S) [9].
(d) steady(S) :- on(S) since down(S,_) [5].
"""
UP = atoms(
    (2, "down(s,1)"), (3, "up(s)"), (4, "up(s)"), (4, "near(s)"), (6, "near(s)"), (9, "near(s)"),
)  # fmt: skip


def test_since_says_when_it_began_and_what_has_held_after_that(tmp_path: Path) -> None:
    assert said(tmp_path, SINCE, UP, 4, "back(s)") == (
        "back(s) at 4  by rule b: back(S) :- up(S) since down(S,_) [5].\n"
        "└─ up(s) since down(s,_) [5]  holds since 2\n"
        "   ├─ @2 down(s,1) [5]  stream at 2 (s.jsonl:1)\n"
        "   └─ up(s) at every point from 3  stream at 3 (s.jsonl:2); stream at 4 (s.jsonl:3)\n"
    )
    assert said(tmp_path, SINCE, UP, 4, "steady(s)") == (
        "steady(s) at 4  by rule d: steady(S) :- on(S) since down(S,_) [5].\n"
        "└─ on(s) since down(s,_) [5]  holds since 2\n"
        "   ├─ @2 down(s,1) [5]  stream at 2 (s.jsonl:1)\n"
        "   └─ on(s) at every point from 3\n"
        "      ├─ @3 on(s) [4]  by rule line 4: @T on(S) :- @T up(S) [9].\n"
        "      │  └─ @3 up(s) [9]  stream at 3 (s.jsonl:2)\n"
        "      └─ @4 on(s) [4]  by rule line 4\n"
        "         └─ @4 up(s) [9]  stream at 4 (s.jsonl:3)\n"
    )
    assert "up(s) since down(s,_) [5]  holds since 2\n" in said(tmp_path, SINCE, UP, 4, "quiet(s)")


def test_since_tells_times_as_the_recording_does(tmp_path: Path) -> None:
    stream = [
        {"t": f"2026-11-27T07:00:0{second}Z", "atom": atom}
        for second, atom in enumerate(("q", "p", "p"))
    ]
    found = asked(tmp_path, "p.lars", "h :- p since q [9].", stream, "2026-11-27T07:00:02Z", "h")
    assert "p since q [9]  holds since 2026-11-27T07:00:00Z" in str(found)
    assert "p at every point from 2026-11-27T07:00:01Z  stream at" in str(found)


def test_since_says_where_it_broke_or_that_it_did_not_begin(tmp_path: Path) -> None:
    broken = "down(s,_) holds at 2, but after it up(s) not at 5, 6\n"
    assert said(tmp_path, SINCE, UP, 6, "back(s)").endswith(
        f" is not in the answer\n         └─ {broken}"
    )
    assert broken.replace("up", "on") in said(tmp_path, SINCE, UP, 6, "steady(s)")
    before = said(tmp_path, SINCE, UP, 9, "back(s)")
    assert "down(s,_) holds at no point of the window [4, 9]" in before
    assert (
        before.count("@2 down(s,1) [5]  stream at 2 (s.jsonl:1) is before the window [4, 9]") == 1
    )
    assert "not up(s) since down(s,_) [5]  not" in said(tmp_path, SINCE, UP, 9, "quiet(s)")
    early = said(tmp_path, SINCE.replace("[5]", "[1..5]"), UP, 2, "back(s)")
    assert "the window [1..5] has no point of time yet" in early


AGO = """
q(X) :- <> a(X) [1..2].
r(X) :- [] a(X) [1..2].
@T p(X) :- @T a(X) [9].
s(X) :- <> p(X) [2..3].
"""


def test_a_window_that_ends_before_now_says_what_is_before_and_after_it(tmp_path: Path) -> None:
    stream = atoms((1, "a(1)"), (3, "a(1)"), (4, "b"))
    assert "stream at 3 (s.jsonl:2)" in said(tmp_path, AGO, stream, 4, "q(1)")
    after = said(tmp_path, AGO, stream, 1, "q(1)")
    assert "stream at 1 (s.jsonl:1) is after the window [-1, 0]" in after
    none_yet = said(tmp_path, AGO, stream, 1, "r(1)")
    assert "the window [1..2] has no point of time yet" in none_yet
    gap = said(tmp_path, AGO, stream, 4, "r(1)")
    assert "a(1) is given at 1 of 2 points of the window, not at 2" in gap
    assert "<> p(1) [2..3]  holds at 1" in said(tmp_path, AGO, stream, 3, "s(1)")
    placed = said(tmp_path, AGO, stream, 1, "s(1)")
    assert "p(1) holds at 1, and the window has no point of time yet" in placed

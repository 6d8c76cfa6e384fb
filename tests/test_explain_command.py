"""`citywise explain`: why, why not and conflict on a recording, and errors one can act on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.engines.clingo import guard
from citywise.reasoning.engines.clingo.guard import limited
from citywise.reasoning.errors import ItemError, SolvingError
from citywise.reasoning.limits import LimitError, Limits
from tests.command import Folder

pytestmark = pytest.mark.slow

COUNT = """#from stream <s> [time 2s step 1s].
(in) in(X) :- d(X), not out(X).
#show in/1.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.write("count.casp", COUNT)
    found.write("items.jsonl", [{"t": t, "atom": f"d({t})"} for t in range(6)])
    found.write("pick.lp", "{ pick(1..2) } = 1. hidden :- pick(2). #show pick/1.")
    found.write("never.lp", "p :- not q. :- p.")
    return found


def explained(folder: Folder, program: str, *arguments: str, stream: str = "items.jsonl") -> str:
    """What it prints about a program with a stream."""
    done = folder.run("explain", program, "--stream", stream, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_why_down_to_the_line_of_the_recording(folder: Folder) -> None:
    assert explained(folder, "count.casp", "--at", "3", "--atom", "in(2)") == (
        "in(2) at 3  by rule in: in(X) :- d(X), not out(X).\n"
        "├─ d(2)  stream <s> at 2 (items.jsonl:3)\n"
        "└─ not out(2)  not in the answer\n"
    )


def test_why_not_with_the_item_that_is_outside(folder: Folder) -> None:
    said = explained(folder, "count.casp", "--at", "3", "--atom", "in(0)", "--not")
    assert said.startswith("in(0) at 3  is not in the answer\n")
    assert "d(0)  stream <s> at 0 (items.jsonl:1) is before the window [1, 3]\n" in said


def test_a_program_without_streams_needs_no_time(folder: Folder) -> None:
    done = folder.run("explain", "never.lp", "--atom", "p")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "there is no answer set: this cannot be met\n└─ rule line 1: :- p.\n   └─ forbids p\n"
    )


def test_answer_chooses_among_several(folder: Folder) -> None:
    first = folder.run("explain", "pick.lp", "--atom", "hidden")
    second = folder.run("explain", "pick.lp", "--atom", "hidden", "--answer", "2")
    assert first.stdout.startswith("hidden  is not in the answer")
    assert first.stderr == "citywise: `hidden` is not in the answer\n"
    assert second.stdout.startswith("hidden  by rule line 1")


def test_what_the_question_takes_for_granted_is_put_right(folder: Folder) -> None:
    done = folder.run("explain", "pick.lp", "--atom", "pick(1)", "--not")
    assert done.returncode == 0
    assert done.stderr == "citywise: `pick(1)` is in the answer\n"
    assert done.stdout.startswith("pick(1)  chosen by")


def test_the_json_has_the_names_that_are_documented(folder: Folder) -> None:
    text = (REPOSITORY / "docs" / "explain.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w[\w ]*)`", text)) | {"kind", "text"}
    found = json.loads(
        explained(folder, "count.casp", "--at", "3", "--atom", "in(2)", "--format", "json")
    )
    assert (found["question"], found["t"], found["holds"]) == ("why", 3, True)
    assert {key for node in _objects(found["tree"]) for key in node} <= documented
    assert {node["kind"] for node in _objects(found["tree"]) if "kind" in node} <= documented
    head = re.search(r"`\{(\"question\".*?)\}`", text)
    assert head is not None
    assert list(found) == re.findall(r'"(\w+)"', head[1])


def _objects(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node and the nodes below it."""
    yield node
    for child in node.get("children", ()):
        yield from _objects(child)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["count.casp", "--stream", "items.jsonl", "--at", "9", "--atom", "in(1)"],
         "there is no evaluation at that time; near by are those at 4 and 5"),
        (["count.casp", "--stream", "items.jsonl", "--at", "1", "--atom", "in(1)"],
         "no evaluation at that time; near by are those at 2\n"),
        (["count.casp", "--stream", "items.jsonl", "--at", "3", "--atom", "in(X)"],
         "`in(X)` is not ground"),
        (["count.casp", "--stream", "items.jsonl", "--at", "3", "--atom", "in(1)",
          "--evaluation", "2"], "--evaluation 2: there is 1 evaluation at that time"),
        (["count.casp", "--stream", "items.jsonl", "--at", "3", "--atom", "in(1)",
          "--answer", "2"], "--answer 2: there is 1 answer set\n"),
    ],
)  # fmt: skip
def test_a_question_about_nothing_is_refused(
    folder: Folder, arguments: list[str], words: str
) -> None:
    done = folder.run("explain", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr


def test_a_program_without_streams_is_asked_without_a_time(folder: Folder) -> None:
    done = folder.run("explain", "pick.lp", "--at", "3", "--atom", "a")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pick.lp reads no stream, so it has no times" in done.stderr


def test_of_several_evaluations_at_one_time_one_is_chosen(folder: Folder) -> None:
    folder.write("last.casp", "#from stream <s> [count 1 step 1]. x(X) :- d(X).")
    folder.write("same.jsonl", [{"t": 8, "atom": f"d({number})"} for number in range(3)])
    asked = ["explain", "last.casp", "--stream", "same.jsonl", "--at", "8", "--atom", "x(0)"]
    last = folder.run(*asked)
    assert last.stdout.startswith("x(0) at 8  is not in the answer")
    assert "there are 3 evaluations at that time, this is the last; choose" in last.stderr
    first = folder.run(*asked, "--evaluation", "1")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("x(0) at 8  by rule line 1")


# -- limits ----------------------------------------------------------------------------------

HARD = """{ x }.
1 { p(I,J) : J = 1..14 } 1 :- I = 1..15, x.
:- p(I,J), p(K,J), I < K.
#minimize { 1 : x }.
#show x/0.
"""
"""Quick to evaluate, without `x`; that `x` holds nowhere is hard to see."""
ENDLESS = "n(0). n(X+1) :- n(X). x :- n(-1)."


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "seconds", "says"),
    [
        (HARD, 2, "the explanation was stopped: it took more than 2 s (--time-limit)"),
        (ENDLESS, 0.3, "was stopped in grounding: it took more than 0.3 s"),
    ],
    ids=["explained", "evaluated"],
)
def test_what_takes_too_long_is_stopped(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, text: str, seconds: float, says: str
) -> None:
    monkeypatch.setattr(guard, "_GRACE_S", 60)  # on a busy machine its worker comes to say it late
    folder.write("long.lp", text)
    done = folder.run("explain", "long.lp", "--atom", "x", "--time-limit", str(seconds))
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_limited_work_returns_or_raises_what_it_raised() -> None:
    limits = Limits(seconds=60)

    def wrong() -> None:
        raise ItemError("no atom")

    assert limited(lambda: {"a": [1] * 100_000}, limits, "it") == {"a": [1] * 100_000}
    with pytest.raises(ItemError, match="no atom"):
        limited(wrong, limits, "it")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        limited(lambda: 1 / 0, limits, "it")
    with pytest.raises(SolvingError, match="ended unexpectedly"):
        limited(lambda: sys.exit(1), limits, "it")


def test_limited_work_ends_at_its_limits_and_leaves_no_process() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with pytest.raises(LimitError, match=r"it was stopped: it took more than 0\.1 s"):
        limited(_compute, Limits(seconds=0.1), "it")
    room = int(psutil.Process().memory_info().rss / 1e6) + 100
    with pytest.raises(LimitError, match="it used more than"):
        # Alone more than it may: of its parent's memory a child need not have anything resident.
        limited(lambda: _fill(room + 200), Limits(seconds=60, megabytes=room), "it")
    assert {child.pid for child in psutil.Process().children(recursive=True)} == before


def test_limited_work_may_wait_for_longer_than_it_may_compute() -> None:
    assert limited(lambda: time.sleep(0.5), Limits(seconds=0.2), "it") is None


def _compute() -> None:
    while True:
        pass


def _fill(megabytes: int) -> None:
    held = [b"x" * 1_000_000 for _ in range(megabytes)]
    time.sleep(60)
    held.clear()


def test_limited_work_ends_with_the_process_that_waits_for_it(tmp_path: Path) -> None:
    """Also when that is killed, and while the work does not come back to Python."""
    work = (
        "import os, clingo; from citywise.reasoning.engines.clingo.guard import limited; "
        "from citywise.reasoning.limits import Limits\n"
        "def work():\n"
        "    print(os.getpid(), flush=True)\n"
        "    control = clingo.Control()\n"
        "    control.add('base', [], 'n(0). n(X+1) :- n(X), X < 100000000.')\n"
        "    control.ground([('base', [])])\n"
        "limited(work, Limits(), 'it')\n"
    )
    waiting = subprocess.Popen(
        [sys.executable, "-c", work], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    with waiting:
        assert waiting.stdout is not None
        worker = psutil.Process(int(waiting.stdout.readline()))
        waiting.kill()
    psutil.wait_procs([worker], timeout=120)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


def test_one_of_very_many_answers_can_be_explained(folder: Folder) -> None:
    folder.write("many.lp", "{a(1..30)}. b :- not a(1).")
    done = folder.run("explain", "many.lp", "--atom", "b", "--models", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("b  by rule line 1")


# -- plain LARS ------------------------------------------------------------------------------


def test_a_program_of_plain_lars_is_explained_too(folder: Folder) -> None:
    folder.write("in.lars", "(in) in(X) :- <> d(X) [2], not out(X).\n#show in/1.\n")
    assert explained(folder, "in.lars", "--at", "3", "--atom", "in(2)") == (
        "in(2) at 3  by rule in: in(X) :- <> d(X) [2], not out(X).\n"
        "├─ <> d(2) [2]  stream at 2 (items.jsonl:3)\n"
        "└─ not out(2)  not in the answer\n"
    )
    said = explained(folder, "in.lars", "--at", "3", "--atom", "in(0)", "--not")
    assert "<> d(0) [2]  stream at 0 (items.jsonl:1) is before the window [1, 3]\n" in said


def test_the_json_of_plain_lars_has_documented_kinds(folder: Folder) -> None:
    folder.write("up.lars", "@T up(X) :- @T d(X) [2].\nonce(X) :- <> up(X) [1].")
    text = (REPOSITORY / "docs" / "explain.md").read_text(encoding="utf-8")
    asked = ["--at", "3", "--atom", "once(2)", "--format", "json"]
    found = json.loads(explained(folder, "up.lars", *asked))
    kinds = [node["kind"] for node in _objects(found["tree"])]
    assert kinds == ["derived", "window", "derived", "stream"]
    assert all(f"| `{kind}`" in text or f", `{kind}`" in text for kind in kinds)
    assert found["tree"]["rule"] == {"label": None, "line": 2, "text": "once(X) :- <> up(X) [1]."}

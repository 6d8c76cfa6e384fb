"""`citywise reason --parallel N`: the same results from several processes (docs/reason.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from citywise.reasoning.engines import choosing
from citywise.reasoning.partition.executors import Outcome, Processes, Task
from tests.command import Folder

JAMS = """
#from stream <s> [time 2s step 1s].
#from <streets.lp>.
fast(R) :- speed(R,V), V > 50.
jam(R) :- street(R), speed(R,_), not fast(R).
#show jam/1.
"""
CHOICES = """
#from stream <s> [time 2s step 1s].
1{ lane(R,left; R,right) }1 :- speed(R,V), V < 3.
:~ lane(R,left), speed(R,V). [1@2,R]
"""
COUNT = """
#from stream <s> [time 2s step 1s].
n(N) :- N = #count{R : speed(R,_)}.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.write("jams.casp", JAMS)
    found.write("choices.casp", CHOICES)
    found.write("count.casp", COUNT)
    found.write("streets.lp", "".join(f"street({n}).\n" for n in range(0, 40, 2)))
    speeds = [(t, n, (37 * n + 11 * t) % 100) for t in range(6) for n in range(40)]
    found.write("s.jsonl", [{"t": t, "atom": f"speed({n},{v})"} for t, n, v in speeds])
    return found


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of parts of each window; as small as these they would be left whole."""
    monkeypatch.setattr(choosing, "LARGE", 0)
    monkeypatch.setattr(choosing, "WORTH_S", 0.0)
    found: list[int] = []
    run = Processes.run

    def noted(processes: Processes, tasks: Sequence[Task]) -> list[Outcome]:
        found.append(len(tasks))
        return run(processes, tasks)

    monkeypatch.setattr(Processes, "run", noted)
    return found


@pytest.mark.parametrize(
    "options",
    [
        ["jams.casp"],
        ["jams.casp", "--deltas"],
        ["jams.casp", "--emit", "istream", "--emit-as", "urn:jams"],
        ["choices.casp"],
        ["count.casp"],
    ],
    ids=" ".join,
)
def test_results_are_those_of_one_process(
    folder: Folder, options: list[str], parts: list[int]
) -> None:
    one = folder.run("reason", *options, "--stream", "s.jsonl")
    three = folder.run("reason", *options, "--stream", "s.jsonl", "--parallel", "3")
    assert one.stdout == three.stdout != ""
    assert (one.returncode, three.returncode) == (0, 0)
    assert (max(parts) > 1) == (options != ["count.casp"])


def test_so_many_answer_sets_are_given_as_are_asked_for(folder: Folder) -> None:
    options = "reason", "free.casp", "--stream", "s.jsonl", "--parallel", "2"
    folder.write("free.casp", CHOICES.partition(":~")[0])
    three = folder.results(*options[1:], "--models", "3")
    assert {len(line["answer_sets"]) for line in three} <= {1, 2, 3}
    assert max(len(line["answer_sets"]) for line in three) == 3


def test_a_limit_is_a_limit_on_the_whole_evaluation(folder: Folder) -> None:
    folder.write("free.casp", CHOICES.partition(":~")[0].replace("V < 3", "V < 40"))
    done = folder.run(
        "reason", "free.casp", "--stream", "s.jsonl", "--parallel", "2", "--model-limit", "500"
    )
    assert done.returncode == 1
    assert "it has more than 500 answer sets; add constraints or ask for fewer" in done.stderr


def test_what_cannot_be_cut_is_said_once_with_the_reason(folder: Folder) -> None:
    done = folder.run("reason", "count.casp", "--stream", "s.jsonl", "--parallel", "2")
    assert done.stderr.splitlines() == [
        "citywise: warning: count.casp is evaluated in one process, for it cannot be cut:",
        "  count.casp:3: speed/2 cannot be split by argument 1",
        "  count.casp:3: speed/2 cannot be split by argument 2",
        "  leave `--parallel` out, or join what these rules read by one argument",
        "  `citywise plan count.casp` says more",
    ]
    assert folder.run("reason", "jams.casp", "--stream", "s.jsonl", "--parallel", "2").stderr == ""


def test_a_long_refusal_has_short_lines_with_the_places_of_rules(folder: Folder) -> None:
    chained = "".join(
        f"n({k},N) :- N = #count{{R : speed(R,{k}), n({k - 1},_)}}.\n" for k in range(30)
    )
    folder.write("long.casp", f"#from stream <s> [time 2s step 1s].\n{chained}")
    done = folder.run("reason", "long.casp", "--stream", "s.jsonl", "--parallel", "2")
    first, *lines = done.stderr.splitlines()
    assert first.endswith("long.casp is evaluated in one process, for it cannot be cut:")
    reasons = [line for line in lines if line.startswith("  long.casp:")]
    assert 1 < len(reasons) <= 6
    assert all(re.match(r"  long\.casp:[0-9]+: \S", reason) for reason in reasons)
    assert max(map(len, lines)) < 200


def test_a_program_without_streams_is_evaluated_in_parts_too(folder: Folder) -> None:
    folder.write("once.lp", "p(1..3). {a(X)} :- p(X). q(1..2). {b(X)} :- q(X).")
    one, two = (folder.results("once.lp", "--parallel", n) for n in "12")
    assert one == two
    assert len(one[0]["answer_sets"]) == 32

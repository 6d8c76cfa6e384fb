"""`citywise reason`: results as docs/reason.md has them, and errors for the person who can act."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.run.recorded import Recorded
from tests.command import Folder

COUNT = """
#from stream <s> [time 2s step 1s].
in(X) :- d(X).
#show in/1.
"""
TRAVEL = "http://travel.org/"
BOOKED = """
#prefix tl : <http://travel.org/>;
#from stream <http://travel.org/booking> [time 1h step 30m];
bookedHotel(Hotel) :- tl_booked(User,Hotel,Time);
noH(N) :- N = #count{Hotel:bookedHotel(Hotel)};
#show noH/1;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.write("count.casp", COUNT)
    found.write("items.jsonl", [{"t": t, "atom": f"d({t})"} for t in range(5)])
    return found


def test_each_evaluation_is_a_line_with_sorted_answer_sets(folder: Folder) -> None:
    assert folder.results("count.casp", "--stream", "items.jsonl") == [
        {"t": 2, "answer_sets": [["in(0)", "in(1)", "in(2)"]]},
        {"t": 3, "answer_sets": [["in(1)", "in(2)", "in(3)"]]},
        {"t": 4, "answer_sets": [["in(2)", "in(3)", "in(4)"]]},
    ]


def test_from_drops_what_is_before_and_until_ends_the_run(folder: Folder) -> None:
    found = folder.results("count.casp", "--stream", "items.jsonl", "--from", "2", "--until", "6")
    assert [(line["t"], line["answer_sets"]) for line in found] == [
        (4, [["in(2)", "in(3)", "in(4)"]]),
        (5, [["in(3)", "in(4)"]]),
        (6, [["in(4)"]]),
    ]
    assert folder.results("count.casp", "--stream", "items.jsonl", "--until", "1") == []


NOW = "#from stream <s> [time 0s step 1s].\nin(X) :- d(X).\n"


@pytest.mark.parametrize("lateness", ["", "#lateness 2s.\n"])
def test_a_recording_without_an_item_has_no_end_but_that_of_until(
    folder: Folder, lateness: str
) -> None:
    folder.write("now.casp", NOW + lateness)
    folder.write("early.jsonl", [{"t": 1, "atom": "d(1)"}])
    folder.write("none.jsonl", "")
    for stream in ("early.jsonl", "none.jsonl"):
        given = ("now.casp", "--stream", stream, "--from", "3")
        assert folder.results(*given) == []
        found = folder.results(*given, "--until", "4")
        assert found == [{"t": 3, "answer_sets": [[]]}, {"t": 4, "answer_sets": [[]]}]


def test_nothing_is_left_of_a_recording_whose_items_are_all_withdrawn(folder: Folder) -> None:
    folder.write("now.casp", NOW)
    items = [{"t": 4, "atom": "d(1)", "id": "a"}, {"t": 6, "atom": "d(2)", "id": "b"}]
    folder.write("back.jsonl", [*items, {"withdraw": "b"}, {"withdraw": "a"}])
    found = folder.results("now.casp", "--stream", "back.jsonl", "--from", "3", "--revise", "9")
    last = {line["t"]: line["answer_sets"] for line in found}
    assert last == {3: None, 4: None, 5: None}


def test_a_byte_order_mark_before_a_stream_is_no_item(folder: Folder) -> None:
    folder.write("marked.jsonl", '\ufeff{"t": 5, "atom": "d(1)"}\r\n\r\n{"t": 7, "atom": "d(2)"}')
    found = folder.results("count.casp", "--stream", "marked.jsonl")
    assert found == [{"t": 7, "answer_sets": [["in(1)", "in(2)"]]}]


def test_until_gives_a_prefix_of_the_whole_run(folder: Folder) -> None:
    whole = folder.results("count.casp", "--stream", "items.jsonl")
    assert folder.results("count.casp", "--stream", "items.jsonl", "--until", "3") == whole[:2]


@pytest.mark.parametrize("engine", ["auto", "incremental", "solver"])
def test_deltas_say_what_came_and_went(folder: Folder, engine: str) -> None:
    given = ("--stream", "items.jsonl", "--engine", engine)
    found = folder.results("count.casp", *given, "--deltas")
    assert [(line["added"], line["removed"]) for line in found] == [
        (["in(0)", "in(1)", "in(2)"], []),
        (["in(3)"], ["in(0)"]),
        (["in(4)"], ["in(1)"]),
    ]


CHOICE = COUNT + "(pick) {c} :- in(X), not d(X+1). #show c/0."


def test_every_engine_prints_the_same(folder: Folder) -> None:
    """The second program is stratified but for its last rule."""
    folder.write("choice.casp", CHOICE)
    for program in ("count.casp", "choice.casp"):
        given = (program, "--stream", "items.jsonl")
        expected = folder.results(*given, "--engine", "solver")
        assert folder.results(*given, "--engine", "auto") == expected


@pytest.mark.parametrize("parallel", [(), ("--parallel", "2")])
def test_a_program_outside_the_fragment_is_refused_with_the_rule_and_what_to_do(
    folder: Folder, parallel: tuple[str, ...]
) -> None:
    folder.write("choice.casp", CHOICE)
    given = ("choice.casp", "--stream", "items.jsonl", "--engine", "incremental", *parallel)
    done = folder.run("reason", *given)
    assert (done.returncode, done.stdout) == (1, "")
    assert "choice.casp: (pick) is a choice; the incremental engine" in done.stderr
    assert "take `--engine auto`" in done.stderr


@pytest.mark.parametrize("engine", ["auto", "solver"])
@pytest.mark.parametrize("operator", ["rstream", "istream", "dstream"])
def test_answers_leave_as_the_same_stream_whatever_the_engine(
    folder: Folder, operator: str, engine: str
) -> None:
    given = ("--stream", "items.jsonl", "--emit", operator, "--engine", engine)
    done = folder.run("reason", "count.casp", *given)
    found = [(line["t"], line["atom"]) for line in map(json.loads, done.stdout.splitlines())]
    assert (
        found
        == {
            "rstream": [(t, f"in({n})") for t in (2, 3, 4) for n in (t - 2, t - 1, t)],
            "istream": [(2, "in(0)"), (2, "in(1)"), (2, "in(2)"), (3, "in(3)"), (4, "in(4)")],
            "dstream": [(3, "in(0)"), (4, "in(1)")],
        }[operator]
    )


def test_deltas_of_several_answer_sets_are_refused(folder: Folder) -> None:
    folder.write("choice.casp", COUNT + "{c}. #show c/0.")
    done = folder.run("reason", "choice.casp", "--stream", "items.jsonl", "--deltas")
    assert done.returncode == 1
    assert "2 answer sets" in done.stderr
    assert "--models 1" in done.stderr


def test_deltas_of_a_program_without_streams_name_no_time(folder: Folder) -> None:
    folder.write("choice.lp", "{a}.\n")
    done = folder.run("reason", "choice.lp", "--deltas")
    assert done.returncode == 1
    assert "citywise: there are 2 answer sets" in done.stderr


def test_times_are_written_as_the_recording_writes_them(folder: Folder) -> None:
    folder.write("booked.casp", BOOKED)
    booking = {"p": f"<{TRAVEL}booked>", "s": f"<{TRAVEL}ann>"}
    items = [
        {"t": "2026-05-01T12:00:00+02:00", **booking, "o": f"<{TRAVEL}hotelA>"},
        {"t": "2026-05-01T10:20:00Z", **booking, "o": f"<{TRAVEL}hotelB>"},
        {"t": "2026-05-01T11:30:00Z", **booking, "o": f"<{TRAVEL}hotelB>"},
    ]
    folder.write("bookings.jsonl", items)
    assert folder.results("booked.casp", "--stream", "bookings.jsonl") == [
        {"t": "2026-05-01T11:00:00Z", "answer_sets": [["noH(2)"]]},
        {"t": "2026-05-01T11:30:00Z", "answer_sets": [["noH(1)"]]},
    ]
    done = folder.run("reason", "booked.casp", "--stream", "bookings.jsonl", "--from", "5")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--from 5: the recording's times are ISO 8601" in done.stderr


def test_one_request_s_output_is_another_s_input(folder: Folder) -> None:
    folder.write(
        "first.casp",
        "#prefix ex : <http://ex.org/>. #from stream <s> [time 2s step 1s].\n"
        'ex_seen("ex_gate",X) :- d(X). #show ex_seen/2.',
    )
    folder.write(
        "second.casp",
        "#prefix ex : <http://ex.org/>. #from stream <http://ex.org/news> [count 2 step 1].\n"
        'pair(X,Y) :- ex_seen(P,X,T), ex_seen(P,Y,U), T < U, P = "ex_gate". #show pair/2.',
    )
    first = folder.run(
        *("reason", "first.casp", "--stream", "items.jsonl"),
        *("--emit", "istream", "--emit-as", "http://ex.org/news"),
    )
    assert json.loads(first.stdout.splitlines()[-1]) == {
        "t": 4,
        "s": "<http://ex.org/gate>",
        "p": "<http://ex.org/seen>",
        "o": '"4"^^<http://www.w3.org/2001/XMLSchema#integer>',
        "stream": "http://ex.org/news",
    }
    second = folder.run("reason", "second.casp", "--stream", "-", given=first.stdout)
    assert second.stderr == ""
    assert json.loads(second.stdout.splitlines()[-1])["answer_sets"] == [["pair(3,4)"]]


def test_a_program_without_streams_has_one_result(folder: Folder) -> None:
    folder.write(
        "pick.lp", "a(1..3). {b(X) : a(X)} = 2. :~ b(X). [-X@2,X] :~ b(1). [3@1]\n#show b/1."
    )
    expected = [{"t": None, "answer_sets": [["b(2)", "b(3)"]], "cost": [-5, 0]}]
    assert folder.results("pick.lp") == expected


def test_what_is_shown_by_default_is_derived_and_not_supplied_later(folder: Folder) -> None:
    """The last item supplies `e`, which therefore is nowhere an output."""
    folder.write("copy.casp", "#from stream <s> [time 1s step 1s].\ne(X) :- d(X). f(X) :- e(X).")
    folder.write("two.jsonl", [{"t": 0, "atom": "d(1)"}, {"t": 2, "atom": "e(9)"}])
    found = folder.results("copy.casp", "--stream", "two.jsonl")
    assert [line["answer_sets"] for line in found] == [[["f(1)"]], [["f(9)"]]]


def test_a_bad_line_is_named_and_the_others_are_evaluated(folder: Folder) -> None:
    with (folder.path / "items.jsonl").open("a") as file:
        file.write('{"t": 5, "atom": "d(X)"}\nnonsense\n{"t": 6, "atom": "d(6)"}\n')
    done = folder.run("reason", "count.casp", "--stream", "items.jsonl")
    assert done.returncode == 1
    assert "items.jsonl:6:" in done.stderr
    assert "items.jsonl:7:" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"t": 6, "answer_sets": [["in(4)", "in(6)"]]}


@pytest.mark.parametrize(
    ("engine", "phase"),
    [("auto", "evaluation"), ("solver", "grounding")],
)
def test_an_evaluation_at_its_limit_fails_alone(folder: Folder, engine: str, phase: str) -> None:
    folder.write("grow.casp", COUNT + "p(0) :- d(2). p(X+1) :- p(X).")
    done = folder.run(
        *("reason", "grow.casp", "--stream", "items.jsonl", "--atom-limit", "100000"),
        *("--from", "1", "--until", "7", "--engine", engine),
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [line["t"] for line in lines if "error" in line] == [3, 4]
    assert [line["answer_sets"] for line in lines if "error" not in line] == [
        [["in(3)", "in(4)"]],
        [["in(4)"]],
        [[]],
    ]
    assert f"at 3: request `grow` was stopped in {phase}" in done.stderr
    assert "what grew: p/1" in done.stderr


def test_models_gives_so_many(folder: Folder) -> None:
    folder.write("choice.lp", "{a;b;c}.")
    (all_of_them,) = folder.results("choice.lp")
    (some,) = folder.results("choice.lp", "--models", "3")
    assert len(all_of_them["answer_sets"]) == 8
    assert len(some["answer_sets"]) == 3
    assert {tuple(s) for s in some["answer_sets"]} <= {tuple(s) for s in all_of_them["answer_sets"]}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["count.casp"], 2, "reads <s>; give a recording: --stream FILE"),
        (["pick.lp", "--stream", "items.jsonl"], 2, "reads no stream"),
        (["pick.lp", "--from", "3"], 2, "--from 3: pick.lp reads no stream, so it has no times"),
        (["pick.lp", "--until", "3"], 2, "--until 3: pick.lp reads no stream"),
        (["pick.lp", "--revise", "1h"], 2, "--revise 1h: pick.lp reads no stream"),
        (["items.jsonl"], 1, "`.jsonl` is no language of ours"),
        (["missing.casp"], 2, "missing.casp"),
        (["count.casp", "--stream", "missing.jsonl"], 2, "missing.jsonl"),
        (["count.casp", "--stream", "items.jsonl", "--from", "noon"], 2, "not an ISO 8601 time"),
        (["count.casp", "--stream", "items.jsonl", "--models", "0"], 2, "--models"),
    ],
)
def test_wrong_use_is_told_from_wrong_input(
    folder: Folder, arguments: list[str], code: int, words: str
) -> None:
    folder.write("pick.lp", "a.")
    done = folder.run("reason", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_integer_times_reach_the_rules_as_they_are(folder: Folder) -> None:
    """Only Unix times in milliseconds are counted from the start of a day."""
    folder.write(
        "ms.casp",
        "#from stream <s> [time 5ms step 5ms].\nat(T) :- e_x(_,_,T).\n#show at/1.\n#prefix e : <http://e/>.",
    )
    triple = {"s": "<http://e/a>", "p": "<http://e/x>", "o": "<http://e/b>"}
    folder.write("late.jsonl", [{"t": 90_000_000, **triple}, {"t": 90_000_005, **triple}])
    (found,) = folder.results("ms.casp", "--stream", "late.jsonl")
    assert found == {"t": 90_000_005, "answer_sets": [["at(90000000)", "at(90000005)"]]}
    folder.write("far.jsonl", [{"t": 2**31, **triple}])
    done = folder.run("reason", "ms.casp", "--stream", "far.jsonl")
    assert done.returncode == 1
    assert "far.jsonl:1" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--emit-as", "http://e/x"], "give --emit too"),
        (["--deltas", "--emit", "istream"], "--deltas is for results"),
        (["--stream", "-", "--stream", "-"], "can be read once"),
        (["--time-limit", "nan"], "--time-limit"),
        (["--time-limit", "inf"], "--time-limit"),
        (["--models", "99999999999999999999"], "--models"),
    ],
)
def test_options_that_say_nothing_are_refused(
    folder: Folder, options: list[str], words: str
) -> None:
    done = folder.run("reason", "count.casp", "--stream", "items.jsonl", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_time_beyond_32_bits_is_refused(folder: Folder) -> None:
    done = folder.run("reason", "count.casp", "--stream", "items.jsonl", "--until", "9999999999")
    assert done.returncode == 1
    assert "--until: 9999999999 is too far" in done.stderr


def test_an_atom_is_listed_once_however_it_is_shown(folder: Folder) -> None:
    folder.write("twice.lp", "p(1..3). #show p/1. #show p(X) : p(X), X > 1.")
    assert folder.results("twice.lp")[0]["answer_sets"] == [["p(1)", "p(2)", "p(3)"]]


def test_late_items_are_told_with_the_lateness_that_would_have_taken_them(folder: Folder) -> None:
    folder.write("late.jsonl", [{"t": t, "atom": f"d({t})"} for t in (0, 90, 3)])
    done = folder.run("reason", "count.casp", "--stream", "late.jsonl")
    assert done.returncode == 0
    assert "late.jsonl:3: came 87s too late" in done.stderr
    assert "`#lateness 87s.`" in done.stderr


def test_a_program_of_plain_lars_says_that_it_is_evaluated_in_one_process(folder: Folder) -> None:
    program = folder.write("seen.lars", "seen(X) :- <> d(X) [2].")
    run = Recorded(program, [folder.path / "items.jsonl"], parallel=2, limits=None)
    assert len(list(run.results())) == 5
    (warning,) = run.warnings
    assert f"{program} is evaluated in one process" in warning
    assert "leave `--parallel` out" in warning


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists what is left")
def test_nothing_is_left_behind_when_the_command_is_killed(folder: Folder) -> None:
    folder.write("endless.lp", "n(0). n(X+1) :- n(X).")
    command = [
        sys.executable,
        "-m",
        "citywise.backend.cli",
        "reason",
        "endless.lp",
        "--time-limit",
        "60",
    ]
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": ""}
    with subprocess.Popen(command, cwd=folder.path, env=environment) as process:
        parent = psutil.Process(process.pid)
        while not (workers := parent.children(recursive=True)):
            time.sleep(0.01)
        process.kill()
    _gone, left = psutil.wait_procs(workers, timeout=120)
    assert left == []

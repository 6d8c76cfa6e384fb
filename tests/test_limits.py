"""Whatever reads and evaluates what others wrote ends at the limits of its command (D9).

Each case would take many times its limit; the limits are on CPU time, so that a loaded machine
changes nothing.
"""

from __future__ import annotations

import gzip
import importlib
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from citywise.reasoning import budget
from citywise.reasoning.limits import LimitError, Limits
from tests.command import Done, Folder

WINDOW = "#from stream <http://e/s> [time 10s step 1s].\n"
RIF = """Document(
Prefix(ex <http://ex.org/>)
Prefix(pred <http://www.w3.org/2007/rif-builtin-predicate#>)
Prefix(func <http://www.w3.org/2007/rif-builtin-function#>)
Group(
ex:p("TEXT")
Forall ?x (ex:q(?x) :- And(ex:p(?x) CONDITION))
))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def _run(folder: Folder, *arguments: str) -> Done:
    """Run the command in a process of its own, which may end."""
    return folder.run(*arguments, given="")


SLOW = {
    "(a+)+$": 'External(pred:matches(?x "(a+)+$"))',
    "(x+x+)+y": 'External(pred:matches(?x "(x+x+)+y"))',
    "replace": 'External(pred:starts-with(External(func:replace(?x "(a+)+$" "")) "b"))',
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SLOW)
def test_a_regular_expression_that_never_ends_is_stopped_and_its_rule_named(
    folder: Folder, name: str
) -> None:
    text = ("x" if name.startswith("(x") else "a") * 41 + "!"
    folder.write("slow.rifps", RIF.replace("TEXT", text).replace("CONDITION", SLOW[name]))
    done = _run(folder, "reason", "slow.rifps", "--time-limit", "1")
    assert done.returncode == 1
    assert re.search(r"`slow.rifps` was stopped.* more than 1 s .*, in rule line 7", done.stderr)


@pytest.mark.slow
def test_an_inference_that_takes_too_long_is_stopped_and_its_files_named(folder: Folder) -> None:
    """It is clingo that grounds, in the command's own process."""
    circle = "".join(f"e:c{n} rdfs:subClassOf e:c{(n + 1) % 500} .\n" for n in range(500))
    prefixes = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n@prefix e: <http://e/> .\n"
    folder.write("circle.ttl", prefixes + circle)
    folder.write("p.casp", "#from <circle.ttl> [rdfs].\nq(X) :- p(X).\np(1).\n#show q/1.\n")
    done = _run(folder, "check", "p.casp", "--time-limit", "1")
    assert done.returncode == 1
    assert "circle.ttl under rdfs was stopped: it took more than 1 s" in done.stdout + done.stderr


@pytest.mark.thorough
def test_a_rule_too_long_to_be_read_in_time_is_stopped(folder: Folder) -> None:
    body = ", ".join(f"p{n}(X)" for n in range(20_000))
    folder.write("long.casp", f"{WINDOW}h(X) :- {body}.\n")
    folder.write("s.jsonl", '{"t": 1, "atom": "p0(1)"}\n{"t": 12, "atom": "p0(1)"}\n')
    for command in (["check", "long.casp"], ["reason", "long.casp", "--stream", "s.jsonl"]):
        done = _run(folder, *command, "--time-limit", "1")
        assert done.returncode == 1
        assert "long.casp was stopped: it took more than 1 s" in done.stdout + done.stderr


@pytest.mark.slow
def test_rdf_that_takes_too_long_to_read_is_stopped_and_its_file_named(folder: Folder) -> None:
    lists = "".join(f":a{n} :p (1 2 3), [ :q 'x' ] .\n" for n in range(40_000))
    folder.write("large.ttl", "@prefix : <http://e/> .\n" + lists)
    folder.write("p.casp", "#from <large.ttl>.\nq(1).\n")
    done = _run(folder, "reason", "p.casp", "--time-limit", "1")
    assert done.returncode == 1
    assert "reading" in done.stderr
    assert "large.ttl was stopped: it took more than 1 s (--time-limit)" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_what_needs_too_much_memory_to_read_is_stopped(folder: Folder, packed: bool) -> None:
    if packed:
        (folder.path / "k.ttl.gz").write_bytes(gzip.compress(b" " * 400_000_000, 1))
    else:
        lists = "".join(f":a{n} :p (1 2 3), [ :q 'x' ] .\n" for n in range(20_000))
        folder.write("k.ttl", "@prefix : <http://e/> .\n" + lists)
    folder.write("p.casp", f"#from <k.ttl{'.gz' if packed else ''}>.\nq(1).\n")
    done = _run(folder, "reason", "p.casp", "--memory-limit", "20")
    assert done.returncode == 1
    assert "was stopped: it used more than 20 MB (--memory-limit)" in done.stderr
    assert "reading" in done.stderr


def test_a_decision_that_needs_too_much_is_stopped(folder: Folder) -> None:
    fields = ",".join(f'"field {n}": 1' for n in range(300_000))
    folder.write("request.json", f"{{{fields}}}")
    (folder.path / "data").mkdir()
    arguments = ("decide", "parking", "request.json", "--data", "data", "--memory-limit", "20")
    done = _run(folder, *arguments)
    assert done.returncode == 1
    assert "request.json was stopped: it used more than 20 MB (--memory-limit)" in done.stderr


def _for_ever() -> None:
    while True:
        pass


def _ending(begin: Callable[[], None]) -> str:
    """What is said when work is metered with half a second."""
    with (
        pytest.raises(LimitError) as caught,
        budget.metered(Limits(seconds=0.5), pytest.fail, "it"),
    ):
        begin()
    return str(caught.value)


def test_loading_a_module_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a slow machine it takes longer than somebody may grant what they wrote."""
    busy = "import time\nend = time.process_time() + 1.2\nwhile time.process_time() < end: pass\n"
    (tmp_path / "slow_to_load.py").write_text(f"{busy}loaded = True\n")
    monkeypatch.syspath_prepend(tmp_path)

    def load() -> None:
        assert importlib.import_module("slow_to_load").loaded
        _for_ever()

    assert _ending(load) == "it was stopped: it took more than 0.5 s (--time-limit)"


def test_the_step_that_took_too_long_is_named() -> None:
    def within() -> None:
        with budget.step("reading this"):
            pass
        with budget.step("reading that"):
            _for_ever()

    assert _ending(_for_ever) == "it was stopped: it took more than 0.5 s (--time-limit)"
    assert _ending(within).startswith("reading that was stopped")


def test_each_sign_of_progress_gives_new_time_and_waiting_costs_none() -> None:
    with budget.metered(Limits(seconds=0.5), pytest.fail, "it"):
        for _step in range(5):
            budget.progressed()
            began = time.process_time()
            while time.process_time() - began < 0.2:
                pass
        time.sleep(0.6)


def test_an_error_that_is_swallowed_is_raised_again() -> None:
    def swallowing() -> None:
        try:
            _for_ever()
        except LimitError:
            _for_ever()

    assert "0.5 s" in _ending(swallowing)


def test_nothing_of_the_process_is_changed_afterwards_or_without_a_meter() -> None:
    before = signal.getsignal(signal.SIGPROF)
    with budget.step("reading"):
        assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    _ending(_for_ever)
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)

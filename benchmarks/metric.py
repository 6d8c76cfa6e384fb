"""Windows of plain LARS beside MeTeoR, a reasoner for DatalogMTL (Wang et al., AAAI 2022).

    citywise bench metric              # 500 random programs, about two minutes
    citywise bench metric 50

`<> p(X) [a..b]` is the past diamond with the interval [a,b], `[] p(X) [a..b]` the past box. MTL
has dense time: what holds at point k of LARS is written as holding throughout [k,k+1), and answers
are compared at integers. It has no beginning either: a box there asks for points before the first
as well, so answers count from the first point plus the largest b on.

MeTeoR (PyPI: meteor_reasoner, MIT) is installed into `.cache/peers` when it is first needed; no
part of Citywise depends on it. Where it cannot be installed the report says that it is absent, and
our two engines are compared with each other.

Of each case: whether the answers are equal; in all: facts compared and CPU milliseconds a case.
`since` is not compared: its points exclude the beginning, and over [k,k+1) a dense beginning
does not.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from random import Random
from typing import Any, TypeAlias

from benchmarks.parallel import table
from citywise.backend.machine import REPOSITORY
from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.languages.lars.language import evaluator
from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.program import Point

Row: TypeAlias = dict[str, Any]
Answers: TypeAlias = dict[int, frozenset[str]]
"""Derived atoms by point of time."""
PEER, VERSION = "meteor_reasoner", "2.0.0"
FOLDER = REPOSITORY / ".cache" / "peers" / f"{PEER}-{VERSION}"
POINTS = 40
WIDEST = 6
"""The largest b of a window."""


@dataclass(frozen=True)
class Case:
    """A program in both languages, and what arrives at which point of time."""

    lars: str
    metric: tuple[str, ...]
    arrivals: Mapping[int, Sequence[str]]

    @property
    def compared(self) -> range:
        """The points of time at which both mean the same."""
        return range(min(self.arrivals) + WIDEST, max(self.arrivals) + 1)


def run(number: str = "500") -> dict[str, list[Row]]:
    """Compare so many random programs; raises SystemExit where answers differ."""
    if not number.isdigit():
        raise SystemExit(f"the number of programs is `{number}`; write e.g. 500")
    cases = [case(Random(seed)) for seed in range(int(number))]
    systems = [name for name in SYSTEMS if name != PEER or installed()]
    spent = dict.fromkeys(systems, 0.0)
    facts = 0
    for each in cases:
        found: dict[str, Answers] = {}
        for name in systems:
            began = time.process_time()
            found[name] = SYSTEMS[name](each)
            spent[name] += time.process_time() - began
        facts += sum(map(len, found["incremental"].values()))
        for name, answers in found.items():
            if answers != found["incremental"]:
                raise SystemExit(_difference(each, name, answers, found["incremental"]))
    rows: list[Row] = [
        {"system": name, "programs": len(cases), "facts": facts, "differences": 0,
         "ms of CPU a program": round(1000 * seconds / max(1, len(cases)), 2)}
        for name, seconds in spent.items()
    ]  # fmt: skip
    if PEER not in systems:
        rows.append({**dict.fromkeys(rows[0], ""), "system": f"{PEER} is absent"})
    return {"metric": rows}


def report(results: Mapping[str, Sequence[Row]]) -> str:
    """The results as a table."""
    return "\n".join(line for part, rows in results.items() for line in table(part, rows))


def installed() -> bool:
    """Whether MeTeoR is there, after trying to install it; says why it is not."""
    if not FOLDER.is_dir():
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps")
        wanted = ("--target", str(FOLDER), f"{PEER}=={VERSION}")
        done = subprocess.run([*pip, *wanted], capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{PEER} is absent: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return False
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return True


# --- random programs -----------------------------------------------------------------------


def case(random: Random) -> Case:
    """A random program and stream."""
    rules = [_rule(random, f"h{number}") for number in range(random.randint(1, 4))]
    if random.random() < 0.5:  # what is derived now is seen now
        rules.append(("k(X) :- h0(X), <> a(X) [0..2].", "k(X) :- h0(X), Diamondminus[0,2]a(X)"))
    lars, metric = zip(*rules, strict=True)
    start = random.randint(0, 3)
    arrivals = {start + point: list(_arrivals(random)) for point in range(POINTS)}
    return Case("\n".join(lars), metric, arrivals)


def _rule(random: Random, head: str) -> tuple[str, str]:
    elements = [_element(random, "a(X)")]
    for _ in range(random.randint(0, 2)):
        elements.append(_element(random, random.choice(("a(X)", "b(X)", "c(X,Y)", "a(Y)"))))
    bodies = (", ".join(texts) for texts in zip(*elements, strict=True))
    lars, metric = (f"{head}(X) :- {body}" for body in bodies)
    return f"{lars}.", metric


def _element(random: Random, atom: str) -> tuple[str, str]:
    """A formula in both languages."""
    most = random.randint(0, WIDEST)
    least = random.randint(0, most)
    if random.random() < 0.3:
        return f"[] {atom} [{least}..{most}]", f"Boxminus[{least},{most}]{atom}"
    return f"<> {atom} [{least}..{most}]", f"Diamondminus[{least},{most}]{atom}"


def _arrivals(random: Random) -> Iterator[str]:
    for atom, likely in (("a(x)", 0.6), ("a(y)", 0.3), ("b(x)", 0.7), ("c(x,y)", 0.3)):
        if random.random() < likely:
            yield atom


# --- answers -------------------------------------------------------------------------------


def ours(each: Case, engine: Choice) -> Answers:
    """What one of our engines derives at the points that are compared."""
    system = evaluator(parse(each.lars), choice=engine)
    found: Answers = {}
    for time_, atoms in each.arrivals.items():
        (answer,) = system.step(Point(time_, atoms))
        found[time_] = frozenset(answer.atoms)
    system.close()
    return {time_: found[time_] for time_ in each.compared}


def peer(each: Case) -> Answers:
    """What MeTeoR derives there."""
    # By name: it is not there when types are checked.
    loader = import_module(f"{PEER}.utils.loader")
    coalesce = import_module(f"{PEER}.materialization.coalesce")
    materialization = import_module(f"{PEER}.materialization.materialize")
    pairs = ((time_, atom) for time_, atoms in each.arrivals.items() for atom in atoms)
    data = loader.load_dataset([f"{atom}@[{time_},{time_ + 1})" for time_, atom in pairs])
    coalesce.coalescing_d(data)
    with contextlib.redirect_stdout(io.StringIO()):
        program = loader.load_program(list(each.metric))
        materialization.materialize(data, program, K=100)
    heads = {rule.partition("(")[0] for rule in each.metric}
    held = [
        (f"{name}({','.join(term.name for term in row)})", interval)
        for name in heads
        for row, intervals in data.get(name, {}).items()
        for interval in intervals
    ]
    return {
        time_: frozenset(atom for atom, interval in held if _has(interval, time_))
        for time_ in each.compared
    }


def _has(interval: Any, time_: int) -> bool:
    """Whether an interval of MeTeoR has a point of time."""
    after = interval.left_value < time_ or (interval.left_value == time_ and not interval.left_open)
    return after and (
        time_ < interval.right_value or (time_ == interval.right_value and not interval.right_open)
    )


SYSTEMS: Mapping[str, Callable[[Case], Answers]] = {
    "incremental": partial(ours, engine="incremental"),
    "solver": partial(ours, engine="solver"),
    PEER: peer,
}


def _difference(each: Case, name: str, answers: Answers, right: Answers) -> str:
    """A case in which answers differ, and where."""
    time_ = next(time_ for time_ in each.compared if answers[time_] != right[time_])
    before = ((point, atoms) for point, atoms in each.arrivals.items() if point <= time_)
    stream = "\n".join(f"{point}: {' '.join(atoms)}" for point, atoms in before)
    return (
        f"{name} has {sorted(answers[time_])} at {time_}, incremental {sorted(right[time_])}, of\n"
        f"{each.lars}\n{stream}"
    )

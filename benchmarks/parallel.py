"""Parallel reasoning beside one clingo call: the thesis' experiments of section 6.3.

    citywise bench parallel          # about six minutes on two cores; needs the data pack
    citywise bench parallel quick    # small windows, a minute
    citywise bench parallel full     # thirty windows at each rate, every mode on one core too
    citywise bench parallel default streaming,superlinear

Each mode runs in processes of its own, windows go to all modes in turn, and speed-ups are
medians of the ratios to `whole` for the same window and number of cores. Seconds are from
a window's facts as text to its answer sets in the caller, CPU seconds are those of all
processes, which other load on the machine touches less. Peak memory is that of all
processes of the mode together (resident set sizes added up, sampled). Answers are compared by
their number and a SHA-256 over the sorted atoms.

- `whole`: one clingo call in a worker process; `clingo`: the same without worker and limits.
- `greedy`: the plan of the thesis, whose wrong and missing atoms are counted.
- `sound`: our plan, without and with data partitioning (`key 1`, `key 2`: the first and
  second key found); `adaptive`: what chooses among them by what it measured.
- `kept`: the incremental engine in this process; `kept key 1`: one in each bucket's process;
  `auto`: the engine as `citywise reason --parallel` has it, which chooses among all.

Parts: `overlap` (windows of LUBM of which nine tenths were in the one before), `static` (the
first lines of LUBM), `streaming` (windows of 3 s every 2 s, cycling through the file),
`no key` (a request that cannot be split), `superlinear` (one whose cost grows faster than its
window: hypothesis H2 of the thesis, on one core).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

from benchmarks.measured.processes import cpu_s, memory_mb
from citywise.backend.machine import REPOSITORY
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse_file
from citywise.reasoning.limits import UNLIMITED
from citywise.reasoning.model.engine import AnswerSet, Engine, WindowFacts
from citywise.reasoning.model.request import Request
from citywise.reasoning.partition import greedy
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.partition.executors import Processes
from citywise.reasoning.streams.items import Encoder
from citywise.reasoning.streams.recordings import Recording

POSITIVE = REPOSITORY / "examples" / "lubm" / "listing61.casp"
NEGATION = REPOSITORY / "examples" / "lubm" / "listing62.casp"
WIDTH_S, SLIDE_S = 3, 2
"""The windows of the streaming experiment."""
_PER_BUCKET = 25_000
"""Triples from which on a window is split into more buckets than cores, to save memory."""
_LARGE = 60_000
"""Triples from which on modes start anew, for the memory they take."""
_SAMPLE_S = 0.1
_PIECE = 100_000
_EVERY = ("whole", "greedy", "sound", "key 1", "key 2")
_OVERLAPPING = ("whole", "key 1", "kept", "kept key 1", "auto")

_NO_KEY = """
#from stream <http://example.org/s> [time 3s step 2s].
#input edge/2.
reach(X,Y) :- edge(X,Y).
reach(X,Z) :- reach(X,Y), reach(Y,Z).
#show reach/2.
"""
_SUPERLINEAR = """
#from stream <http://example.org/s> [time 3s step 2s].
#input offer/3.
{ pick(User, Offer) : offer(User, Offer, _) } = 1 :- offer(User, _, _).
:- pick(User, Offer), offer(User, Offer, Price), Price > 90.
#minimize { Price,User : pick(User, Offer), offer(User, Offer, Price) }.
#show pick/2.
"""


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    static: Mapping[Path, Mapping[int, Sequence[str]]]
    """By rules and number of triples: modes on two cores; `best` is the key that cost less
    before."""
    alone: Mapping[int, Sequence[str]]
    """The same on one core, for the positive rules."""
    repeats: Mapping[int, int]
    """By number of triples; otherwise once."""
    windows: Mapping[int, int]
    """By triples a second: windows."""
    streaming: Mapping[int, Sequence[str]]
    """By cores: modes."""
    overlapping: Sequence[int] = (1000, 5000, 20_000)
    """Triples in windows that overlap."""
    small: int = 30
    """Windows of the request without a key."""
    users: Sequence[int] = (8, 12, 16, 20)


EXTENTS = {
    "quick": Extent(
        static={POSITIVE: {1000: _EVERY}, NEGATION: {1000: _EVERY}},
        alone={1000: ("whole", "best")},
        repeats={},
        windows={300: 3},
        streaming={2: ("whole", "greedy", "adaptive")},
        overlapping=(1000,),
        small=6,
        users=(4, 8),
    ),
    "default": Extent(
        static={
            POSITIVE: {
                5_000: ("clingo", *_EVERY),
                10_000: ("clingo", *_EVERY),
                20_000: _EVERY,
                30_000: ("whole", "greedy", "sound", "best"),
                60_000: ("whole", "best"),
                103_074: ("whole", "best"),
            },
            NEGATION: {10_000: _EVERY, 20_000: ("whole", "greedy", "sound", "best")},
        },
        alone={5_000: ("whole", "best"), 20_000: ("whole", "best")},
        repeats={5_000: 3, 10_000: 2},
        windows={1_000: 30, 3_000: 5, 5_000: 4},
        streaming={2: ("whole", "greedy", "sound", "adaptive")},
    ),
    "full": Extent(
        static={
            rules: dict.fromkeys((5_000, 10_000, 20_000, 30_000, 60_000, 103_074), _EVERY)
            for rules in (POSITIVE, NEGATION)
        },
        alone=dict.fromkeys((5_000, 10_000, 20_000, 30_000, 60_000, 103_074), _EVERY),
        repeats=dict.fromkeys((5_000, 10_000, 20_000, 30_000), 3),
        windows=dict.fromkeys((1_000, 3_000, 5_000), 30),
        streaming=dict.fromkeys((1, 2), (*_EVERY, "adaptive")),
    ),
}


def run(extent: str = "default", parts: str = "") -> dict[str, Any]:
    """Measure; each part is a list of rows. `parts`, separated by commas: only those."""
    chosen = parts.split(",") if parts else list(_PARTS)
    if extent not in EXTENTS or not set(chosen) <= set(_PARTS):
        raise SystemExit(
            f"no extent `{extent}` or parts `{parts}`; there are {', '.join(EXTENTS)}, and "
            + ", ".join(_PARTS)
        )
    much = EXTENTS[extent]
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as closing:
        bench = Bench(Path(folder))
        closing.callback(bench.end_modes)
        for name in chosen:
            print(f"measuring {name} …", file=sys.stderr)
            results[name] = []
            for row in _PARTS[name](bench, much):
                results[name].append(row)
                print("  ".join(map(_cell, row.values())), file=sys.stderr)
    return results


# --- One mode in processes of its own -----------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Lines of a file of facts."""

    first: int
    count: int
    buckets: int = 2


@dataclass(frozen=True)
class Measured:
    """What a mode made of a window."""

    seconds: float
    atoms: int
    sha256: str
    peak_mb: float = 0.0
    cpu_s: float = 0.0
    differences: tuple[int, int] | None = None
    """Atoms that are wrong, and that are missing, if it was compared."""


class Mode:
    """A process that evaluates windows of a request in one mode."""

    def __init__(self, name: str, cores: int, request: Path, facts: Path) -> None:
        command = [sys.executable, __file__, name, str(cores), str(request), str(facts)]
        paths = os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        self._ask({"first": 0, "count": 100, "buckets": 2})  # everything starts

    def measure(self, window: Window, keep: Path | None = None) -> Measured:
        """Evaluate a window; `keep` is a file for the atoms of its answer."""
        busy = cpu_s(self._process.pid)
        with sampled(self._process.pid) as peak:
            answer = self._ask({**asdict(window), "keep": str(keep) if keep else None})
        busy = cpu_s(self._process.pid) - busy - answer.pop("told_s")
        return Measured(**answer, peak_mb=peak[0], cpu_s=max(0.0, busy))

    def close(self) -> None:
        """End the process and its workers."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(message), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a measured process ended at {message}: see above")
        return cast("dict[str, Any]", json.loads(line))


@contextmanager
def sampled(process: int) -> Iterator[list[float]]:
    """The most memory, in megabytes, that a process and its children take meanwhile."""
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while True:
            peak[0] = max(peak[0], memory_mb(process))
            if done.wait(_SAMPLE_S):
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def _serve(name: str, cores: int, request: Path, facts: Path) -> None:
    """Evaluate what standard input asks for, in one mode."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    what = parse_file(request)
    lines = facts.read_text(encoding="utf-8").split("\n")[:-1]
    engine = _engine(name, cores, what)
    for message in map(json.loads, sys.stdin):
        if isinstance(engine, ParallelEngine):
            engine.partitions = message["buckets"]
        window = WindowFacts(_text(lines, message["first"], message["count"]), what.inputs)
        started = time.perf_counter()
        answers = engine.answer_sets(window)
        seconds = time.perf_counter() - started
        told = _told(answers, message.get("keep")) | {"seconds": seconds}
        print(json.dumps(told), flush=True)
        del answers
    engine.close()


def _engine(name: str, cores: int, what: Request) -> Engine:
    if name == "clingo":
        return SolverEngine(what)
    named: Literal["sound", "whole"] = "whole" if name in ("whole", "kept") else "sound"
    engine = ParallelEngine(
        what,
        limits=UNLIMITED,
        executor=Processes(cores),
        plan=greedy.planner(what) if name == "greedy" else named,
        keys=name != "sound",
        adaptive=name in ("adaptive", "auto"),
        engine="auto" if name == "auto" or name.startswith("kept") else "solver",
    )
    engine.variant = 1 if name == "key 2" else 0
    return engine


def _text(lines: Sequence[str], first: int, count: int) -> str:
    """The facts of so many lines, from the beginning again at the end."""
    chosen = (lines[index % len(lines)] for index in range(first, first + count))
    return "".join(f"{line}\n" for line in chosen if line)


def _told(answers: Sequence[AnswerSet], keep: str | None) -> dict[str, Any]:
    digest, began = hashlib.sha256(), time.process_time()
    with Path(keep or os.devnull).open("wb") as file:
        for answer in answers:
            for start in range(0, len(answer.atoms), _PIECE):
                text = "\n".join(answer.atoms[start : start + _PIECE]) + "\n"
                digest.update(text.encode())
                file.write(text.encode())
            digest.update(f"{answer.cost}".encode())
    return {
        "atoms": sum(len(a.atoms) for a in answers),
        "sha256": digest.hexdigest(),
        "told_s": time.process_time() - began,
    }


# --- Measuring ---------------------------------------------------------------------------


@dataclass
class Bench:
    """Modes of several requests, each started once."""

    folder: Path
    _facts: dict[Path, Path] = field(default_factory=dict)
    _modes: dict[tuple[str, int, Path], Mode] = field(default_factory=dict)

    def lubm(self, request: Path) -> Path:
        """A file with the facts that the request makes of LUBM's lines, one a line."""
        if request not in self._facts:
            self._facts[request] = self.folder / f"{request.stem}.facts"
            _encode(request, self._facts[request])
        return self._facts[request]

    def request(self, name: str, rules: str) -> Path:
        """A file with a request."""
        path = self.folder / f"{name}.casp"
        path.write_text(rules, encoding="utf-8")
        return path

    def facts(self, name: str, lines: Sequence[str]) -> Path:
        """A file with facts."""
        path = self.folder / f"{name}.facts"
        path.write_text("".join(f"{line}.\n" for line in lines), encoding="utf-8")
        return path

    def mode(self, name: str, cores: int, request: Path, facts: Path) -> Mode:
        """A mode; it is started when it is first needed."""
        key = (name, cores, facts)
        if key not in self._modes:
            self._modes[key] = Mode(name, cores, request, facts)
        return self._modes[key]

    def end_modes(self) -> None:
        """End the modes' processes: what they held of large windows is no longer theirs."""
        for mode in self._modes.values():
            mode.close()
        self._modes.clear()

    def measure(
        self,
        modes: Sequence[str],
        cores: int,
        request: Path,
        facts: Path,
        windows: Sequence[Window],
    ) -> dict[str, list[Measured]]:
        """What each mode makes of each window; windows go to all modes in turn."""
        found: dict[str, list[Measured]] = {name: [] for name in modes}
        for window in windows:
            for name in modes:
                mode = self.mode(name, cores, request, facts)
                kept = self.folder / f"{name}.atoms" if name in ("whole", "greedy") else None
                measured = mode.measure(window, kept)
                if name == "greedy":
                    wrong = _differences(self.folder / "greedy.atoms", self.folder / "whole.atoms")
                    measured = Measured(**asdict(measured) | {"differences": wrong})
                found[name].append(measured)
        return found


def _encode(request: Path, path: Path) -> None:
    """Write the facts of each line of LUBM; an empty line where it has none."""
    what = parse_file(request)
    encoder = Encoder(what)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as stream:
        stream.writelines(json.dumps(triple) + "\n" for triple in _lubm())
        stream.flush()
        with path.open("w", encoding="utf-8") as file:
            for item in Recording([Path(stream.name)], what):
                file.write(" ".join(f"{fact}." for fact in encoder.facts(item)) + "\n")


def _lubm() -> Iterator[dict[str, Any]]:
    """LUBM(1), line by line, as items of a stream."""
    folder = Path(os.environ.get("CITYWISE_DATA", REPOSITORY.parent / "shared" / "data"))
    path = folder / "lubm" / "lubm1_seed0.nt.gz"
    if not path.is_file():
        raise SystemExit(f"{path}: no data pack here; set CITYWISE_DATA (docs/data.md)")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in islice(file, None):
            subject, predicate, value = line.removesuffix(" .\n").split(" ", 2)
            yield {"t": 0, "s": subject, "p": predicate, "o": value}


def _differences(answer: Path, right: Path) -> tuple[int, int]:
    """How many atoms of an answer are wrong, and how many are missing."""
    found, expected = (set(path.read_bytes().split(b"\n")) for path in (answer, right))
    return len(found - expected), len(expected - found)


def _rows(cores: int, found: Mapping[str, Sequence[Measured]]) -> Iterator[dict[str, Any]]:
    whole = found["whole"]
    for name, measured in found.items():
        seconds = [m.seconds for m in measured]
        same = all(m.sha256 == w.sha256 for m, w in zip(measured, whole, strict=True))
        ratios = [w.seconds / m.seconds for m, w in zip(measured, whole, strict=True)]
        differences = [m.differences for m in measured if m.differences]
        yield {
            "cores": cores,
            "mode": name,
            "windows": len(measured),
            "atoms": round(statistics.mean(m.atoms for m in measured)),
            "p50_s": statistics.median(seconds),
            "max_s": max(seconds),
            "speed_up": statistics.median(ratios),
            "cpu_s": statistics.median(m.cpu_s for m in measured),
            "peak_mb": max(m.peak_mb for m in measured),
            "answers": "equal" if same else "DIFFERENT",
            "wrong": sum(d[0] for d in differences) if differences else "",
            "missing": sum(d[1] for d in differences) if differences else "",
            "sha256": measured[-1].sha256[:16],
        }


# --- Parts -------------------------------------------------------------------------------


def static(bench: Bench, much: Extent) -> Iterator[dict[str, Any]]:
    """The first lines of LUBM as one window."""
    cases = [(2, rules, sizes) for rules, sizes in much.static.items()]
    best: dict[Path, str] = {}
    for cores, rules, sizes in [*cases, (1, POSITIVE, much.alone)]:
        for triples, names in sizes.items():
            if triples >= _LARGE:
                bench.end_modes()
            window = Window(0, triples, max(2, triples // _PER_BUCKET))
            windows = [window] * much.repeats.get(triples, 1)
            modes = [best[rules] if name == "best" else name for name in names]
            found = bench.measure(modes, cores, rules, bench.lubm(rules), windows)
            if {"key 1", "key 2"} <= set(found):
                best[rules] = min("key 1", "key 2", key=lambda key: found[key][-1].cpu_s)
            yield from _named(_rows(cores, found), rules=rules.stem, triples=triples)


def streaming(bench: Bench, much: Extent) -> Iterator[dict[str, Any]]:
    """Windows of a stream that repeats LUBM."""
    for rules in (POSITIVE, NEGATION):
        for rate, number in much.windows.items():
            windows = [Window(n * SLIDE_S * rate, WIDTH_S * rate) for n in range(number)]
            for cores, modes in much.streaming.items():
                found = bench.measure(modes, cores, rules, bench.lubm(rules), windows)
                yield from _named(_rows(cores, found), rules=rules.stem, triples_per_s=rate)


def overlap(bench: Bench, much: Extent) -> Iterator[dict[str, Any]]:
    """Windows that slide on by a tenth; the text of each is given whole."""
    for width in much.overlapping:
        windows = [Window(n * width // 10, width) for n in range(2 * much.small // 3)]
        found = bench.measure(_OVERLAPPING, 2, POSITIVE, bench.lubm(POSITIVE), windows)
        yield from _named(_rows(2, found), triples=width)


def no_key(bench: Bench, much: Extent) -> Iterator[dict[str, Any]]:
    """A closure that joins with itself: nothing can be split."""
    chance, edges = random.Random(1), 4_000
    lines = [f"edge({chance.randrange(900)},{chance.randrange(900)})" for _ in range(edges)]
    request, facts = bench.request("no_key", _NO_KEY), bench.facts("no_key", lines)
    for width in (100, 700):
        windows = [Window(n * 20, width) for n in range(much.small)]
        found = bench.measure(("whole", "adaptive"), 2, request, facts, windows)
        yield from _named(_rows(2, found), facts=width)


def superlinear(bench: Bench, much: Extent) -> Iterator[dict[str, Any]]:
    """Each user picks the cheapest offer, on one core: as many problems as there are users,
    each of which is easy, but all of them at once are not."""
    chance, offers = random.Random(1), 6
    prices = [chance.sample(range(100), offers) for _ in range(max(much.users))]
    lines = [f"offer({u},{o},{p})" for u, row in enumerate(prices) for o, p in enumerate(row)]
    request, facts = bench.request("offers", _SUPERLINEAR), bench.facts("offers", lines)
    for users in much.users:
        windows = [Window(0, users * offers, users)] * 3
        found = bench.measure(("whole", "key 1"), 1, request, facts, windows)
        yield from _named(_rows(1, found), users=users)


def _named(rows: Iterator[dict[str, Any]], **names: Any) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield names | row


_PARTS = {
    "overlap": overlap,
    "static": static,
    "streaming": streaming,
    "no key": no_key,
    "superlinear": superlinear,
}


# --- Report ------------------------------------------------------------------------------


def report(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The results as tables."""
    return "\n".join(line for part, rows in results.items() for line in table(part, rows))


def table(part: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A title and rows, aligned."""
    yield f"\n{part}"
    cells = [{name: _cell(value) for name, value in row.items()} for row in rows]
    names = list(cells[0])
    widths = [max(len(n), *(len(row[n]) for row in cells)) for n in names]
    for row in [dict(zip(names, names, strict=True)), *cells]:
        yield "  " + "  ".join(row[n].rjust(w) for n, w in zip(names, widths, strict=True))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
    return "" if value is None else f"{value}"


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))

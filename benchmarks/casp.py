"""C-ASP windows: what an evaluation costs beside plain clingo and a SPARQL engine.

    citywise bench casp            # all parts
    citywise bench casp incremental Q4,300/s   # these rows of the part
    citywise bench casp --json

Parts, each figure beside a baseline of the same run, as a median of ratios of interleaved
repetitions:

- `sizes`: windows of 100 to 100,000 observations (four triples each, seeded, shaped like
  CityBench's), from encoded items to answers, in this process and in a worker; baselines
  are clingo's own API on a text file of the same window, and pyoxigraph (extend the store,
  query, take the window out again).
- `knowledge`: the same windows with and without a knowledge base of 44,213 triples that
  the rules can see, grounded once; windows are 20 ms apart.
- `once`: fresh grounding against knowledge grounded once, over sizes of knowledge,
  sizes of windows and overlaps; the rule that picks is `GROUND_ONCE` in
  reasoning/engines/clingo/guard.py.
- `citybench`: the requests in examples/citybench over two hours of real streams (with
  the data pack), from items to answers, beside the same clingo call and pyoxigraph on the
  query's own text (which reuses its answer while a window does not change).
- `incremental`: the CityBench requests and LUBM's Listing 6.1 over windows of which nine
  tenths are in the next: the incremental engine beside clingo started afresh for each
  window (benchmarks/incremental/overlap.py), in CPU seconds; answers are compared.

Peak memory is that of a process that does nothing else; `items` is one that only holds the
items of the window as Python objects, clingo's has only the text file.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import date
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import clingo
from pyoxigraph import Literal as OxLiteral
from pyoxigraph import NamedNode, Quad, Store

from benchmarks.incremental.overlap import Overlap, overlapping
from citywise.backend.machine import REPOSITORY
from citywise.reasoning.engines.clingo.guard import GROUND_ONCE, GuardedEngine
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse, parse_file
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import Engine, WindowFacts, program
from citywise.reasoning.model.request import KnowledgeSource, Request, Signature
from citywise.reasoning.rdf.knowledge import Background, background
from citywise.reasoning.rdf.mapping import XSD, Iri, Literal, Triple
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Encoder, Item
from citywise.reasoning.streams.recordings import Recording
from citywise.reasoning.streams.results import Evaluation

PACK = Path(os.environ.get("CITYWISE_DATA", REPOSITORY.parent / "shared" / "data"))
SIZES = (100, 1_000, 10_000, 100_000)
OVERLAP_S = 10
"""Seconds of the windows of `incremental`, which slide by a tenth."""
SLIDES = 25
"""Of a stream there, the first ten until the first window."""
LUBM = {300: 2, 600: 2, 1000: 1}
"""By triples a second of Listing 6.1's stream there: rounds."""
TRIPLES = 44_213
_ROADS = 449
_SLOTS = 24
_STREAM = "http://example.org/traffic"
_CLASSES = ("AvgSpeed", "VehicleCount", "MeasureTime", "EstimatedTime", "CongestionLevel")
_PREFIXES = {
    "": "http://www.insight-centre.org/dataset/SampleEventService#",
    "ct": "http://www.insight-centre.org/citytraffic#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "sao": "http://purl.oclc.org/NET/sao/",
    "ssn": "http://purl.oclc.org/NET/ssnx/ssn#",
}
_RULES = """
#scale sao_hasValue 1000.
#input ssn_observedBy/2. #input ssn_observedProperty/2. #input sao_hasValue/2.
congested(Sensor, Level) :- ssn_observedBy(O, Sensor), ssn_observedProperty(O, P),
    rdf_type(P, "ct_CongestionLevel"), sao_hasValue(O, Level), Level >= 20.
#show congested/2.
"""
_WIDE = """
#input ssn_observedBy/2. #input ssn_observedProperty/2. #input sao_hasValue/2.
kind(O, Class) :- ssn_observedProperty(O, P), rdf_type(P, Class).
seen(Sensor, Class) :- ssn_observedBy(O, Sensor), kind(O, Class).
#show seen/2.
"""
_QUERY = """
SELECT ?sensor ?level {
  ?o <http://purl.oclc.org/NET/ssnx/ssn#observedBy> ?sensor ;
     <http://purl.oclc.org/NET/ssnx/ssn#observedProperty> ?p ;
     <http://purl.oclc.org/NET/sao/hasValue> ?level .
  ?p a <http://www.insight-centre.org/citytraffic#CongestionLevel> .
  FILTER(?level >= 0.02) }"""


def run(
    parts: str = "sizes,knowledge,once,citybench,incremental", rows: str = ""
) -> dict[str, Any]:
    """Measure parts, separated by commas; each is a list of rows. `rows` names those of
    `incremental` (default: all): requests of CityBench, or rates of Listing 6.1 such as `300/s`."""
    results = {}
    if unknown := set(parts.split(",")) - set(_PARTS):
        raise SystemExit(f"no part `{unknown.pop()}`; there are {', '.join(_PARTS)}")
    for part in parts.split(","):
        print(f"measuring {part} …", file=sys.stderr)
        results[part] = list(incremental(rows) if part == "incremental" else _PARTS[part]())
    return results


# --- Data --------------------------------------------------------------------------------


def request(rules: str, width: int = 1_000_000) -> Request:
    """A request over the stream of observations."""
    prefixes = "".join(f"#prefix {name} : <{iri}>.\n" for name, iri in _PREFIXES.items())
    stream = f"#from stream <{_STREAM}> [time {width}s step 1s].\n"
    return parse(prefixes + stream + rules)


def observations(number: int, seed: int = 1) -> list[Item]:
    """Observations of roads, each a graph of four triples."""
    chance = random.Random(seed)
    return [_observation(position, chance) for position in range(number)]


def _observation(position: int, chance: random.Random) -> Item:
    sensor, kind = chance.randrange(_ROADS), _CLASSES[position % len(_CLASSES)]
    node = Iri(f"{_PREFIXES['']}AarhusTrafficData{sensor}Observation-{position}")
    value = Literal(f"{chance.randrange(1000) / 1000}", XSD + "double")
    triples = (
        Triple(node, Iri(_PREFIXES["rdf"] + "type"), Iri(_PREFIXES["ssn"] + "Observation")),
        Triple(node, Iri(_PREFIXES["ssn"] + "observedBy"), _road(sensor)),
        Triple(node, Iri(_PREFIXES["ssn"] + "observedProperty"), _property(sensor, kind)),
        Triple(node, Iri(_PREFIXES["sao"] + "hasValue"), value),
    )
    return Item(position, triples, position, stream=_STREAM)


def _road(sensor: int) -> Iri:
    return Iri(f"{_PREFIXES['']}AarhusTrafficData{sensor}")


def _property(sensor: int, kind: str) -> Iri:
    return Iri(f"{_PREFIXES['']}Property-{kind}-{sensor}")


def knowledge(number: int) -> Background:
    """Classes of properties: first those of the roads, then of things nobody measures."""
    facts: list[str] = []
    for index in range(number):
        kind, sensor = _CLASSES[index % len(_CLASSES)], index // len(_CLASSES)
        facts.append(f'rdf_type("_Property-{kind}-{sensor}","ct_{kind}")')
    return Background(tuple(facts), supplied=frozenset({Signature("rdf_type", 2)}))


def congestion() -> Background:
    """Of those the ones a request for congestion levels can join."""
    found = knowledge(5 * _ROADS)
    kept = tuple(fact for fact in found.facts if "ct_CongestionLevel" in fact)
    return Background(kept, supplied=found.supplied)


def facts(what: Request, items: Sequence[Item]) -> WindowFacts:
    """A window's facts as a reasoner encodes them."""
    reasoner = Reasoner(what)
    lines = [f"{fact}.\n" for item in items for fact in reasoner.facts(item, items[-1].time)]
    return WindowFacts("".join(lines))


# --- Measuring ---------------------------------------------------------------------------


def paired(
    measures: Mapping[str, Callable[[], object]], repeats: int, pause: float = 0
) -> dict[str, list[float]]:
    """Seconds of each measure, interleaved so that a slow moment hits all of them, each
    after a `pause` in seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in measures}
    for measure in measures.values():
        measure()  # what is done once is not measured
    for _ in range(repeats):
        for name, measure in measures.items():
            gc.collect()
            time.sleep(pause)
            started = time.perf_counter()
            measure()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def ratio(seconds: Mapping[str, Sequence[float]], of: str, to: str) -> float:
    """Median of the ratios of paired repetitions."""
    return statistics.median(a / b for a, b in zip(seconds[of], seconds[to], strict=True))


def per_item(seconds: Sequence[float], items: int) -> float:
    """Median in microseconds an item."""
    return statistics.median(seconds) / items * 1e6


def repeats(items: int) -> int:
    """Enough for a median, not too long for large windows."""
    return max(5, min(25, 200_000 // items))


class Clingo:
    """clingo's own API on a text file of a window: load, ground, solve, read the answer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, what: Request, known: Background, window: WindowFacts) -> Clingo:
        """A baseline with a file of its own, which `close` removes."""
        descriptor, path = tempfile.mkstemp(".lp")
        os.close(descriptor)
        text = program(what, known.supplied).rules + known.text + window.text
        Path(path).write_text(text, encoding="utf-8")
        return cls(Path(path))

    def __call__(self) -> list[list[str]]:
        control = clingo.Control(["0", "--warn=none"])
        control.load(str(self.path))
        control.ground([("base", [])])
        with control.solve(yield_=True) as handle:
            return [[str(symbol) for symbol in model.symbols(shown=True)] for model in handle]

    def close(self) -> None:
        self.path.unlink()


class Reasoning:
    """A reasoner's evaluations of a window whose items are encoded already."""

    def __init__(
        self, what: Request, known: Background, items: Sequence[Item], engine: Engine
    ) -> None:
        self._reasoner = Reasoner(what, background=known, engine=engine)
        for item in items:
            for _ in self._reasoner.push(item):
                pass
        self._tick = 1_000_000
        for _ in self._reasoner.advance(self._tick):
            pass

    def __call__(self) -> object:
        self._reasoner._last = None  # the window is the one before, the answer is not
        self._tick += 1
        (evaluation,) = self._reasoner.advance(self._tick)
        assert evaluation.error is None, evaluation.error
        return evaluation.answer_sets


class Sparql:
    """pyoxigraph: the window goes into the store, is queried, and leaves it."""

    def __init__(self, query: str, known: Background, items: Sequence[Item]) -> None:
        self._query = query
        self._store = Store()
        for fact in known.facts:
            _name, arguments = fact[:-1].split("(", 1)
            subject, kind = (json.loads(argument) for argument in arguments.split(","))
            subject = NamedNode(_PREFIXES[""] + subject.removeprefix("_"))
            rdf_type = NamedNode(_PREFIXES["rdf"] + "type")
            self._store.add(
                Quad(subject, rdf_type, NamedNode(_PREFIXES["ct"] + kind.removeprefix("ct_")))
            )
        self._quads = [_quad(t) for i in items for t in i.content if isinstance(t, Triple)]

    def __call__(self) -> object:
        self._store.extend(self._quads)
        found = list(self._store.query(self._query))  # type: ignore[arg-type]
        for quad in self._quads:
            self._store.remove(quad)
        return found


def _quad(triple: Triple) -> Quad:
    value = triple.object
    node = (
        OxLiteral(value.lexical, datatype=NamedNode(str(value.datatype)))
        if isinstance(value, Literal)
        else NamedNode(value[0])
    )
    return Quad(NamedNode(triple.subject[0]), NamedNode(triple.predicate.value), node)


# --- Parts -------------------------------------------------------------------------------


def sizes() -> list[dict[str, Any]]:
    """µs per window item over window sizes, and peak memory."""
    rows = []
    for number in SIZES:
        what, known, items = request(_RULES), congestion(), observations(number)
        plain = Clingo.of(what, known, facts(what, items))
        with closing(plain), closing(GuardedEngine(what, known)) as guarded:
            measures: dict[str, Callable[[], object]] = {
                "citywise": Reasoning(what, known, items, SolverEngine(what, known)),
                "citywise, worker": Reasoning(what, known, items, guarded),
                "clingo": plain,
                "pyoxigraph": Sparql(_QUERY, known, items),
            }
            seconds = paired(measures, repeats(number))
            peaks = {
                name: _peak(name, str(number), str(plain.path)) for name in ("items", *measures)
            }
        rows.append(
            {
                "items": number,
                "us_per_item": {name: per_item(s, number) for name, s in seconds.items()},
                "citywise/clingo": ratio(seconds, "citywise", "clingo"),
                "worker/clingo": ratio(seconds, "citywise, worker", "clingo"),
                "citywise/pyoxigraph": ratio(seconds, "citywise", "pyoxigraph"),
                "peak_mb": peaks,
            }
        )
    return rows


def with_knowledge() -> list[dict[str, Any]]:
    """What a window costs with 44,213 visible triples of knowledge, and without."""
    rows = []
    for number in SIZES[:3]:
        what, items = request(_WIDE), observations(number)
        none, small, large = Background(), knowledge(5 * _ROADS), knowledge(TRIPLES)
        with (
            closing(GuardedEngine(what, none)) as without,
            closing(GuardedEngine(what, small, once=True)) as needed,
            closing(GuardedEngine(what, large, once=True)) as once,
        ):
            measures: dict[str, Callable[[], object]] = {
                "none": Reasoning(what, none, items, without),
                "needed": Reasoning(what, small, items, needed),
                "all, once": Reasoning(what, large, items, once),
                "all, every window": Reasoning(what, large, items, SolverEngine(what, large)),
            }
            seconds = paired(measures, repeats(number), pause=0.02)
        rows.append(
            {
                "items": number,
                "ms": {name: statistics.median(s) * 1000 for name, s in seconds.items()},
                "all once/needed": ratio(seconds, "all, once", "needed"),
                "all every window/all once": ratio(seconds, "all, every window", "all, once"),
            }
        )
    return rows


def once() -> list[dict[str, Any]]:
    """Fresh grounding against knowledge grounded once, over sizes and overlaps."""
    rows = []
    for known in (0, 500, 1_000, 2_000, 10_000, TRIPLES):
        for number in SIZES[:3]:
            for overlap in (0.0, 0.9):
                rows.append(_fresh_and_once(known, number, overlap))
    return rows


def _fresh_and_once(known: int, number: int, overlap: float) -> dict[str, Any]:
    """Windows that slide so that a share `overlap` of one is in the next."""
    what, facts_known = request(_WIDE), knowledge(known)
    step = max(1, round(number * (1 - overlap)))
    pool = observations(number + 12 * step)
    windows = [facts(what, pool[i * step : i * step + number]) for i in range(12)]
    with (
        closing(GuardedEngine(what, facts_known, once=False)) as fresh,
        closing(GuardedEngine(what, facts_known, once=True)) as shared,
    ):
        seconds = paired(
            {name: _turn(engine, windows) for name, engine in (("fresh", fresh), ("once", shared))},
            10,
        )
    return {
        "knowledge": known,
        "items": number,
        "overlap": overlap,
        "fresh_ms": statistics.median(seconds["fresh"]) * 1000,
        "once_ms": statistics.median(seconds["once"]) * 1000,
        "once/fresh": ratio(seconds, "once", "fresh"),
        "picked": "once" if known >= GROUND_ONCE else "fresh",
    }


def _turn(engine: Engine, windows: Sequence[WindowFacts]) -> Callable[[], object]:
    """The next window at each call, over and over."""
    index = iter(range(1_000_000))
    return lambda: engine.answer_sets(windows[next(index) % len(windows)])


def citybench() -> list[dict[str, Any]]:
    """The CityBench requests over two hours of real streams."""
    return [_citybench_query(path, PACK / "citybench") for path in _citybench_requests()]


def _citybench_requests() -> list[Path]:
    if not PACK.is_dir():
        return []
    return sorted((REPOSITORY / "examples" / "citybench").glob("*.casp"))


def incremental(rows: str = "") -> Iterator[dict[str, Any]]:
    """Windows of which nine tenths are in the next, on the incremental engine."""
    requests = {path.stem: path for path in _citybench_requests()}
    rates = {f"{rate}/s": rate for rate in LUBM} if PACK.is_dir() else {}
    wanted = set(rows.split(",")) if rows else {*requests, *rates}
    if unknown := wanted - {*requests, *rates}:
        names = ", ".join((*requests, *rates)) or "none without the data pack"
        raise SystemExit(f"no row `{unknown.pop()}`; there are {names}")
    for path in [path for name, path in requests.items() if name in wanted]:
        with closing(CityBench(path, PACK / "citybench", SLIDES)) as case:
            yield _overlap(path.stem, case.what, case.items, case.known)
    path = REPOSITORY / "examples" / "lubm" / "listing61.casp"
    for name in [name for name in rates if name in wanted]:
        what, rate = parse_file(path), rates[name]
        items = _lubm(what, rate)
        yield _overlap(f"{path.stem}, {name}", what, items, Background(), LUBM[rate])


def _overlap(
    name: str, what: Request, items: Sequence[Item], known: Background, rounds: int = 2
) -> dict[str, Any]:
    unit = 1000 if what.unit == "ms" else 1
    sliding = overlapping(what, OVERLAP_S * unit, OVERLAP_S * unit // 10)
    measured = Overlap(sliding, known, items).measure(rounds, warm=3)
    print(name, measured, file=sys.stderr)
    return {"request": name, **measured}


def _lubm(what: Request, rate: int) -> list[Item]:
    """The first triples of LUBM, so many a second."""
    with gzip.open(PACK / "lubm" / "lubm1_seed0.nt.gz", "rt", encoding="utf-8") as file:
        lines = [line.removesuffix(" .\n").split(" ", 2) for line in islice(file, SLIDES * rate)]
    triples = [dict(zip("spo", line, strict=True)) for line in lines]
    return _items(what, [{"t": n // rate, **triple} for n, triple in enumerate(triples)])


def _citybench_query(path: Path, folder: Path) -> dict[str, Any]:
    """One request over real streams: from items to answers, window by window."""
    with closing(CityBench(path, folder)) as case:
        measures = case.measures()
        seconds = paired(measures, 3)
        peaks = {name: _peak(name, str(path), str(folder)) for name in measures}
        number = sum(len(evaluation.items) for evaluation in case.evaluations)
        return {
            "request": path.stem,
            "windows": len(case.evaluations),
            "items": number,
            "knowledge": len(case.known.facts),
            "us_per_item": {name: per_item(s, number) for name, s in seconds.items()},
            "citywise/clingo": ratio(seconds, "citywise", "clingo"),
            "citywise/pyoxigraph": ratio(seconds, "citywise", "pyoxigraph"),
            "peak_mb": peaks,
        }


class CityBench:
    """A CityBench request, and the same query for clingo and for a SPARQL engine."""

    def __init__(self, path: Path, folder: Path, slots: int = _SLOTS) -> None:
        from tests.citybench import sparql, streams

        self._query = sparql.read(folder / "queries" / "csparql_query" / f"{path.stem}.txt")
        services = [window.stream for window in self._query.windows]
        self._records = streams.Streams(folder, date(2014, 8, 5)).records(services, slots=slots)
        self._files = [folder / f"{name}.n3.gz" for name in self._query.knowledge]
        self._store = streams.knowledge
        self.what = parse_file(path)
        self.items = _items(self.what, [record.line() for record in self._records])
        self._closing = ExitStack()

    @cached_property
    def known(self) -> Background:
        """What the request sees of its knowledge bases."""
        return background(self.what, [KnowledgeSource(str(file)) for file in self._files])

    @cached_property
    def engine(self) -> GuardedEngine:
        """The engine of all runs."""
        return self._closing.enter_context(closing(GuardedEngine(self.what, self.known)))

    @cached_property
    def evaluations(self) -> list[Evaluation]:
        """Every evaluation of the request."""
        reasoner = Reasoner(self.what, engine=self.engine)
        return [*reasoner.push(self.items), *reasoner.finish()]

    def measures(self) -> dict[str, Callable[[], object]]:
        """What each system does from items to answers, prepared when it is first called."""
        return {"citywise": self._citywise, "clingo": self._clingo, "pyoxigraph": self._sparql}

    def close(self) -> None:
        """End the engine, remove the files."""
        self._closing.close()

    def _citywise(self) -> object:
        reasoner = Reasoner(self.what, engine=self.engine)
        return [*reasoner.push(self.items), *reasoner.finish()]

    def _clingo(self) -> object:
        return [baseline() for baseline in self._baselines]

    def _sparql(self) -> object:
        return list(self._query.over(self._records, self._filled))

    @cached_property
    def _baselines(self) -> list[Clingo]:
        windows = [_window(self.what, evaluation) for evaluation in self.evaluations]
        found = [Clingo.of(self.what, self.known, window) for window in windows]
        for baseline in found:
            self._closing.callback(baseline.close)
        return found

    @cached_property
    def _filled(self) -> Store:
        return self._store(*self._files)


def _items(what: Request, lines: Sequence[dict[str, Any]]) -> list[Item]:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
        file.flush()
        return list(Recording([Path(file.name)], what))


def _window(what: Request, evaluation: Evaluation) -> WindowFacts:
    """The facts of an evaluation's window, times counting from its first item's."""
    encoder = Encoder(what)
    base = min((item.time for item in evaluation.items), default=0)
    lines = [f"{fact}.\n" for item in evaluation.items for fact in encoder.facts(item, base)]
    return WindowFacts("".join(lines), encoder.supplied)


# --- Memory ------------------------------------------------------------------------------


def _peak(name: str, *arguments: str) -> float:
    """Megabytes that a process needs at most to do one measure once."""
    command = [sys.executable, __file__, name, *arguments]
    paths = os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _alone(name: str, number: int, path: Path) -> float:
    if name == "clingo":
        Clingo(path)()
        return _high_water(os.getpid())
    what, known, items = request(_RULES), congestion(), observations(number)
    if name == "pyoxigraph":
        Sparql(_QUERY, known, items)()
    elif name == "citywise":
        Reasoning(what, known, items, SolverEngine(what, known))()
    elif name == "citywise, worker":
        with closing(GuardedEngine(what, known, Limits())) as engine:
            Reasoning(what, known, items, engine)()
            assert engine.process is not None
            return _high_water(os.getpid()) + _high_water(engine.process)
    return _high_water(os.getpid())


def _citybench_alone(name: str, path: Path, folder: Path) -> float:
    """Without the worker that evaluates, which is added for Citywise only."""
    with closing(CityBench(path, folder)) as case:
        case.measures()[name]()
        worker = case.engine.process if name == "citywise" else None
        return _high_water(os.getpid()) + (_high_water(worker) if worker else 0)


def _high_water(process: int) -> float:
    """Most resident memory of a process so far, in megabytes (Linux)."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


_PARTS: Mapping[str, Callable[[], Iterable[dict[str, Any]]]] = {
    "sizes": sizes,
    "knowledge": with_knowledge,
    "once": once,
    "citybench": citybench,
    "incremental": incremental,
}


# --- Report ------------------------------------------------------------------------------


def report(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The results as tables."""
    return "\n".join(line for part, rows in results.items() for line in _table(part, rows))


def _table(part: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"\n{part}"
    cells = [_flat(row) for row in rows]
    if not cells:
        yield "  (not measured: the data pack is not here)"
        return
    names = list(cells[0])
    widths = [max(len(n), *(len(row[n]) for row in cells)) for n in names]
    for row in [dict(zip(names, names, strict=True)), *cells]:
        yield "  " + "  ".join(row[n].rjust(w) for n, w in zip(names, widths, strict=True))


def _flat(row: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= {f"{name} {key}": text for key, text in _flat(value).items()}
        else:
            found[name] = f"{value:.3g}" if isinstance(value, float) else f"{value}"
    return found


if __name__ == "__main__":
    if sys.argv[2].isdigit():
        print(_alone(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
    else:
        print(_citybench_alone(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))

"""CityBench: every request gives its query's solutions, window by window.

The queries are evaluated as written by a SPARQL engine, over windows computed apart from
ours. Whole solutions are compared, with the observations' IRIs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, RdfFormat

from citywise.reasoning.languages.casp.parsing import parse_file
from tests.citybench import sparql
from tests.citybench.answers import (
    EXAMPLES,
    Shown,
    evaluations,
    only,
    printed,
    write,
)
from tests.citybench.day import SLOTS
from tests.citybench.solutions import (
    DEGREES,
    Ticks,
    are_same,
    are_same_but_for_means,
    assert_same,
    expected,
    with_nodes_by_event,
)
from tests.citybench.streams import Record, Streams, knowledge

pytestmark = pytest.mark.slow

QUERIES = (
    "Q1",
    "Q10",
    "Q10_5",
    "Q11",
    "Q1_5_win_1",
    "Q1_win_1",
    "Q2",
    "Q3",
    "Q4",
    "Q5",
    "Q7",
    "Q8",
    "traffic_parking_1",
)
LONG_DAYS = {"Q1_5_win_1", "Q1_win_1", "Q10", "Q10_5", "Q2", "Q3", "Q5", "Q8"}
"""Of these an hour is compared, too."""
SELECTING = [
    pytest.param(name, marks=pytest.mark.long if name in LONG_DAYS else ())
    for name in QUERIES
    if name != "Q11"
]
HOUR = SLOTS // 24


class Bench:
    """The queries and their requests over one day."""

    def __init__(self, folder: Path, streams: Streams, scratch: Path) -> None:
        self.folder = folder
        self.streams = streams
        self.scratch = scratch

    def query(self, name: str) -> sparql.Query:
        return sparql.read(self.folder / "queries" / "csparql_query" / f"{name}.txt")

    def records(self, query: sparql.Query, slots: int) -> list[Record]:
        return self.streams.records([window.stream for window in query.windows], slots)

    def stream(self, query: sparql.Query, slots: int) -> Path:
        """The records as a stream file."""
        lines = (record.line() for record in self.records(query, slots))
        return write(lines, self.scratch / "stream.jsonl")

    def knowledge(self, query: sparql.Query) -> list[Path]:
        return [self._as_ntriples(self.folder / f"{name}.n3.gz") for name in query.knowledge]

    def _as_ntriples(self, path: Path) -> Path:
        """The same knowledge in a form that is quick to read, for it is read a dozen times."""
        quick = self.scratch / f"{path.name}.nt"
        if not quick.exists():
            knowledge(path).dump(quick, RdfFormat.N_TRIPLES, from_graph=DefaultGraph())
        return quick

    def theirs(self, query: sparql.Query, slots: int) -> Iterator[tuple[int, sparql.Answer]]:
        """What the SPARQL engine answers."""
        store = knowledge(*self.knowledge(query))
        return query.over(self.records(query, slots), store)

    def ours(
        self, name: str, query: sparql.Query, slots: int, predicate: str = "solution"
    ) -> Ticks:
        """What the request answers."""
        program = EXAMPLES / "citybench" / f"{name}.casp"
        request = parse_file(program)
        found = evaluations(program, self.stream(query, slots), self.knowledge(query))
        per_tick = 1000 // request.ticks_per_second
        shown = Shown(request)
        return ((e.time * per_tick, shown.rows(only(e), predicate)) for e in found)


@pytest.fixture(scope="module")
def bench(data_pack: Path, streams: Streams, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(data_pack / "citybench", streams, tmp_path_factory.mktemp("citybench"))


def compare(bench: Bench, name: str, slots: int) -> None:
    query = bench.query(name)
    ours = bench.ours(name, query, slots)
    theirs = expected(name, bench.theirs(query, slots))
    if name == "Q4":
        ours, theirs = with_nodes_by_event(ours), with_nodes_by_event(theirs)
    assert_same(ours, theirs, are_same_but_for_means if name == "Q3" else are_same)


def test_every_query_of_the_pack_has_a_request_of_its_name(bench: Bench) -> None:
    texts = sorted(path.stem for path in (bench.folder / "queries" / "csparql_query").iterdir())
    assert texts == sorted(QUERIES)
    assert texts == sorted(path.stem for path in (EXAMPLES / "citybench").glob("*.casp"))


@pytest.mark.parametrize("name", QUERIES)
def test_a_request_reads_the_streams_of_its_query_through_the_same_windows(
    bench: Bench, name: str
) -> None:
    request = parse_file(EXAMPLES / "citybench" / f"{name}.casp")
    per_tick = 1000 // request.ticks_per_second
    windows = [
        (s.iri, s.window.width * per_tick, s.window.slide * per_tick) for s in request.streams
    ]
    assert windows == [tuple(window) for window in bench.query(name).windows]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Q1_5_win_1", "Q10_5", "Q2", "Q4"])
def test_an_hour_of_the_streams_gives_the_solutions_of_sparql(bench: Bench, name: str) -> None:
    compare(bench, name, HOUR)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SELECTING)
def test_a_day_of_the_streams_gives_the_solutions_of_sparql(bench: Bench, name: str) -> None:
    compare(bench, name, SLOTS)


def test_the_command_line_gives_the_solutions_of_sparql(bench: Bench) -> None:
    """As examples/citybench/README.md says, with a knowledge base as it lies in the pack."""
    query = bench.query("Q4")
    program = EXAMPLES / "citybench" / "Q4.casp"
    events = bench.folder / "AarhusCulturalEvents.n3.gz"
    lines = printed(program, "--kb", events, "--stream", bench.stream(query, HOUR))
    shown = Shown(parse_file(program))
    ours = [(milliseconds(line["t"]), shown.rows(line["answer_sets"][0])) for line in lines]
    theirs = expected("Q4", bench.theirs(query, HOUR))
    assert_same(with_nodes_by_event(ours), with_nodes_by_event(theirs))


def milliseconds(time: str) -> int:
    return round(datetime.fromisoformat(time).timestamp() * 1000)


def test_the_sum_that_q10_leaves_in_a_comment_is_right(bench: Bench) -> None:
    query = bench.query("Q10")
    ours = bench.ours("Q10", query, HOUR, "sum_of_air_indices")
    commented = "#?lat1 ?lon1 ?lat2 ?lon2 ?v1 ?v2 ((?v1+?v2)"
    assert commented in query.pattern
    whole = replace(query, pattern=query.pattern.replace(commented, "((?v1+?v2)"))
    assert_same(ours, expected("Q10", bench.theirs(whole, HOUR)))


def test_q11_reports_the_windows_in_which_the_weather_station_was_silent(bench: Bench) -> None:
    """Its author's wish: the text itself asks for an unbound variable that is bound."""
    query = bench.query("Q11")
    assert {answer for _tick, answer in bench.theirs(query, SLOTS)} == {False}
    wish = "Filter (!bound(?obId1))"
    assert wish in query.pattern
    observed = replace(query, pattern=query.pattern.replace(wish, ""))
    heard = dict(bench.theirs(observed, SLOTS))
    ours = bench.ours("Q11", query, SLOTS, "silent")
    silent = {tick: bool(found) for tick, found in ours}
    assert silent == {tick: not answer for tick, answer in heard.items()}
    assert set(silent.values()) == {True, False}


@pytest.mark.parametrize(("name", "slots"), [("Q4", SLOTS), ("Q5", HOUR)])
def test_no_event_lies_so_near_the_limit_that_rounding_decides(
    bench: Bench, name: str, slots: int
) -> None:
    """Squared distances (square degrees) stay further from 0.1 than rounding moves them."""
    rounding = 2 * 0.3163 * 2**0.5 / DEGREES
    query = bench.query(name)
    apart = tuple(window._replace(slide=window.width + 1000) for window in query.windows)
    unfiltered = query.pattern.split("Filter")[0].replace("#?lat1", "?lat1") + "}"
    all_events = replace(query, pattern=unfiltered, windows=apart)
    places = {
        tuple(float(row[answer.variables.index(v)].value) for v in ("lat1", "lon1", "lat2", "lon2"))
        for _tick, answer in bench.theirs(all_events, slots)
        if isinstance(answer, sparql.Solutions)
        for row in answer.rows
    }
    squares = [(lat2 - lat1) ** 2 + (lon2 - lon1) ** 2 for lat1, lon1, lat2, lon2 in places]
    assert min(abs(square - 0.1) for square in squares) > rounding

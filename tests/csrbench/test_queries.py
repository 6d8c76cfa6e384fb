"""CSRBench: the requests give the expected windows of Q1, Q2, Q4 and Q6."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import RdfFormat, parse

from citywise.reasoning.languages.casp.parsing import parse_file
from citywise.reasoning.model.request import Request
from citywise.reasoning.streams.results import Evaluation
from tests.citybench.answers import EXAMPLES, Row, Shown, evaluations, only, printed, write

pytestmark = pytest.mark.slow

TENTHS = 10


@pytest.fixture(scope="module")
def stream(data_pack: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stream as triples: file `data_07.ttl` is what arrives at 7,000 ms."""
    with tarfile.open(data_pack / "csrbench" / "csrbench_data_ttl.tar.gz") as archive:
        files = sorted((m for m in archive if m.name.endswith(".ttl")), key=lambda m: m.name)
        lines = [line for file in files for line in _lines(archive, file)]
    return write(lines, tmp_path_factory.mktemp("csrbench") / "charley.jsonl")


def _lines(archive: tarfile.TarFile, file: tarfile.TarInfo) -> Iterator[dict[str, Any]]:
    time = 1000 * int(Path(file.name).stem.removeprefix("data_"))
    content = archive.extractfile(file)
    assert content
    for quad in parse(content.read(), format=RdfFormat.TURTLE):
        yield {
            "t": time,
            "s": str(quad.subject),
            "p": str(quad.predicate),
            "o": str(quad.object),
        }


@dataclass(frozen=True)
class Run:
    """A request, what it answered, and the windows expected."""

    request: Request
    found: list[Evaluation]
    windows: list[dict[str, Any]]

    def rows(self) -> list[list[Row]]:
        shown = Shown(self.request)
        return [shown.rows(only(evaluation)) for evaluation in self.found]


@pytest.fixture
def run(data_pack: Path, stream: Path) -> Callable[[str], Run]:
    """Runs the request of a query up to the end of the last window expected."""
    path = data_pack / "csrbench" / "expected_t0_0_Q1_Q2_Q4_Q6.json.gz"
    expected = json.loads(gzip.decompress(path.read_bytes()))

    def of(name: str) -> Run:
        windows = expected[name]["windows"]
        program = EXAMPLES / "csrbench" / f"{name}.casp"
        found = list(evaluations(program, stream, until=windows[-1]["window"][1]))
        return Run(parse_file(program), found, windows)

    return of


def as_row(row: dict[str, Any]) -> Row:
    """A row of the expected answers as the request shows it, values in tenths."""
    return tuple(round(v * TENTHS) if isinstance(v, float) else v for v in row.values())


def average(row: Row) -> float:
    """Of a sum of tenths and a number; 0 of none, as the expected answers have it."""
    total, count = row
    assert isinstance(total, int)
    assert isinstance(count, int)
    return total / TENTHS / count if count else 0.0


@pytest.mark.parametrize("name", ["Q1", "Q2", "Q6"])
def test_each_window_has_the_expected_rows(run: Callable[[str], Run], name: str) -> None:
    done = run(name)
    assert [e.time + 1 for e in done.found] == [window["window"][1] for window in done.windows]
    expected = [sorted(map(as_row, window["rows"])) for window in done.windows]
    assert done.rows() == expected
    assert any(expected)


def test_q4_gives_sum_and_number_of_which_the_average_follows(run: Callable[[str], Run]) -> None:
    done = run("Q4")
    expected = [window["rows"][0]["avg"] for window in done.windows]
    assert [average(row) for (row,) in done.rows()] == pytest.approx(expected)
    assert any(expected)


def test_a_window_is_closed_one_millisecond_before_the_next_begins(
    run: Callable[[str], Run],
) -> None:
    """What arrives at 10,000 ms is in the second window of Q1 only."""
    times = [{item.time for item in evaluation.items} for evaluation in run("Q1").found]
    assert times[:2] == [set(range(0, 10_000, 1000)), set(range(10_000, 20_000, 1000))]


def test_the_command_line_gives_the_same(run: Callable[[str], Run], stream: Path) -> None:
    done = run("Q2")
    program = EXAMPLES / "csrbench" / "Q2.casp"
    until = done.windows[-1]["window"][1]
    lines = printed(program, "--stream", stream, "--until", until)
    assert lines == [{"t": e.time, "answer_sets": [list(only(e))]} for e in done.found]

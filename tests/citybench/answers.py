"""C-ASP requests over stream lines, and their shown atoms as RDF values.

The tests of CSRBench and LUBM use it too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import clingo
from click.testing import CliRunner

from citywise.backend.cli import cli
from citywise.reasoning.model.request import Request
from citywise.reasoning.rdf.mapping import Mapper
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.results import Evaluation

_ARGUMENT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+')
EXAMPLES = Path(__file__).parents[2] / "examples"


class Blank(NamedTuple):
    """A blank node and its label."""

    label: str


Value = int | float | str | Blank
Row = tuple[Value, ...]
"""A solution: the values of a shown atom; IRIs in full."""


def write(lines: Iterable[dict[str, Any]], path: Path) -> Path:
    """A stream file of these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def evaluations(
    program: Path,
    stream: Path,
    knowledge: Sequence[Path] = (),
    until: int | None = None,
) -> Iterator[Evaluation]:
    """What a program answers over a stream file; no item may be refused."""
    run = Recorded(program, [stream], knowledge, until=until)
    yield from run.evaluations()
    assert not run.problems
    assert not run.warnings


def printed(program: Path, *arguments: object) -> list[dict[str, Any]]:
    """What `citywise reason` prints about a program, line by line."""
    done = CliRunner().invoke(cli, ["reason", str(program), *map(str, arguments)])
    assert done.exit_code == 0, done.output
    assert not done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def only(evaluation: Evaluation) -> tuple[str, ...]:
    """The atoms of an evaluation with one answer set."""
    assert evaluation.error is None
    (answer,) = evaluation.answer_sets
    return answer.atoms


class Shown:
    """The shown atoms of a request's answers as rows of values; a value is read once."""

    def __init__(self, request: Request) -> None:
        self._mapper = Mapper(request)
        self._values: dict[str, Value] = {}

    def rows(self, atoms: Iterable[str], predicate: str = "solution") -> list[Row]:
        """Those of a predicate, in the same order."""
        named = (atom.partition("(") for atom in atoms)
        return [tuple(self._arguments(rest)) for name, _, rest in named if name == predicate]

    def _arguments(self, text: str) -> Iterator[Value]:
        for argument in _ARGUMENT.findall(text):
            value = self._values.get(argument)
            if value is None:
                value = self._values[argument] = self._value(clingo.parse_term(argument))
            yield value

    def _value(self, term: clingo.Symbol) -> Value:
        """A term as the value it stands for: a decimal without a scale is its text in ASP."""
        if term.type is clingo.SymbolType.Number:
            return term.number
        if term.string.startswith("_:"):
            return Blank(term.string)
        if iri := self._mapper.iri(term.string):
            return iri
        try:
            return float(term.string)
        except ValueError:
            return term.string.removeprefix("'")

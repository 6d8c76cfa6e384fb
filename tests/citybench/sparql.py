"""CityBench's queries evaluated by a SPARQL engine, window by window: an independent opinion.

Windows and ticks are computed here once more, from the query's own text; nothing of
`reasoning` is used. The text is evaluated as it stands, less its FROM clauses, over the
RDF merge of all window contents and the knowledge bases it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    Quad,
    QueryBoolean,
    QuerySolutions,
    Store,
    Triple,
)

from tests.citybench.streams import Record

_STREAM = re.compile(
    r"from\s+stream\s+<([^>]*)>\s*\[range\s+(\d+)(ms|s)\s+step\s+(\d+)(ms|s)\]", re.IGNORECASE
)
_KNOWLEDGE = re.compile(r"from\s+<[^>]*/(\w+)\.rdf>", re.IGNORECASE)
_MILLISECONDS = {"ms": 1, "s": 1000}


class Window(NamedTuple):
    """A stream's sliding window, in milliseconds."""

    stream: str
    width: int
    slide: int

    def ticks(self, first: int, last: int) -> range:
        """T0 + width, then every slide, up to and including `last`; T0 = slide · ⌊first/slide⌋."""
        return range(first // self.slide * self.slide + self.width, last + 1, self.slide)


@dataclass(frozen=True)
class Query:
    """A C-SPARQL query: what a SPARQL engine can evaluate, and what it cannot."""

    pattern: str
    windows: tuple[Window, ...]
    knowledge: tuple[str, ...]
    """Names of the knowledge bases, without endings."""

    def over(self, records: Sequence[Record], store: Store) -> Iterator[tuple[int, Answer]]:
        """The answer at each tick (Unix milliseconds) up to the last record's time.

        `store` holds the knowledge bases; window contents come and go in it.
        """
        held: set[Triple] = set()
        answer = _answer(store, self.pattern)
        for tick in self._ticks(records):
            content = {t for record in self._content(records, tick) for t in record.triples}
            if content != held:
                for triple in held - content:
                    store.remove(Quad(*triple))
                store.extend(Quad(*triple) for triple in content - held)
                held, answer = content, _answer(store, self.pattern)
            yield tick, answer

    def _ticks(self, records: Sequence[Record]) -> list[int]:
        span = _milliseconds(records[0]), _milliseconds(records[-1])
        return sorted({tick for window in self.windows for tick in window.ticks(*span)})

    def _content(self, records: Sequence[Record], time: int) -> Iterator[Record]:
        """What the windows hold at `time`, each as of its own last tick."""
        for window in self.windows:
            for tick in window.ticks(_milliseconds(records[0]), time)[-1:]:
                yield from (r for r in records if _is_in(r, window, tick))


Term = NamedNode | BlankNode | Literal


class Solutions(NamedTuple):
    """The solutions of a SELECT query."""

    variables: list[str]
    rows: list[tuple[Term, ...]]


Answer = bool | Solutions
"""Of an ASK or of a SELECT query."""


def read(path: Path) -> Query:
    """The query in a file of the pack's folder `queries/csparql_query`."""
    text = path.read_text(encoding="utf-8")
    windows = tuple(
        Window(iri, int(width) * _MILLISECONDS[width_unit], int(slide) * _MILLISECONDS[slide_unit])
        for iri, width, width_unit, slide, slide_unit in _STREAM.findall(text)
    )
    knowledge = tuple(_KNOWLEDGE.findall(_STREAM.sub("", text)))
    return Query(_KNOWLEDGE.sub("", _STREAM.sub("", text)), windows, knowledge)


def _answer(store: Store, pattern: str) -> Answer:
    found = store.query(pattern)
    if isinstance(found, QueryBoolean):
        return bool(found)
    assert isinstance(found, QuerySolutions)
    return Solutions([variable.value for variable in found.variables], [tuple(r) for r in found])


def _is_in(record: Record, window: Window, tick: int) -> bool:
    age = tick - _milliseconds(record)
    return record.service == window.stream and 0 <= age <= window.width


def _milliseconds(record: Record) -> int:
    return record.second * 1000

"""An experiment of Monks et al.: a document over a stream of triples."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import orjson

from benchmarks.r4.conclusions import Conclusion
from benchmarks.r4.scans import Pattern
from citywise.backend.machine import REPOSITORY
from citywise.reasoning.rdf.mapping import RDF, RDFS

PACK = Path(os.environ.get("CITYWISE_DATA") or REPOSITORY.parent / "shared" / "data")
TYPE, SUBCLASS = f"<{RDF}type>", f"<{RDFS}subClassOf>"
EXAMPLES = REPOSITORY / "examples" / "rif"
Statement: TypeAlias = tuple[str, str, str]
"""Subject, property and object in N-Triples syntax."""
_WINDOW = re.compile(r"^  \d+ s$", re.MULTILINE)


class Arrival(NamedTuple):
    """A statement with the instant at which it arrives."""

    time: int
    statement: Statement


class Experiment(ABC):
    """What is evaluated, and what must come out."""

    name: str
    document: str
    """The name of an example."""
    knowledge: str
    """What it imports."""
    windows: Sequence[int]
    """In seconds."""
    patterns: Sequence[Pattern]
    """What the first rule joins, of the stream."""
    data: str
    """Where the data are from."""

    @abstractmethod
    def static(self) -> Iterable[Statement]:
        """What the document imports."""

    @abstractmethod
    def arrivals(self) -> Iterator[Arrival]:
        """The stream, in order."""

    @abstractmethod
    def conclusions(self, width: int) -> Iterator[Conclusion]:
        """What follows, computed without any rules, for a window of so many seconds."""

    @abstractmethod
    def joined(self, width: int, until: int) -> int:
        """How often the first rule's patterns of the stream hold up to an instant."""

    def write(self, folder: Path) -> tuple[Path, int]:
        """Write the stream, and what the document imports; its file and how many triples."""
        lines = (f"{s} {p} {o} .\n" for s, p, o in self.static())
        (folder / self.knowledge).write_text("".join(lines), encoding="utf-8")
        path, number = folder / f"{self.name}.jsonl", 0
        with path.open("wb") as file:
            for time, (s, p, o) in self.arrivals():
                file.write(orjson.dumps({"t": time, "s": s, "p": p, "o": o}) + b"\n")
                number += 1
        return path, number

    def program(self, folder: Path, width: int) -> Path:
        """Write the document with a window of so many seconds."""
        text = (EXAMPLES / self.document).read_text(encoding="utf-8")
        text, number = _WINDOW.subn(f"  {width} s", text)
        assert number == 1, f"{self.document}: no window on a line of its own"
        path = folder / f"{width}-{self.document}"
        path.write_text(text, encoding="utf-8")
        return path


def superclasses(statements: Iterable[Statement]) -> dict[str, frozenset[str]]:
    """By class: it, and the classes above it."""
    above: dict[str, set[str]] = {}
    for s, p, o in statements:
        if p == SUBCLASS:
            above.setdefault(s, set()).add(o)
            above.setdefault(o, set())
    return {each: frozenset(_reached(each, above)) for each in above}


def _reached(first: str, above: dict[str, set[str]]) -> set[str]:
    found, todo = {first}, [first]
    while todo:
        new = above[todo.pop()] - found
        found |= new
        todo += new
    return found

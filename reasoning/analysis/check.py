"""Everything there is to say about a request before it runs (`citywise check`, DESIGN A3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from reasoning.analysis import lars as lars_analysis
from reasoning.analysis import rif as rif_analysis
from reasoning.analysis.dependencies import Dependencies
from reasoning.analysis.findings import Finding
from reasoning.analysis.growth import suspects
from reasoning.analysis.predicates import Predicates
from reasoning.errors import RequestError
from reasoning.languages import casp, lars, rif
from reasoning.languages.casp import PLAIN, Reading
from reasoning.languages.lars import LarsReading
from reasoning.program import Signature
from reasoning.rdf.inferring import inferring
from reasoning.rdf.knowledge import background, missing

_READERS: dict[str, Callable[[Path], Reading]] = {
    ".casp": casp.read_file,
    PLAIN: casp.read_file,
    lars.SUFFIX: lars.read_file,
}
SUFFIXES = (*_READERS, *rif.SUFFIXES)


def check(path: Path, *, partitioned: bool = False) -> list[Finding]:
    """All findings about a program, or about the programs in a folder, by file and position.

    `partitioned` demands what partitioning needs: negation must be stratified.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        return [finding for file in files for finding in check(file, partitioned=partitioned)]
    if path.suffix in rif.SUFFIXES:
        return rif_analysis.findings(path)
    try:
        reading = _READERS.get(path.suffix, casp.read_file)(path)
    except RequestError as error:
        return [Finding.of(error)]
    return check_reading(reading, partitioned=partitioned)


def check_reading(reading: Reading, *, partitioned: bool = False) -> list[Finding]:
    """All findings about a text that was read; warnings only if all was read."""
    found = [Finding.of(fault) for fault in reading.faults]
    supplied, unreadable = _knowledge(reading)
    found += unreadable
    found += _repeated_labels(reading)
    if reading.is_whole:
        found += Predicates(reading, supplied).findings()
        dependencies = _dependencies(reading)
        found += suspects(reading, dependencies)
        if isinstance(reading, LarsReading):
            found = [*lars_analysis.joined(reading, found), *lars_analysis.suspects(reading)]
        if partitioned:
            found += _unstratified(reading, dependencies)
    return sorted(
        set(found), key=lambda f: (f.location.file, f.location.line, f.location.column, f.code)
    )


def _dependencies(reading: Reading) -> Dependencies:
    """What depends on what in a text."""
    if isinstance(reading, LarsReading):
        return lars_analysis.dependencies(reading.program, reading.rules)
    return Dependencies(reading.rules)


def _repeated_labels(reading: Reading) -> Iterator[Finding]:
    lines: dict[str, int] = {}
    for statement in reading.statements:
        if statement.label is None:
            continue
        location = reading.source.location(statement.label_start)
        first = lines.get(statement.label)
        lines.setdefault(statement.label, location.line)
        if first is not None:
            message = (
                f"line {first} has a rule {statement.label} too; messages cannot tell them apart"
            )
            yield Finding(location, "warning", "repeated-label", message)


def _knowledge(reading: Reading) -> tuple[frozenset[Signature], list[Finding]]:
    """The predicates that the knowledge bases supply, and what is wrong with their files.

    A value that rules would compare wrongly is among the latter: a decimal without `#scale`.
    """
    missing = list(_missing_files(reading))
    if missing or not reading.request.knowledge or not reading.is_whole:
        return frozenset(), missing
    try:
        return background(inferring(reading.request)).supplied, []
    except RequestError as fault:
        return frozenset(), [Finding.of(fault)]


def _missing_files(reading: Reading) -> Iterator[Finding]:
    for knowledge in reading.request.knowledge:
        if message := missing(knowledge):
            statement = reading.directives.places["#from", knowledge.path]
            location = reading.source.location(statement.start)
            yield Finding(location, "error", "knowledge", message)


def _unstratified(reading: Reading, dependencies: Dependencies) -> Iterator[Finding]:
    cycle = dependencies.negative_cycle()
    if cycle is None:
        return
    steps = " -> ".join([str(cycle[0].head), *map(str, cycle)])
    lines = ", ".join(str(line) for line in dict.fromkeys(step.line for step in cycle))
    yield Finding(
        reading.source.location(reading.source.index(cycle[0].line, 1)),
        "error",
        "unstratified",
        f"{steps} (lines {lines}): a predicate depends on its own absence, which cannot be "
        "partitioned; break the cycle or run the request as a whole",
    )

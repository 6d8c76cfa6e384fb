"""Everything there is to say about a request before it runs, and about rules like its."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from reasoning.asp.dependencies import Dependencies
from reasoning.errors import Finding, RequestError
from reasoning.languages.casp.entailment import inferring
from reasoning.languages.casp.growth import suspects
from reasoning.languages.casp.parsing import Reading
from reasoning.languages.casp.predicates import Predicates
from reasoning.languages.casp.texts import comparisons
from reasoning.model.request import Signature
from reasoning.rdf.knowledge import Background, background, missing


def check_reading(
    reading: Reading,
    *,
    partitioned: bool = False,
    given: Mapping[Signature, int] = MappingProxyType({}),
    dependencies: Dependencies | None = None,
    refined: Callable[[list[Finding]], Iterable[Finding]] = iter,
) -> list[Finding]:
    """All findings about a text that was read; warnings only if all was read.

    Parameters
    ----------
    partitioned:
        Demand what partitioning needs: negation must be stratified.
    given:
        The numbers of facts that whoever runs the text gives it, where they are known.
    dependencies:
        What depends on what in the text; default: as its rules read in C-ASP.
    refined:
        What a language with more in its rules makes of the findings about what C-ASP sees.
    """
    found = [Finding.of(fault) for fault in reading.faults]
    knowledge, unreadable = _knowledge(reading)
    found += unreadable
    found += _repeated_labels(reading)
    if reading.is_whole:
        found += Predicates(reading, knowledge.supplied, unread=bool(unreadable)).findings()
        found += comparisons(reading)
        dependencies = dependencies or Dependencies(reading.rules)
        found += suspects(reading, dependencies, {**given, **knowledge.counts})
        found = list(refined(found))
        if partitioned:
            found += _unstratified(reading, dependencies)
    return sorted(
        set(found), key=lambda f: (f.location.file, f.location.line, f.location.column, f.code)
    )


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


def _knowledge(reading: Reading) -> tuple[Background, list[Finding]]:
    """What the knowledge bases supply, and what is wrong with their files.

    A value that rules would compare wrongly is among the latter: a decimal without `#scale`.
    """
    missing = list(_missing_files(reading))
    if missing or not reading.request.knowledge or not reading.is_whole:
        return Background(), missing
    try:
        return background(inferring(reading.request)), []
    except RequestError as fault:
        return Background(), [Finding.of(fault)]


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

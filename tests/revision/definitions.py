"""What the definitions say of a case's stream in order: the references of C-ASP, plain LARS and
RIF, which share nothing with what evaluates but the parsers of LARS and RIF.

Results are those that `reason` prints; of an error it is told that there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from citywise.reasoning.languages.lars.parsing import parse as parse_lars
from citywise.reasoning.languages.rif.language import RifProgram
from citywise.reasoning.model.request import CountWindow, StreamSource, TimeWindow
from citywise.reasoning.model.values import parsed
from citywise.reasoning.run.language import read
from tests.lars import recordings
from tests.lars.reference import answer_streams, perfect_stream
from tests.reasoning.reference import plain
from tests.revision.cases import Case
from tests.rif.oracle import Oracle
from tests.rif.reference import Appearance, Fact, WindowedProgram

Result = dict[str, Any]
_DIRECTIVE = re.compile(r"#(feedback|held|last|input) (\w+)/(\d+)(?: (\d+)s)?\.")
_WINDOW = re.compile(r"#from stream <([^>]*)> \[(time|count) (\d+)s? step (\d+)s?\]\.")
_LATENESS = re.compile(r"#lateness (\d+)s\.")


def results(case: Case, ordered: Sequence[Result], folder: Path) -> list[Result]:
    """The results of a stream in order, as they are printed."""
    if case.suffix == ".rifps":
        return list(_rif(case, ordered, folder))
    return list((_casp if case.suffix == ".casp" else _lars)(case, ordered))


def _casp(case: Case, ordered: Sequence[Result]) -> Iterator[Result]:
    for found in plain.evaluations(_request(case, ordered)):
        if found.ambiguous:
            yield {"t": found.time, "error": True}
            continue
        values: Result = {"t": found.time, "answer_sets": [list(a) for a, _cost in found.answers]}
        if found.answers and found.answers[0][1]:
            values["cost"] = list(found.answers[0][1])
        yield values


def _request(case: Case, ordered: Sequence[Result]) -> plain.Request:
    said = [(word, (name, int(n)), age) for word, name, n, age in _DIRECTIVE.findall(case.program)]
    named = {word: frozenset(p for w, p, _age in said if w == word) for word, _p, _age in said}
    windows = [
        StreamSource(iri, (TimeWindow if kind == "time" else CountWindow)(int(width), int(slide)))
        for iri, kind, width, slide in _WINDOW.findall(case.program)
    ]
    rules = case.program
    for pattern in (_DIRECTIVE, _WINDOW, _LATENESS):
        rules = pattern.sub("", rules)
    return plain.Request(
        rules,
        tuple(windows),
        tuple(
            plain.Arrival(x["t"], x["atom"], x["stream"], x["until"] if "until" in x else x["t"])
            for x in ordered
        ),
        feedback=named.get("feedback", frozenset()),
        held=named.get("held", frozenset()),
        last=tuple((p, int(age) if age else None) for word, p, age in said if word == "last"),
        inputs=named.get("input"),
        start=case.start,
        until=case.until,
    )


def _lars(case: Case, ordered: Sequence[Result]) -> Iterator[Result]:
    program = parse_lars(case.program)
    items = [recordings.Item(x["t"], parsed(x["atom"]), x.get("until")) for x in ordered]
    if not items and case.until is None:
        return
    until = max(i.time for i in items) if case.until is None else case.until
    try:
        found = recordings.answers(program, items, (), case.start, until, perfect_stream)
    except ValueError:  # a loop through negation
        found = recordings.answers(program, items, (), case.start, until, answer_streams)
    for time, sets in found.items():
        yield {"t": time, "error": True} if sets is None else {"t": time, "answer_sets": sets}


def _rif(case: Case, ordered: Sequence[Result], folder: Path) -> Iterator[Result]:
    program = folder / f"definitions{case.suffix}"
    program.write_text(case.program)
    language = read(program)
    assert isinstance(language, RifProgram)
    document = language.document
    # Its instants begin at 1; what rests on no item is there from 0 on.
    stream = tuple(
        Appearance(_fact(x["atom"]), x["t"] + 1, x["until"] + 1 if "until" in x else None)
        for x in ordered
    )
    window = document.window.range if document.window else None
    oracle = Oracle(WindowedProgram(document.rules, frozenset(), stream, window))
    for now in takewhile(lambda t: case.until is None or t - 1 <= case.until, oracle.due):
        yield {"t": now - 1, "answer_sets": [sorted(map(_text, oracle.facts(now)))]}


def _fact(atom: str) -> Fact:
    name, row = parsed(atom)
    return f"<http://e/{name.removeprefix('e_')}>/{len(row)}", row


def _text(fact: Fact) -> str:
    name = fact[0].removeprefix("<http://e/").partition(">")[0]
    return f"e_{name}({','.join(map(str, fact[1]))})"

"""What RDFS and OWL 2 RL infer of a graph: ours beside kept reasoner libraries.

    citywise bench entailment         # LUBM(1): 100,543 triples; owlrl over 5,000 of them
    citywise bench entailment 2000    # owlrl over 2,000

Two measurements, with the data pack (CITYWISE_DATA):

- time to infer all that follows from a university of LUBM and its ontology under OWL 2 RL,
  reading included: ours, `owlrl` (a library of Python) over the first triples only, and
  `reasonable` (Rust). A library that is not installed is left out; `reasonable` is no
  dependency of ours;
- how many of the conclusions of the OWL working group's positive entailment tests each
  derives by its rules alone, that is without the refutations of `rdf.conclusions`.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rdflib

from citywise.reasoning.rdf import parsing
from citywise.reasoning.rdf.entailment import closure, has
from citywise.reasoning.rdf.mapping import Triple
from tests.conftest import PACK

Reasoner = Callable[[Path], tuple[Triple, ...]]
"""Reads a file of N-Triples and gives these triples and what follows."""


def run(some: str = "5000") -> dict[str, Any]:
    """Measure all that are installed; `some` triples are given to `owlrl`."""
    found = dict(_reasoners())
    tests = list(_tests())
    return {
        name: {
            "lubm": _timed(reasoner, int(some) if name == "owlrl" else None),
            "derived": sum(_derives(reasoner, *test) for test in tests),
            "tests": len(tests),
        }
        for name, reasoner in found.items()
    }


def report(results: dict[str, Any]) -> str:
    """The figures as a table."""
    lines = ["reasoner     triples    all after   seconds   tests derived by rules"]
    for name, found in results.items():
        lubm = found["lubm"]
        lines.append(
            f"{name:<11}{lubm['triples']:>9,}{lubm['after']:>13,}{lubm['seconds']:>10.2f}"
            f"{found['derived']:>6} of {found['tests']}"
        )
    return "\n".join([*lines, f"peak {_megabytes()} MB"])


def _reasoners() -> Iterator[tuple[str, Reasoner]]:
    yield "ours", _ours
    for name, reasoner in (("owlrl", _owlrl), ("reasonable", _reasonable)):
        if importlib.util.find_spec(name):
            yield name, reasoner


def _ours(file: Path) -> tuple[Triple, ...]:
    given = parsing.triples(file.read_bytes(), "nt", "d")
    return (*given, *closure(given, "owl-rl").inferred)


def _owlrl(file: Path) -> tuple[Triple, ...]:
    owlrl = importlib.import_module("owlrl")
    graph = rdflib.Graph().parse(file, format="nt")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return _triples(graph)


def _reasonable(file: Path) -> tuple[Triple, ...]:
    reasoner = importlib.import_module("reasonable").PyReasoner()
    reasoner.load_file(str(file))
    return _triples(reasoner.reason())


def _triples(found: Any) -> tuple[Triple, ...]:
    """Triples of rdflib as ours; those that are none in RDF are left out."""
    kept = (t for t in found if not isinstance(t[0], rdflib.Literal))
    text = "".join(f"{s.n3()} {p.n3()} {o.n3()} .\n" for s, p, o in kept)
    return parsing.triples(text.encode(), "turtle", "d")


def _timed(reasoner: Reasoner, some: int | None) -> dict[str, Any]:
    """Reading and inferring, over the ontology of LUBM and the first triples of its data."""
    lubm = PACK / "lubm"
    ontology = rdflib.Graph().parse(lubm / "univ-bench.owl", format="xml", publicID="http://ub/")
    lines = gzip.decompress((lubm / "lubm1_seed0.nt.gz").read_bytes()).split(b"\n")[:some]
    text = ontology.serialize(format="nt").encode() + b"\n".join(lines)
    with _file(text) as file:
        begin = time.perf_counter()
        after = reasoner(file)
        seconds = time.perf_counter() - begin
    return {
        "triples": len(set(text.split(b"\n"))) - 1,
        "after": len(set(after)),
        "seconds": seconds,
    }


def _tests() -> Iterator[tuple[bytes, Sequence[Triple]]]:
    file = PACK / "owl2rl" / "owl2rl_tests.jsonl.gz"
    for line in gzip.decompress(file.read_bytes()).splitlines():
        test = json.loads(line)
        if "PositiveEntailmentTest" in test["types"] and "rdfXmlPremiseOntology" in test:
            premise, conclusion = (
                rdflib.Graph().parse(
                    data=test[f"rdfXml{part}Ontology"], format="xml", publicID="http://example.org/"
                )
                for part in ("Premise", "Conclusion")
            )
            yield premise.serialize(format="nt").encode(), _triples(conclusion)


def _derives(reasoner: Reasoner, premise: bytes, conclusion: Sequence[Triple]) -> bool:
    with _file(premise) as file:
        return has(reasoner(file), [t for t in conclusion if "Ontology" not in str(t.object)])


@contextmanager
def _file(text: bytes) -> Iterator[Path]:
    """A file of N-Triples for a moment; its name says Turtle, on which `reasonable` insists."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.ttl"
        file.write_bytes(text)
        yield file


def _megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

"""What `citywise entails` answers: whether a document of RIF entails a conclusion (docs/rif.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from citywise.reasoning.engines.limited import limited
from citywise.reasoning.errors import Location, RequestError
from citywise.reasoning.languages.rif.entails import entails, entails_graph, missing
from citywise.reasoning.languages.rif.parsing import SUFFIXES, parse_file, parse_formula_file
from citywise.reasoning.languages.rif.theory import Theory, theory
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.request import KnowledgeSource
from citywise.reasoning.rdf import knowledge, ntriples, parsing
from citywise.reasoning.rdf.entailment import follows
from citywise.reasoning.rdf.mapping import Triple

_DOCUMENTS = " or ".join(SUFFIXES)
_GRAPHS = ", ".join(f".{name}" for name in parsing.FORMATS)


@dataclass(frozen=True)
class Verdict:
    """Whether a conclusion is entailed."""

    holds: bool
    missing: tuple[Triple, ...] = ()
    """Triples of a graph that are not entailed, where that is known."""

    def lines(self) -> Iterator[str]:
        """`yes`, or `no` and the missing triples as N-Triples."""
        yield "yes" if self.holds else "no"
        for triple in self.missing:
            yield f"missing: {' '.join(map(ntriples.write, triple))} ."


def answer(document: Path, conclusion: Path, kbs: Sequence[Path], limits: Limits) -> Verdict:
    """Whether a document, with what it imports and knowledge bases, entails what a file says.

    That is a condition, with the document's prefixes, or an RDF graph. Raises `RequestError`
    for a file at fault, and `SolvingError` where nothing was found within `limits`.
    """
    if document.suffix not in SUFFIXES:
        raise _fault(document, f"no document of RIF ({_DOCUMENTS})")
    what = theory(parse_file(document), [KnowledgeSource(str(path)) for path in kbs])
    if conclusion.suffix in SUFFIXES:
        condition = parse_formula_file(conclusion, what.document.prefixes)
        return Verdict(entails(what, condition, limits, file=str(conclusion)))
    return _graph_answer(what, _graph(conclusion), limits)


def _graph_answer(what: Theory, graph: tuple[Triple, ...], limits: Limits) -> Verdict:
    if entails_graph(what, graph, limits):
        return Verdict(holds=True)
    if what.regime != "owl-rl":
        return Verdict(holds=False, missing=missing(what, graph, limits))
    # What OWL 2 RL only refutes, no rule derives.
    return Verdict(limited(lambda: follows(what.triples, graph, "owl-rl"), limits, "refuting"))


def _graph(path: Path) -> tuple[Triple, ...]:
    if path.name.lower().removesuffix(".gz").rpartition(".")[2] not in parsing.FORMATS:
        raise _fault(path, f"neither a condition ({_DOCUMENTS}) nor a graph ({_GRAPHS})")
    return knowledge.read(KnowledgeSource(str(path)), "c").triples


def _fault(path: Path, message: str) -> RequestError:
    return RequestError(Location(str(path), 1, 1), "file", f"by its name this is {message}")

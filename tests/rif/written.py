"""Documents and triples as the tests of the engine write them: everything under `ex:`."""

from __future__ import annotations

from citywise.reasoning.languages.rif import parsing
from citywise.reasoning.languages.rif.evaluation import WindowedEvaluation
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.rdf.mapping import XSD, Iri, Literal, Triple

EX = "http://example.org/"


def theory_of(rules: str, *triples: str) -> Theory:
    """The theory of some rules and static triples (`a p b`)."""
    document = parsing.parse(f"Document(Prefix(ex <{EX}>) Group({rules}))", name="test.rifps")
    return Theory(document, document.rules, tuple(map(triple, triples)))


def triple(text: str) -> Triple:
    """`a p b`, or `a p 7`."""
    subject, predicate, found = text.split()
    number = found.lstrip("-").isdecimal()
    last = Literal(found, XSD + "integer") if number else Iri(EX + found)
    return Triple(Iri(EX + subject), Iri(EX + predicate), last)


def holding(evaluation: WindowedEvaluation) -> list[str]:
    """What is shown, as `a p b` or `p(a,b)`, sorted."""
    return sorted(map(text, evaluation.shown()))


def text(fact: Fact) -> str:
    """A fact without namespaces."""
    relation, row = fact
    name, _, arity = relation.rpartition(">")
    values = [str(each).removeprefix(f"<{EX}").removesuffix(">") for each in row]
    short = name.removeprefix(f"<{EX}")
    return f"{short}({','.join(values)})" if arity else f"{values[0]} {short} {values[1]}"


def at_once(rules: str, *triples: str) -> list[str]:
    """What some rules derive from triples that come at one instant."""
    evaluation = WindowedEvaluation(theory_of(rules))
    evaluation.insert(map(triple, triples), 1)
    evaluation.step(1)
    return holding(evaluation)
